// The style sheet. Colours and sizes are the page's --qb-* properties, with defaults of its own.

import { el } from "./dom.js";

const NONCE = document.currentScript?.nonce; // none where the page has no such policy

export const SHEET = "(max-width: 480px), (max-height: 560px)"; // where the panel fills the screen

const CSS = `
:host {
  all: initial;
  --brand: var(--qb-brand, #c2410c); --brand-strong: var(--qb-brand-strong, #9a3412);
  --on-brand: var(--qb-on-brand, #fff); --brand-ink: var(--qb-brand-ink, #b33a0a);
  --brand-soft: var(--qb-brand-soft, #fdeee4);
  --surface: var(--qb-surface, #fff); --ground: var(--qb-ground, #faf7f3);
  --raised: var(--qb-raised, #f5f0ea); --line: var(--qb-line, #e8e0d8);
  --edge: var(--qb-edge, #8d8178); --ink: var(--qb-ink, #211c18); --muted: var(--qb-muted, #6a5f57);
  --good: var(--qb-good, #1d6b3f); --warn: var(--qb-warn, #8a5300);
  --warn-soft: var(--qb-warn-soft, #fdf1d8); --bad: var(--qb-bad, #b3261e);
  --bad-soft: var(--qb-bad-soft, #fdeae8);
  --high: var(--qb-shadow-high, 0 4px 12px rgb(46 30 18 / 10%), 0 12px 40px rgb(46 30 18 / 18%));
  --radius: var(--qb-radius, 14px); --radius-large: var(--qb-radius-large, 20px);
  --quick: var(--qb-quick, 120ms); --calm: var(--qb-calm, 180ms);
  position: fixed; inset-block-end: 20px; inset-inline-end: 20px; z-index: 2147483000;
  display: block; color: var(--ink); color-scheme: light dark;
  font: 15px/1.45 var(--qb-font, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif);
  -webkit-text-size-adjust: 100%;
}
:host([hidden]) { display: none; }
@media (prefers-color-scheme: dark) {
  :host {
    --brand-strong: var(--qb-brand-strong, #ca470d); --brand-ink: var(--qb-brand-ink, #ff9d6c);
    --brand-soft: var(--qb-brand-soft, #3b2318); --surface: var(--qb-surface, #1f1b18);
    --ground: var(--qb-ground, #161311); --raised: var(--qb-raised, #2a2521);
    --line: var(--qb-line, #393129); --ink: var(--qb-ink, #f4eee8); --muted: var(--qb-muted, #b5a99f);
    --good: var(--qb-good, #7fd3a2); --warn: var(--qb-warn, #f0c069);
    --warn-soft: var(--qb-warn-soft, #35290f); --bad: var(--qb-bad, #ff9c93);
    --bad-soft: var(--qb-bad-soft, #3d1e1b);
    --high: var(--qb-shadow-high, 0 4px 12px rgb(0 0 0 / 35%), 0 12px 40px rgb(0 0 0 / 50%));
  }
}
*, ::before, ::after { box-sizing: border-box; }
[hidden] { display: none !important; }
button, textarea { font: inherit; color: inherit; margin: 0; }
button { cursor: pointer; border: 0; background: none; padding: 0; touch-action: manipulation; }
button:disabled { cursor: default; }
:focus-visible { outline: 2px solid var(--brand-ink); outline-offset: 2px; }
svg { display: block; inline-size: 24px; block-size: 24px; fill: none; stroke: currentColor;
  stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.aside { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
h2, p, ol { margin: 0; padding: 0; font: inherit; list-style: none; }

.launcher { position: relative; display: grid; place-items: center; inline-size: 56px; block-size: 56px;
  margin-inline-start: auto; border-radius: 999px; color: var(--on-brand); background: var(--brand);
  box-shadow: var(--high); transition: background var(--quick); }
@media (hover: hover) {
  .launcher:hover, .send:hover:enabled { background: var(--brand-strong); }
}
.launcher:focus-visible { outline-offset: 3px; }
.badge { position: absolute; inset-block-start: -4px; inset-inline-end: -4px; min-inline-size: 22px;
  padding: 1px 6px; border: 2px solid var(--surface); border-radius: 999px; color: #fff;
  background: #b3261e; font-size: 12px; font-weight: 700; line-height: 16px; text-align: center; }

.panel { position: absolute; inset-block-end: 72px; inset-inline-end: 0; display: flex;
  flex-direction: column; overflow: hidden; inline-size: min(380px, calc(100vw - 40px));
  block-size: min(640px, calc(100vh - 112px)); border: 1px solid var(--line);
  border-radius: var(--radius-large); background: var(--surface); box-shadow: var(--high);
  animation: rise var(--calm) ease-out; }
.panel:focus { outline: none; }
@keyframes rise { from { opacity: 0; transform: translateY(8px); } }

header { display: flex; align-items: center; gap: 12px; padding: 12px 8px 12px 16px;
  padding-inline: 16px 8px; border-block-end: 1px solid var(--line); }
.mark { display: grid; flex: none; place-items: center; inline-size: 36px; block-size: 36px;
  border-radius: 999px; color: var(--on-brand); background: var(--brand); }
.mark svg { inline-size: 20px; block-size: 20px; }
.names { flex: 1; min-inline-size: 0; }
.names h2 { font-size: 16px; font-weight: 650; line-height: 20px; }
.line { display: flex; align-items: center; gap: 6px; color: var(--muted); font-size: 13px;
  line-height: 18px; }
.line::before { content: ""; flex: none; inline-size: 8px; block-size: 8px; border-radius: 999px;
  border: 2px solid currentColor; }
.line[data-state="online"]::before { border-color: var(--good); background: var(--good); }
.line[data-state="offline"], .line[data-state="signed_out"] { color: var(--bad); }
.line[data-state="offline"]::before, .line[data-state="signed_out"]::before {
  block-size: 0; border-width: 1px 0; border-radius: 0; }
.icon { display: grid; flex: none; place-items: center; inline-size: 44px; block-size: 44px;
  border-radius: 12px; color: var(--muted); transition: background var(--quick); }
.icon:hover { color: var(--ink); background: var(--raised); }
.icon svg { inline-size: 20px; block-size: 20px; }
.icon:disabled { opacity: .45; background: none; }

.order { display: grid; grid-template-columns: auto 1fr; gap: 0 12px; align-items: center;
  padding: 10px 16px; border-block-end: 1px solid var(--line); background: var(--ground);
  font-size: 14px; line-height: 20px; }
.order svg { grid-row: span 2; color: var(--brand-ink); }
.order strong { font-weight: 650; }
.order span { color: var(--muted); }
.order div { overflow-wrap: anywhere; }
.state { font-size: 13px; }
.state b { color: var(--ink); font-weight: 600; }

.banner { padding: 8px 16px; color: var(--warn); background: var(--warn-soft); font-size: 13px;
  line-height: 18px; }

.well { position: relative; flex: 1; min-block-size: 0; }
.log { block-size: 100%; overflow: hidden auto; overflow-anchor: none; overscroll-behavior: contain;
  padding: 16px; scrollbar-width: thin; }
.log:focus-visible { outline-offset: -3px; }
.loading { padding-block: 24px; color: var(--muted); text-align: center; }
.older { display: block; min-block-size: 44px; margin: 0 auto 12px; padding: 0 16px;
  border-radius: 999px; color: var(--brand-ink); font-size: 14px; font-weight: 600; }
.older:hover { background: var(--raised); }

.welcome { padding-block: 8px 16px; }
.welcome p:first-child { font-size: 22px; font-weight: 680; line-height: 28px; letter-spacing: -.01em; }
.welcome p + p { margin-block-start: 8px; color: var(--muted); }
.chips { display: flex; flex-direction: column; align-items: flex-start; gap: 8px;
  margin-block-start: 20px; }
.chip { min-block-size: 44px; padding: 10px 16px; border: 1px solid var(--edge); border-radius: 22px;
  color: var(--ink); background: var(--surface); text-align: start; transition: background var(--quick),
  border-color var(--quick); overflow-wrap: anywhere; }
.chip:hover:enabled { border-color: var(--brand-ink); background: var(--brand-soft); }
.chip:disabled { color: var(--muted); }

.row { display: flex; flex-direction: column; align-items: flex-start; margin-block-start: 8px; }
.row:first-child { margin-block-start: 0; }
.row.customer { align-items: flex-end; }
.row.turn { margin-block-start: 20px; }
.bubble { max-inline-size: 86%; padding: 10px 14px; border-radius: 18px; background: var(--raised);
  overflow-wrap: anywhere; }
.text { white-space: pre-wrap; unicode-bidi: plaintext; }
.assistant .bubble, .agent .bubble { border-end-start-radius: 6px; }
.customer .bubble { border-end-end-radius: 6px; color: var(--on-brand); background: var(--brand); }
.customer[data-status="sending"] .bubble { opacity: .75; }
.customer[data-status="refused"] .bubble { border: 1px solid var(--bad); color: var(--ink);
  background: var(--bad-soft); }
.system { align-items: center; }
.system .bubble { padding: 4px 12px; color: var(--muted); background: none; font-size: 13px;
  text-align: center; }
.wait { display: flex; align-items: center; gap: 10px; min-block-size: 22px; color: var(--muted); }
.dots { display: inline-flex; gap: 4px; }
.dots i { inline-size: 7px; block-size: 7px; border-radius: 999px; background: var(--muted);
  animation: breathe 1.2s infinite ease-in-out; }
.dots i:nth-child(2) { animation-delay: .15s; }
.dots i:nth-child(3) { animation-delay: .3s; }
@keyframes breathe { 0%, 60%, 100% { opacity: .35; } 30% { opacity: 1; } }
.text.live::after { content: ""; display: inline-block; inline-size: 8px; block-size: 8px;
  margin-inline-start: 5px; border-radius: 999px; background: var(--brand-ink);
  animation: breathe 1.2s infinite ease-in-out; }
.meta { display: flex; flex-wrap: wrap; align-items: center; gap: 0 8px; min-block-size: 20px;
  margin-block-start: 4px; padding-inline: 4px; color: var(--muted); font-size: 13px; line-height: 20px; }
.customer .meta { justify-content: flex-end; text-align: end; }
.meta .bad { color: var(--bad); }
.act { display: inline-flex; align-items: center; gap: 6px; min-block-size: 44px; padding: 0 12px;
  margin-block: -6px; border-radius: 12px; color: var(--brand-ink); font-size: 14px; font-weight: 600; }
.act:hover { background: var(--raised); }
.act svg { inline-size: 16px; block-size: 16px; }
.choices { margin-block-start: 8px; }

.jump { position: absolute; inset-block-end: 8px; inset-inline: 0; display: grid; place-items: center;
  pointer-events: none; }
.jump button { display: inline-flex; align-items: center; gap: 6px; min-block-size: 44px;
  padding: 0 16px; border: 1px solid var(--line); border-radius: 999px; background: var(--surface);
  box-shadow: var(--high); font-size: 14px; font-weight: 600; pointer-events: auto; }
.jump svg { inline-size: 16px; block-size: 16px; }

footer { padding: 8px 12px 12px; border-block-start: 1px solid var(--line); }
.notice { display: flex; align-items: center; gap: 8px; margin-block-end: 8px; padding: 8px 12px;
  border-radius: 10px; color: var(--bad); background: var(--bad-soft); font-size: 14px;
  line-height: 20px; overflow-wrap: anywhere; }
.notice.calm { color: var(--muted); background: var(--raised); }
.notice a { display: inline-flex; align-items: center; min-block-size: 44px; margin-block: -12px;
  color: inherit; font-weight: 650; white-space: nowrap; }
form { display: flex; align-items: flex-end; gap: 4px; padding: 3px; border: 1px solid var(--edge);
  border-radius: 24px; background: var(--surface); }
form:focus-within { border-color: var(--brand-ink); box-shadow: 0 0 0 1px var(--brand-ink); }
textarea { flex: 1; min-inline-size: 0; block-size: 44px; max-block-size: 148px; padding: 10px 4px 10px 14px;
  padding-inline: 14px 4px; border: 0; outline: 0; background: none; font-size: 16px; line-height: 24px;
  resize: none; scrollbar-width: thin; }
textarea:focus-visible { outline: 0; } /* the form around it shows the focus */
textarea::placeholder { color: var(--muted); opacity: 1; }
.send { display: grid; flex: none; place-items: center; inline-size: 44px; block-size: 44px;
  border-radius: 999px; color: var(--on-brand); background: var(--brand);
  transition: background var(--quick); }
.send:disabled { color: var(--muted); background: var(--raised); }
.send svg { inline-size: 20px; block-size: 20px; }
.stop svg { fill: currentColor; stroke: none; }
.counter { padding: 4px 14px 0; color: var(--muted); font-size: 13px; text-align: end; }
.counter.over { color: var(--bad); font-weight: 650; }

@media ${SHEET} {
  .panel { position: fixed; inset: 0; inline-size: 100%; block-size: 100%; border: 0; border-radius: 0; }
  @supports (block-size: 100dvh) { .panel { block-size: 100dvh; } }
  :host([open]) .launcher { display: none; }
  footer { padding-block-end: max(12px, env(safe-area-inset-bottom)); }
}
@media (max-height: 420px) {
  .order { display: none; }
  header, footer { padding-block: 2px; }
  .banner { padding-block: 2px; }
}
@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after { animation: none !important; transition: none !important; }
}
@media (forced-colors: active) {
  .bubble, .launcher, .send, .mark { border: 1px solid; }
}
@media print { :host { display: none; } }
`;

/** The look, in a way that a strict content security policy allows. */
export function dress(root) {
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
    root.adoptedStyleSheets = [sheet];
  } catch {
    const style = el("style", { nonce: NONCE }, CSS);
    root.append(style);
  }
}
