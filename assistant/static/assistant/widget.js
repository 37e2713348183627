/* QuickBite chat: the whole widget in one file, without dependencies.
 * Built from src/ by `manage.py build_widget`: change it there. Its use: see chat.js below.
 */
(() => {
"use strict";
if (customElements.get("quickbite-chat")) return;

// ---- addresses.js ----

// Where the chat's socket and the sign-in are; `chat` is the element, whose attributes may say.

function socketUrl(chat) {
  const url = new URL(chat.getAttribute("endpoint") ?? "/ws/chat/", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  return url.href;
}

function loginUrl(chat) {
  const url = new URL(chat.getAttribute("login-url") ?? "/accounts/login/", location.href);
  url.searchParams.set("next", location.pathname + location.search);
  return url.href;
}

// ---- gaps.js ----

// What went past us is asked for: soon, but not twice.

const AGAIN_MS = 2_000; // a request that has not been answered for so long may be made again
const GATHER_MS = 150;

class Gaps {
  constructor(said, line) {
    this.said = said;
    this.line = line;
    this.resumed = new Map(); // message id → when its missing text was asked for
    this.timer = 0;
  }

  clear() {
    this.resumed.clear();
  }

  closed(message) {
    this.resumed.delete(message);
  }

  asked(message) {
    return this.resumed.has(message);
  }

  /** Something is missing in the text: from where it ends, once until that has been answered. */
  resume(message) {
    const row = this.said.rows.get(message);
    if (!row) return this.catchUp();
    const now = performance.now();
    if (now - (this.resumed.get(message) ?? -Infinity) < AGAIN_MS) return;
    this.resumed.set(message, now);
    this.line.send({ type: "resume", message, offset: row.end });
  }

  /** A change went past us: ask for what is newer than what we have. */
  catchUp() {
    this.timer ||= setTimeout(() => {
      this.timer = 0;
      this.line.send({ type: "sync", revision: this.said.revision });
    }, GATHER_MS);
  }
}

// ---- line.js ----

// The connection: one socket after another, for as long as somebody needs one.

const PROTOCOL = "quickbite.v1";
// How often the newest revision is compared, and how often while the assistant is not ready.
// Never at a fixed pace: in an outage thousands of widgets wait at once.
const BEAT_MS = [18_000, 22_000];
const BEAT_WAITING_MS = [4_000, 8_000];
const EAGER_MS = 60_000; // a longer wait is an outage, and is watched at the calm pace
const ANSWER_MS = 10_000; // a socket that is silent for so long after a question to it is dead
const BACKOFF_MS = [500, 15_000];

class Line {
  /** `on`: url(), hello(), beat(), frame(frame), state(state). */
  constructor(on) {
    this.on = on;
    this.state = "idle";
    this.tries = 0;
    this.socket = null;
    this.waitingSince = null;
  }

  connect() {
    if (this.socket || this.state === "signed_out") return;
    clearTimeout(this.later);
    this.become(this.state === "idle" ? "connecting" : "reconnecting");
    let socket;
    try {
      socket = new WebSocket(this.on.url(), PROTOCOL);
    } catch {
      this.lost();
      return;
    }
    this.socket = socket;
    const mine = (then) => (event) => this.socket === socket && then(event);
    socket.onopen = mine(() => this.write(this.on.hello()));
    socket.onmessage = mine((event) => {
      clearTimeout(this.deadline);
      let frame;
      try {
        frame = JSON.parse(event.data);
      } catch {
        return;
      }
      this.on.frame(frame);
    });
    socket.onclose = mine((event) => (event.code === 4401 ? this.signOut() : this.lost()));
    this.expect(ANSWER_MS);
  }

  /** The chat is open: frames may go. */
  opened() {
    this.tries = 0;
    this.become("online");
    this.beatAgain();
  }

  get isOpen() {
    return this.state === "online";
  }

  send(frame) {
    return this.isOpen && this.write(frame);
  }

  write(frame) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  /** Something suggests that the network is back, or that the page is looked at again. */
  nudge() {
    if (this.state === "idle" || this.state === "refused") return;
    if (this.state === "signed_out") this.state = "reconnecting"; // signed in elsewhere, perhaps
    if (!this.socket) this.connect();
    else if (this.isOpen) this.beatAgain(0, ANSWER_MS / 2);
  }

  /** Milliseconds until the next beat. */
  pause() {
    const now = performance.now();
    this.waitingSince = this.on.waiting() ? this.waitingSince ?? now : null;
    const eager = this.waitingSince !== null && now - this.waitingSince < EAGER_MS;
    const [least, most] = eager ? BEAT_WAITING_MS : BEAT_MS;
    return least + Math.random() * (most - least);
  }

  beatAgain(after = this.pause(), patience = ANSWER_MS) {
    clearTimeout(this.beat);
    this.beat = setTimeout(() => {
      if (!this.isOpen) return;
      if (this.send(this.on.beat())) this.expect(patience);
      this.beatAgain();
    }, after);
  }

  expect(patience) {
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => this.lost(), patience);
  }

  lost() {
    this.drop();
    this.become(navigator.onLine === false ? "offline" : "reconnecting");
    const [first, most] = BACKOFF_MS;
    const wait = Math.min(most, first * 2 ** this.tries++);
    this.later = setTimeout(() => this.connect(), wait * (0.5 + Math.random() / 2));
  }

  signOut() {
    this.drop();
    this.become("signed_out");
  }

  /** The server will not have us, and asking again would change nothing. */
  refuse() {
    this.drop();
    this.become("refused");
  }

  end() {
    this.drop();
    this.become("idle");
  }

  drop() {
    clearTimeout(this.later);
    clearTimeout(this.beat);
    clearTimeout(this.deadline);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  become(state) {
    if (this.state === state) return;
    this.state = state;
    this.on.state(state);
  }
}

// ---- dom.js ----

// Elements and icons.

const ICONS = {
  bite: "M4 11a8 8 0 0 1 13.5-5.8 3 3 0 0 0 2.3 4.6A8 8 0 1 1 4 11zM9 10h.01M13 14h.01M9 15h.01",
  chat: "M21 11.5a8.5 8.5 0 0 1-12.3 7.6L3 21l1.9-5.7A8.5 8.5 0 1 1 21 11.5z",
  down: "M6 9l6 6 6-6",
  close: "M6 6l12 12M18 6L6 18",
  fresh: "M12 4H6a2 2 0 0 0-2 2v12a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-6M17.7 3.8a1.9 1.9 0 0 1 2.6 2.6L12 14.8 8.7 15.6 9.4 12z",
  send: "M12 19V5M5 12l7-7 7 7",
  stop: "M8 6h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H8a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2z",
  again: "M3 12a9 9 0 1 0 3-6.7L3 8M3 3v5h5",
  bag: "M6 8h12l1 12H5zM9 8V7a3 3 0 0 1 6 0v1",
};

/** An element. All words go in as text nodes: nothing here is ever read as HTML. */
function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null && child !== false));
  return node;
}

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

// ---- look.js ----

// The style sheet. Colours and sizes are the page's --qb-* properties, with defaults of its own.

const NONCE = document.currentScript?.nonce; // none where the page has no such policy

const SHEET = "(max-width: 480px), (max-height: 560px)"; // where the panel fills the screen

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
function dress(root) {
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(CSS);
    root.adoptedStyleSheets = [sheet];
  } catch {
    const style = el("style", { nonce: NONCE }, CSS);
    root.append(style);
  }
}

// ---- memory.js ----

// What outlives the page, in this tab alone.

/** What a reload should find again. Storage may throw or be missing: then the page's life is it. */
const memory = {
  kept: {},
  read() {
    try {
      Object.assign(this.kept, JSON.parse(sessionStorage.getItem("quickbite-chat")));
    } catch { /* blocked storage, or not ours to read */ }
    return this.kept;
  },
  /** The questions that were not taken yet, as rows; anything else that stands there is not ours. */
  pending() {
    const rows = Array.isArray(this.kept.pending) ? this.kept.pending : [];
    return rows.filter((row) => row?.frame?.type && row.client_id && typeof row.text === "string");
  },
  write(changes) {
    Object.assign(this.kept, changes);
    try {
      sessionStorage.setItem("quickbite-chat", JSON.stringify(this.kept));
    } catch { /* see above */ }
  },
};

// ---- text.js ----

// Small things about text.

function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID(); // missing on plain-HTTP pages
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** For the counter only; the server's own count decides. */
function lengthOf(text) {
  const plain = text.normalize("NFC").trim();
  return plain.length > 50_000 ? plain.length : Array.from(plain).length;
}

function clock(created) {
  const then = new Date(created);
  const today = then.toDateString() === new Date().toDateString();
  const how = { hour: "numeric", minute: "2-digit", ...(today ? {} : { month: "short", day: "numeric" }) };
  return then.toLocaleString(document.documentElement.lang || undefined, how);
}

// ---- outbox.js ----

// Questions on their way: kept over a reload, sent again when that is safe, never asked twice.

class Outbox {
  constructor(said, panel) {
    this.said = said;
    this.panel = panel;
    this.customer = null; // whose words these are, once that is known
    said.pending.changed = () => this.keep();
  }

  keep() {
    memory.write({ pending: [...this.said.pending.values()] });
  }

  /** Nothing of before a reload comes back: it may be another customer's. */
  forget() {
    memory.write({ customer: null, draft: "", pending: [], again: null });
  }

  /** In the list at once. Returns what to send, with the same `client_id` for as long as it takes. */
  add(frame, text = frame.text, client_id = this.idFor(frame)) {
    memory.write({ again: null });
    const sent = { ...frame, client_id };
    this.said.pending.set(client_id, {
      id: client_id, client_id, author: "customer", status: "sending", text, frame: sent,
      asked: performance.now(), created: new Date().toISOString(),
    });
    return sent;
  }

  /** Not taken: the words go back where they can be mended. */
  giveBack(row, reason, retry = true) {
    const refused = { ...row, status: "refused", reason, retry };
    if (row.frame.type !== "ask") {
      this.said.pending.delete(row.client_id);
      if (retry) this.remember(row);
    } else if (this.panel.draft.trim()) this.said.pending.set(row.client_id, refused);
    else this.toDraft(refused);
  }

  /** Into the composer, before whatever is being written there. */
  toDraft(row) {
    const { draft } = this.panel;
    this.said.pending.delete(row.client_id);
    if (row.retry) this.remember(row);
    this.panel.draft = draft.trim() ? `${row.text}\n${draft}` : row.text;
  }

  // -- a refusal does not always mean that nothing was taken

  /** Sent again unchanged, this is the same question and keeps its id. */
  remember({ frame, client_id }) {
    memory.write({ again: { client_id, asked: this.asked(frame) } });
  }

  idFor(frame) {
    const { again } = memory.kept;
    return again?.asked === this.asked(frame) ? again.client_id : uuid();
  }

  asked({ type, text, order }) {
    return JSON.stringify([this.said.conversation, type, text?.trim(), order]);
  }

  /** A question given back was taken after all: it is in the list, and so no longer in the draft. */
  settle() {
    const { again } = memory.kept;
    if (!again || !this.said.has(again.client_id)) return;
    if (again.asked === this.asked({ type: "ask", text: this.panel.draft })) this.panel.draft = "";
    memory.write({ again: null });
  }

  // -- after a reload

  /** The chat is open: what was being written and sent comes back, never another customer's. */
  restore({ customer, conversation }) {
    if (this.customer === null) this.readBack(customer, conversation);
    else if (this.customer !== customer) this.panel.draft = "";
    this.customer = customer;
    this.keep();
    this.settle();
    memory.write({ customer, conversation, draft: this.panel.draft });
  }

  readBack(customer, conversation) {
    const { kept } = memory;
    if ((kept.customer ?? customer) !== customer) return;
    if (kept.draft && !this.panel.draft) this.panel.draft = kept.draft;
    for (const row of memory.pending()) {
      if (kept.conversation !== conversation) {
        // Sent again only where it was asked; elsewhere the words wait in the draft.
        if (row.frame.type === "ask") this.toDraft({ ...row, retry: false });
      } else if (!this.said.has(row.client_id)) {
        this.said.pending.set(row.client_id, { ...row, asked: performance.now() });
      }
    }
  }
}

// ---- transcript.js ----

// What is known of the conversation.

const isLive = (row) => row.status === "queued" || row.status === "streaming";

/** By client_id: questions that the server has not taken yet. `changed` is told of it. */
class Pending extends Map {
  set(client_id, row) {
    super.set(client_id, row);
    this.changed?.();
    return this;
  }

  delete(client_id) {
    const had = super.delete(client_id);
    if (had) this.changed?.();
    return had;
  }

  clear() {
    if (!this.size) return;
    super.clear();
    this.changed?.();
  }
}

class Transcript {
  constructor() {
    this.pending = new Pending();
    this.clear();
  }

  clear() {
    this.conversation = null;
    this.revision = 0;
    this.more = false;
    this.rows = new Map(); // by id, as the server sent them; replaced, never changed
    this.pending.clear();
  }

  /** Everything anew, or what changed. Returns the rows that are news to a reader. */
  open({ conversation, revision, messages = [], more = false, partial = false }) {
    const before = conversation === this.conversation ? this.rows : null;
    if (!partial || !before) {
      this.rows = new Map();
      this.more = more;
    }
    this.conversation = conversation;
    this.revision = revision;
    return messages.filter((row) => this.put(row, before?.get(row.id)) && before);
  }

  /** A row as the server has it now. True when an answer has just come to its end. */
  put(row, old = this.rows.get(row.id)) {
    if (old && row.revision < old.revision) return false;
    this.pending.delete(row.client_id);
    // While an answer streams, its row knows less of the text than its stream has shown.
    const keep = old && isLive(old) && isLive(row) && row.end < old.end;
    this.rows.set(row.id, keep ? { ...row, text: old.text, end: old.end } : row);
    return this.settled(row, old);
  }

  settled(row, old) {
    return row.author !== "customer" && !isLive(row) && (!old || isLive(old));
  }

  /** Whether revisions up to this one are all here; if not, the caller asks what was missed. */
  advance(revision) {
    if (revision > this.revision + 1) return false;
    this.revision = Math.max(this.revision, revision);
    return true;
  }

  /** "shown", "known" (nothing new), or "gap" (text between is missing). Never counts. */
  token({ message, offset, end, text }) {
    const row = this.rows.get(message);
    if (!row || !isLive(row)) return row ? "known" : "gap";
    if (offset === row.end) {
      this.rows.set(message, { ...row, status: "streaming", text: row.text + text, end });
      return "shown";
    }
    return end <= row.end ? "known" : "gap";
  }

  offsets() {
    const live = [...this.rows.values()].filter(isLive);
    return Object.fromEntries(live.map((row) => [row.id, row.end]));
  }

  list() {
    const rows = [...this.rows.values()].sort((a, b) => a.seq - b.seq);
    return rows.concat([...this.pending.values()]);
  }

  /** Whether the server has taken the question with this `client_id`. */
  has(client_id) {
    return [...this.rows.values()].some((row) => row.client_id === client_id);
  }

  get live() {
    return [...this.rows.values()].find((row) => row.author !== "customer" && isLive(row));
  }

  get sending() {
    return [...this.pending.values()].find((row) => row.status === "sending");
  }
}

// ---- words.js ----

// Everything that the widget says.

const WORDS = {
  title: "QuickBite Support",
  open: "Open the chat",
  close: "Close the chat",
  unread: "{n} unread",
  fresh: "Start a new chat",
  greeting: "Hi {name}, how can we help?",
  greetingPlain: "Hi, how can we help?",
  intro: "Ask about your order in your own words. An AI assistant answers at once.",
  suggestions: [
    "Where is my order?",
    "When will it arrive?",
    "Can I still cancel it?",
    "Can I change the delivery address?",
  ],
  composer: "Write a message",
  send: "Send",
  stop: "Stop the answer",
  counter: "{n} of {max} characters",
  older: "Show earlier messages",
  latest: "Jump to latest",
  log: "Conversation",
  orderCard: "Your order",
  you: "You",
  assistant: "Assistant",
  agent: "Support team",
  system: "QuickBite",
  // the connection
  connecting: "Connecting…",
  online: "Online",
  reconnecting: "Reconnecting…",
  offline: "You are offline",
  signed_out: "Signed out",
  refused: "Not available",
  keepWriting: "Not connected at the moment. Keep writing: your text is kept.",
  loading: "Opening your conversation…",
  signedOut: "You have been signed out. Your text is kept.",
  signIn: "Sign in again",
  // the engine
  simulated: "Simulated assistant: answers are stand-in text, not written by a language model.",
  warming_up: "The assistant is warming up. It answers as soon as it is ready.",
  away: "The assistant is away at the moment. Your messages are kept, but answers may fail.",
  // waiting
  sending: "Sending…",
  resending: "Will be sent when you are connected again",
  waitOrder: "Reading your order…",
  waitPlain: "Reading your question…",
  waitLonger: "Still waiting for the assistant…",
  waitWarm: "Waiting for the assistant to warm up…",
  waitAway: "Waiting for the assistant to come back…",
  waitLine: "Reconnecting to go on…",
  waitWriting: "Still writing…",
  // outcomes
  stopped: "Stopped",
  failed: "This answer could not be finished.",
  notSent: "Not sent",
  retry: "Try again",
  edit: "Edit",
  // refusals that are known before anything is sent
  empty: "Please write your question first.",
  tooLong: "Your message has {n} characters; {max} is the most. Please shorten it.",
  busy: "We are still answering your last question. Please wait for it, or stop it.",
  wentWrong: "That did not work. Your text is kept; please try again.",
  whichOrder: "Which order do you mean?",
};

const say = (key, values = {}) =>
  WORDS[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
const number = (n) => n.toLocaleString(document.documentElement.lang || undefined);

// ---- rows.js ----

// The messages, as rows of a list.

const WAIT_MS = 1_000; // a wait longer than this says what is awaited
const LONG_WAIT_MS = 7_000;
const QUIET_MS = 2_500; // and so does a pause within an answer

const known = (author) => ["assistant", "agent", "system"].includes(author);

class Rows {
  /** `act`: retry, edit, resend, choose. */
  constructor(list, act) {
    this.list = list;
    this.act = act;
    this.nodes = new Map(); // row key → { node, row, … }
    this.since = new Map(); // row id → when its newest text came
  }

  paint(now) {
    const seen = new Set();
    let at = this.list.firstChild;
    let before = null;
    now.rows.forEach((row, index) => {
      const key = row.author === "customer" && row.client_id ? row.client_id : row.id;
      seen.add(key);
      let entry = this.nodes.get(key);
      if (!entry) this.nodes.set(key, (entry = this.makeRow()));
      this.paintRow(entry, row, { ...now, last: index === now.rows.length - 1, turn: before && before !== row.author });
      before = row.author;
      if (entry.node === at) at = at.nextSibling;
      else this.list.insertBefore(entry.node, at);
    });
    for (const [key, entry] of this.nodes) {
      if (seen.has(key)) continue;
      entry.node.remove();
      this.nodes.delete(key);
    }
  }

  makeRow() {
    const words = document.createTextNode("");
    const who = el("span", { class: "aside" });
    const text = el("div", { class: "text" }, words);
    const why = el("span");
    const wait = el("div", { class: "wait", hidden: true },
      el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i")), why);
    const bubble = el("div", { class: "bubble" }, who, text, wait);
    const choices = el("div", { class: "chips choices", hidden: true });
    const meta = el("div", { class: "meta", hidden: true });
    return { node: el("li", null, bubble, choices, meta), who, words, text, wait, why, choices, meta };
  }

  paintRow(entry, row, now) {
    const { node } = entry;
    const live = row.author !== "customer" && isLive(row);
    // In a long conversation all but the last few rows are as they were.
    const around = [now.last, now.turn, now.line, now.busy].join();
    if (entry.row === row && entry.around === around && !live && row.status !== "sending") return;
    entry.row = row;
    entry.around = around;
    const author = row.author === "customer" || known(row.author) ? row.author : "system";
    node.className = `row ${author}${now.turn ? " turn" : ""}`;
    node.dataset.id = row.id;
    node.dataset.status = row.status;
    entry.who.textContent = `${say(author === "customer" ? "you" : author)}: `;
    const { text } = row;
    if (entry.words.data !== text) {
      // Behind what stands there, so that a reader's selection survives the next words.
      if (text.startsWith(entry.words.data)) entry.words.appendData(text.slice(entry.words.data.length));
      else entry.words.data = text;
      this.since.set(row.id, performance.now());
    }
    entry.text.hidden = !text;
    entry.text.classList.toggle("live", live && Boolean(text));
    entry.text.parentNode.hidden = !text && !live; // ended before the first word: its note says so
    this.paintWait(entry, row, now, live);
    this.paintChoices(entry, row, now);
    this.paintMeta(entry, row, now, live);
  }

  paintWait(entry, row, now, live) {
    if (!this.since.has(row.id)) this.since.set(row.id, performance.now());
    if (!live) this.since.delete(row.id);
    entry.wait.hidden = !live || Boolean(row.text);
    if (entry.wait.hidden) return;
    const waited = performance.now() - this.since.get(row.id);
    const words = waited < WAIT_MS ? ""
      : now.line !== "online" ? say("waitLine")
      : now.engine?.state === "away" ? say("waitAway")
      : now.engine?.state === "warming_up" ? say("waitWarm")
      : waited > LONG_WAIT_MS ? say("waitLonger")
      : say(now.order ? "waitOrder" : "waitPlain");
    if (entry.why.textContent !== words) entry.why.textContent = words;
  }

  paintChoices(entry, row, now) {
    const shown = now.last && row.choices?.length ? row.choices : null;
    if (entry.shownChoices !== shown) {
      entry.shownChoices = shown;
      entry.choices.hidden = !shown;
      entry.choices.replaceChildren(...(shown ?? []).map((choice) =>
        el("button", { type: "button", class: "chip", onclick: () => this.act.choose(choice) }, choice.label)));
      entry.choices.setAttribute("role", "group");
      entry.choices.setAttribute("aria-label", say("whichOrder"));
    }
    for (const chip of entry.choices.children) chip.disabled = now.line !== "online" || now.busy;
  }

  paintMeta(entry, row, now, live) {
    const parts = [];
    const quiet = live && row.text && performance.now() - this.since.get(row.id) > QUIET_MS;
    const slow = performance.now() - (row.asked ?? Infinity) > WAIT_MS;
    if (row.status === "sending") {
      if (now.line !== "online") parts.push(say("resending"));
      else if (slow) parts.push(say("sending"));
    } else if (row.status === "refused") {
      parts.push(["bad", `${say("notSent")}: ${row.reason}`], ["edit", () => this.act.edit(row)]);
      if (row.retry) parts.push(["again", () => this.act.resend(row)]);
    } else if (quiet) {
      parts.push(say(now.line === "online" ? "waitWriting" : "waitLine"));
    } else if (!live && row.author !== "customer" && known(row.author)) {
      if (row.status === "failed") parts.push(["bad", row.note ?? say("failed")]);
      else if (row.status === "stopped") parts.push(row.note ?? say("stopped"));
      else parts.push(...(row.note ? [row.note] : []), `${say(row.author)} · ${clock(row.created)}`);
      if (row.can_retry && now.line === "online" && !now.busy && now.last) parts.push(["again", () => this.act.retry(row)]);
    }
    const key = parts.map((part) => (typeof part === "string" ? part : part[0] + (part[0] === "bad" ? part[1] : ""))).join("|");
    if (entry.shownMeta === key) return;
    entry.shownMeta = key;
    entry.meta.hidden = !parts.length;
    entry.meta.replaceChildren(...parts.map((part) => {
      if (typeof part === "string") return el("span", null, part);
      const [kind, value] = part;
      if (kind === "bad") return el("span", { class: "bad" }, value);
      return el("button", { type: "button", class: "act", onclick: value },
        kind === "again" && icon("again"), say(kind === "again" ? "retry" : "edit"));
    }));
  }
}

// ---- panel.js ----

// What is shown: launcher, panel, composer.

class Panel {
  /** `act`: toggle, close, fresh, send, stop, retry, edit, resend, choose, older, typed. */
  constructor(root, act) {
    this.act = act;
    this.atEnd = true;
    this.build(root);
  }

  build(root) {
    const button = (name, label, onclick) =>
      el("button", { type: "button", class: "icon", "aria-label": label, title: label, onclick }, icon(name));
    this.launcher = el(
      "button",
      { type: "button", class: "launcher", "aria-haspopup": "dialog", onclick: () => this.act.toggle() },
      (this.launcherIcon = el("span", null, icon("chat"))),
      (this.badge = el("span", { class: "badge", hidden: true })),
    );
    this.status = el("p", { class: "line", role: "status" });
    this.fresh = button("fresh", say("fresh"), () => this.act.fresh());
    this.order = el("div", { class: "order", role: "group", "aria-label": say("orderCard"), hidden: true });
    this.simulated = el("p", { class: "banner simulated", hidden: true }, say("simulated"));
    this.engine = el("p", { class: "banner engine", role: "status", hidden: true });
    this.older = el("button", { type: "button", class: "older", hidden: true, onclick: () => this.act.older() }, say("older"));
    this.loading = el("p", { class: "loading" }, say("loading"));
    this.welcome = this.buildWelcome();
    this.list = el("ol", { role: "list" });
    this.rows = new Rows(this.list, this.act);
    this.log = el(
      "div",
      { class: "log", role: "log", "aria-live": "off", "aria-label": say("log"), tabindex: "0" },
      this.older, this.loading, this.welcome, this.list,
    );
    this.log.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.jump = el("div", { class: "jump", hidden: true },
      el("button", { type: "button", onclick: () => this.toEnd() }, icon("down"), say("latest")));
    this.aloud = el("div", { class: "aside", "aria-live": "polite" });
    this.panel = el(
      "section",
      { class: "panel", id: "panel", role: "dialog", "aria-labelledby": "title", tabindex: "-1", hidden: true },
      el("header", null,
        el("span", { class: "mark" }, icon("bite")),
        el("div", { class: "names" }, el("h2", { id: "title" }, say("title")), this.status),
        this.fresh,
        button("close", say("close"), () => this.act.close())),
      this.order, this.simulated, this.engine,
      el("div", { class: "well" }, this.log, this.jump),
      this.buildComposer(),
    );
    this.panel.addEventListener("keydown", (event) => this.key(event));
    root.append(this.panel, this.launcher, this.aloud);
  }

  buildWelcome() {
    this.greeting = el("p", null, say("greetingPlain"));
    const chips = WORDS.suggestions.map((text) =>
      el("button", { type: "button", class: "chip", onclick: () => this.act.send(text) }, text));
    return el("div", { class: "welcome", hidden: true },
      this.greeting, el("p", null, say("intro")), el("div", { class: "chips" }, ...chips));
  }

  buildComposer() {
    this.notice = el("div", { class: "notice", role: "alert", hidden: true });
    this.text = el("textarea", {
      rows: "1", "aria-label": say("composer"), placeholder: say("composer"), dir: "auto",
      enterkeyhint: "send", autocomplete: "off",
    });
    this.text.addEventListener("input", () => this.typed());
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.act.send(this.text.value);
    });
    this.send = el("button", { type: "submit", class: "send", "aria-label": say("send"), title: say("send") }, icon("send"));
    this.stop = el("button", {
      type: "button", class: "send stop", "aria-label": say("stop"), title: say("stop"), hidden: true,
      onclick: () => this.act.stop(),
    }, icon("stop"));
    this.counter = el("p", { class: "counter", hidden: true });
    const form = el("form", { novalidate: true }, this.text, this.send, this.stop);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.act.send(this.text.value);
    });
    return el("footer", null, this.notice, form, this.counter);
  }

  // -- the composer

  get draft() {
    return this.text.value;
  }

  set draft(text) {
    this.text.value = text;
    this.typed();
  }

  typed() {
    this.grow();
    this.act.typed(this.text.value);
  }

  grow() {
    const style = this.text.style;
    style.blockSize = "44px";
    style.blockSize = `${Math.min(148, Math.max(44, this.text.scrollHeight))}px`;
  }

  count(max) {
    const n = lengthOf(this.text.value);
    this.counter.hidden = n < max * 0.8;
    if (this.counter.hidden) return;
    this.counter.textContent = say("counter", { n: number(n), max: number(max) });
    this.counter.classList.toggle("over", n > max);
  }

  // -- opening and closing

  show(open) {
    if (open === !this.panel.hidden) return;
    this.panel.hidden = !open;
    this.launcherIcon.replaceChildren(icon(open ? "down" : "chat"));
    if (open) this.toEnd();
    this.fit();
  }

  /** On a phone the panel is the whole screen: the page behind neither scrolls nor takes focus. */
  fit() {
    const sheet = matchMedia(SHEET).matches;
    const cover = sheet && !this.panel.hidden;
    this.panel.setAttribute("aria-modal", String(sheet));
    if (cover === this.covers) return;
    this.covers = cover;
    document.documentElement.style.overflow = cover ? "hidden" : "";
  }

  focus() {
    // On a touch screen the keyboard would cover what was opened to be read.
    const first = matchMedia("(pointer: coarse)").matches ? this.panel : this.text;
    first.focus({ preventScroll: true });
  }

  key(event) {
    if (event.key === "Escape" && !event.isComposing) {
      event.stopPropagation();
      this.act.close();
    } else if (event.key === "Tab" && this.covers) {
      const stops = [...this.panel.querySelectorAll("button, a, textarea, [tabindex='0']")]
        .filter((node) => !node.disabled && node.getClientRects().length);
      const edge = event.shiftKey ? stops[0] : stops[stops.length - 1];
      const at = this.panel.getRootNode().activeElement;
      if (at !== edge && at !== this.panel) return;
      event.preventDefault();
      (event.shiftKey ? stops[stops.length - 1] : stops[0]).focus();
    }
  }

  // -- scrolling

  scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.log;
    this.atEnd = scrollHeight - scrollTop - clientHeight < 48;
    this.jump.hidden = this.atEnd || !this.list.firstChild;
  }

  toEnd() {
    this.atEnd = true;
    this.log.scrollTop = this.list.firstChild ? this.log.scrollHeight : 0; // a greeting from its top
    this.jump.hidden = true;
  }

  // -- painting

  /** Everything as `now` says: see `QuickbiteChat.now()`. Called once a frame at the most. */
  paint(now) {
    const focused = this.panel.getRootNode().activeElement;
    this.paintFrame(now);
    this.paintComposer(now);
    const height = this.log.scrollHeight;
    const first = this.list.firstChild;
    this.rows.paint(now);
    if (this.atEnd) this.toEnd();
    else if (first && first !== this.list.firstChild) {
      this.log.scrollTop += this.log.scrollHeight - height; // earlier messages came above
    } else this.scrolled();
    // What had the focus is gone, such as the stop button of an answer that has ended.
    if (now.open && focused && focused !== this.panel && !focused.getClientRects().length) this.focus();
  }

  paintFrame({ open, unread, line, loaded, engine, order, customer, rows, more }) {
    const label = say(open ? "close" : "open");
    this.launcher.setAttribute("aria-label", unread ? `${label} (${say("unread", { n: unread })})` : label);
    this.launcher.setAttribute("aria-expanded", String(open));
    this.badge.hidden = !unread;
    this.badge.textContent = unread;
    const state = line === "idle" ? "connecting" : line;
    if (this.status.dataset.state !== state) {
      this.status.dataset.state = state;
      this.status.textContent = say(state);
    }
    this.fresh.disabled = line !== "online" || !rows.length;
    this.simulated.hidden = !engine?.simulated;
    const words = engine && engine.state !== "ready" ? say(engine.state === "away" ? "away" : "warming_up") : "";
    this.engine.hidden = !words;
    if (this.engine.textContent !== words) this.engine.textContent = words;
    this.paintOrder(order);
    this.older.hidden = !more;
    this.loading.hidden = loaded;
    this.welcome.hidden = !loaded || rows.length > 0;
    this.greeting.textContent = customer ? say("greeting", { name: customer.split(" ")[0] }) : say("greetingPlain");
    for (const chip of this.welcome.querySelectorAll(".chip")) chip.disabled = line !== "online";
  }

  paintOrder(order) {
    if (order === this.shownOrder) return;
    this.shownOrder = order;
    this.order.hidden = !order;
    if (!order) return;
    const [stage, ...more] = order.status_text.split(": ");
    this.order.replaceChildren(
      icon("bag"),
      el("div", null, el("strong", null, order.restaurant), " ", el("span", null, order.number)),
      el("div", { class: "state" }, el("b", null, upper(stage)), el("span", null, more.length ? ` · ${more.join(": ")}` : "")),
    );
  }

  paintComposer({ line, busy, stoppable, notice, max }) {
    const online = line === "online";
    this.stop.hidden = !busy;
    this.stop.disabled = !online || !stoppable;
    this.send.hidden = busy;
    this.send.disabled = !online;
    this.count(max);
    const shown = line === "signed_out" ? { text: say("signedOut"), link: true }
      : notice ?? (line === "online" || line === "connecting" || line === "idle" ? null : { text: say("keepWriting"), calm: true });
    const key = shown && shown.text + Boolean(shown.link);
    if (key === this.shownNotice) return;
    this.shownNotice = key;
    this.notice.hidden = !shown;
    this.notice.classList.toggle("calm", Boolean(shown?.calm));
    this.notice.replaceChildren(
      ...(shown ? [el("span", null, shown.text)] : []),
      ...(shown?.link ? [el("a", { href: this.act.loginUrl() }, say("signIn"))] : []),
    );
  }

  /** Once for each answer, when it has ended: never word by word. */
  announce(row) {
    const ended = row.status === "failed" ? say("failed") : row.status === "stopped" ? say("stopped") : "";
    const text = [row.text, row.note ?? (row.text ? "" : ended)].filter(Boolean).join(" ");
    this.aloud.textContent = "";
    setTimeout(() => { this.aloud.textContent = `${say(known(row.author) ? row.author : "system")}: ${text}`; }, 60);
  }
}

// ---- chat.js ----

/* The element: what the customer does goes out as frames, what the server says is painted.
 *
 *   <script src="/static/assistant/widget.js" async></script>
 *   <quickbite-chat order="QB-1042"></quickbite-chat>
 *
 * Attributes: `order` (the order that the chat is about), `open`, `endpoint` (the WebSocket's
 * address, /ws/chat/ by default), `login-url`. Methods: open(order?), close(), ask(text).
 * Events: quickbite:open, quickbite:close, quickbite:answer. Colours, radius and font follow the
 * page's --qb-* custom properties.
 */

class QuickbiteChat extends HTMLElement {
  static get observedAttributes() {
    return ["open", "order"];
  }

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    dress(root);
    this._said = new Transcript();
    this._line = new Line({
      url: () => socketUrl(this),
      hello: () => this._hello(),
      beat: () => ({ type: "sync", revision: this._said.revision }),
      waiting: () => this._engine != null && this._engine.state !== "ready",
      frame: (frame) => this._frame(frame),
      state: (state) => this._lineIs(state),
    });
    this._panel = new Panel(root, {
      toggle: () => (this.hasAttribute("open") ? this.close() : this.open()),
      close: () => this.close(),
      fresh: () => this._fresh(),
      send: (text) => this._send(text),
      stop: () => this._stop(),
      retry: (row) => this._retry(row),
      edit: (row) => this._edit(row),
      resend: (row) => this._resend(row),
      choose: (choice) => this._choose(choice),
      older: () => this._older(),
      typed: (text) => this._typed(text),
      loginUrl: () => loginUrl(this),
    });
    this._gaps = new Gaps(this._said, this._line);
    this._outbox = new Outbox(this._said, this._panel);
    Object.assign(this, {
      _engine: null, _order: null, _customer: "", _max: 2000, _loaded: false, _notice: null,
      _unread: 0, _wanted: null, _queued: null, _stopWish: false, _retrying: null,
      _frameAsked: 0, _ticking: 0,
      _nudge: () => document.visibilityState === "visible" && this._line.nudge(),
      _offline: () => this._line.state === "online" && this._line.lost(),
      _fit: () => this._panel.fit(),
    });
  }

  // -- for the page

  /** Show the chat: the current conversation, or the one about `order`. */
  open(order) {
    if (order && order !== this._order?.number) this._about({ order });
    if (this.hasAttribute("open")) this._line.connect();
    else this.setAttribute("open", "");
    this._panel.focus();
  }

  close() {
    this.removeAttribute("open");
  }

  /** Show the chat and send `text` as the customer's question, as soon as that can be done. */
  ask(text) {
    this.open();
    this._queued = String(text);
    if (this._line.isOpen && this._loaded) this._flush();
  }

  // -- the element's life

  connectedCallback() {
    const { kept } = this._before ?? { kept: memory.read() };
    this._before = { kept };
    this._listen("addEventListener");
    const attribute = this.getAttribute("order");
    if (attribute && attribute !== kept.order) this._wanted = { order: attribute };
    else if (kept.conversation) this._wanted = { conversation: kept.conversation };
    memory.write({ order: attribute });
    if (kept.open && !this.hasAttribute("open")) this.setAttribute("open", "");
    else if (this.hasAttribute("open")) this._opened();
    this._repaint();
  }

  disconnectedCallback() {
    this._listen("removeEventListener");
    clearInterval(this._ticking);
    this._line.end();
    this._panel.show(false);
  }

  attributeChangedCallback(name, old, value) {
    if (!this.isConnected || old === value) return;
    if (name === "order") value && this._about({ order: value });
    else if (value !== null && old === null) this._opened();
    else if (value === null) this._closed();
  }

  _listen(how) {
    window[how]("online", this._nudge);
    window[how]("pageshow", this._nudge);
    window[how]("offline", this._offline);
    window[how]("resize", this._fit);
    document[how]("visibilitychange", this._nudge);
  }

  _opened() {
    this._unread = 0;
    memory.write({ open: true });
    this._panel.show(true);
    this._line.connect();
    this._repaint();
    this._tell("open");
  }

  _closed() {
    const inside = this.shadowRoot.activeElement;
    memory.write({ open: false });
    this._panel.show(false);
    if (inside) this._panel.launcher.focus();
    this._repaint();
    this._tell("close");
  }

  _tell(name, detail = {}) {
    this.dispatchEvent(new CustomEvent(`quickbite:${name}`, { bubbles: true, composed: true, detail }));
  }

  // -- what the customer does

  _typed(text) {
    memory.write({ draft: text });
    if (this._notice && text) this._notice = null;
    this._repaint();
  }

  _send(text) {
    const length = lengthOf(text);
    const now = this._now();
    const refuse = (words) => {
      if (length && !this._panel.draft.trim()) this._panel.draft = text;
      this._warn(words);
    };
    if (now.line !== "online" || !now.loaded) return this._repaint();
    if (!length) return refuse(say("empty"));
    if (now.busy) return refuse(say("busy"));
    if (length > this._max) return refuse(say("tooLong", { n: number(length), max: number(this._max) }));
    if (text === this._panel.draft) this._panel.draft = "";
    this._put({ type: "ask", text });
  }

  _choose(choice) {
    this._put({ type: "choose", order: choice.order }, choice.label);
  }

  _put(frame, text, client_id) {
    this._notice = null;
    this._stopWish = false;
    this._line.send(this._outbox.add(frame, text, client_id));
    this._panel.atEnd = true;
    this._repaint();
  }

  _resend(row) {
    if (this._now().busy) return this._warn(say("busy"));
    this._said.pending.delete(row.client_id);
    this._put(row.frame, row.text, row.client_id);
  }

  _edit(row) {
    this._outbox.toDraft(row);
    this._panel.text.focus();
    this._repaint();
  }

  _stop() {
    const { live } = this._said;
    this._stopWish = !live; // the answer is not known yet: as soon as it is
    if (live) this._line.send({ type: "stop", message: live.id });
    this._panel.focus();
    this._repaint();
  }

  /** Busy from here on until the new answer or a refusal is there: clicked twice, asked once. */
  _retry(row) {
    if (this._now().busy || !this._line.send({ type: "retry", message: row.id })) return;
    this._notice = null;
    this._stopWish = false;
    this._retrying = { id: row.id, question: row.answer_to, since: performance.now() };
    this._panel.focus();
    this._repaint();
  }

  _older() {
    const first = this._said.list()[0];
    if (first) this._line.send({ type: "history", before: first.seq });
  }

  _fresh() {
    const order = this._order?.number;
    this._about(order ? { new: true, order } : { new: true });
    this._panel.focus();
  }

  /** Another conversation than the one shown. */
  _about(wanted) {
    for (const row of [...this._said.pending.values()]) {
      if (row.frame.type === "ask") this._outbox.toDraft(row);
    }
    this._said.clear();
    this._retrying = null;
    this._wanted = wanted;
    this._loaded = false;
    this._notice = null;
    this._line.send(this._hello());
    this._repaint();
  }

  // -- what the server says

  _lineIs(state) {
    if (state !== "online") this._retrying = null; // what became of it, the next `ready` tells
    const { sending } = this._said;
    if (state === "signed_out" && sending) this._outbox.giveBack(sending, say("signedOut"));
    this._repaint();
  }

  _hello() {
    const { conversation, revision } = this._said;
    if (conversation) return { type: "open", conversation, revision, offsets: this._said.offsets() };
    this._helloFor = this._wanted;
    return { type: "open", ...this._wanted };
  }

  _frame(frame) {
    const handle = {
      ready: this._onReady, ack: this._onAck, message: this._onMessage, token: this._onToken,
      changes: this._onChanges, older: this._onOlder, order: this._onOrder, error: this._onError,
    }[frame.type];
    // Until the new conversation is there, what else comes is about the old one.
    if (this._loaded || handle === this._onReady || handle === this._onError) handle?.call(this, frame);
    this._repaint();
  }

  _onReady(frame) {
    if (this._wanted && this._wanted !== this._helloFor) {
      this._line.write(this._hello()); // something else was asked for meanwhile
      return;
    }
    this._engine = frame.engine;
    this._order = frame.order ?? null;
    this._max = frame.max_chars;
    this._wanted = null;
    this._loaded = true;
    this._gaps.clear();
    const news = this._said.open(frame);
    this._outbox.restore(frame);
    this._customer = frame.customer;
    this._line.opened();
    for (const row of news) this._news(row);
    for (const row of this._said.pending.values()) {
      if (row.status === "sending") this._line.send(row.frame);
    }
    // An answer that went on streaming has not changed as a row: follow it again all the same.
    const { live } = this._said;
    if (live && !(frame.messages ?? []).some((row) => row.id === live.id)) this._gaps.resume(live.id);
    if (this._queued !== null) this._flush();
  }

  /** Sends what the page asked for. */
  _flush() {
    const text = this._queued;
    this._queued = null;
    this._send(text);
  }

  _onAck({ client_id, question, answer }) {
    this._said.pending.delete(client_id);
    for (const row of [question, answer]) if (row) this._take(row);
  }

  _onMessage({ message }) {
    this._take(message);
  }

  _take(row) {
    this._know(row);
    if (!this._said.advance(row.revision)) this._gaps.catchUp();
  }

  _know(row) {
    const { _retrying: retrying, _said: said } = this;
    if (retrying && row.author !== "customer" && row.answer_to === retrying.question && !said.rows.has(row.id)) {
      this._retrying = null;
    }
    if (said.put(row)) this._news(row);
    if (row.client_id) this._outbox.settle();
    if (this._stopWish && said.live) this._stop();
  }

  _onToken(frame) {
    if (this._said.token(frame) === "gap") this._gaps.resume(frame.message);
    else this._gaps.closed(frame.message);
  }

  _onChanges({ revision, messages = [], engine }) {
    for (const row of messages) this._know(row);
    this._said.revision = Math.max(this._said.revision, revision);
    // Frames are handled in their order: asked after the retry, this would have brought its answer.
    if (performance.now() - this._retrying?.since > 2_000) this._retrying = null;
    if (engine) this._engine = engine;
  }

  _onOlder({ messages = [], more = false }) {
    for (const row of messages) this._said.put(row);
    this._said.more = more;
  }

  _onOrder({ order }) {
    this._order = order ?? null;
  }

  _onError({ code, text, retry, client_id, message }) {
    if (code === "session_expired") return this._line.signOut();
    if (!message || message === this._retrying?.id) this._retrying = null;
    const row = this._said.pending.get(client_id);
    if (row) {
      this._outbox.giveBack(row, text || say("wentWrong"), retry);
      return this._warn(text || say("wentWrong"));
    }
    const opening = !this._loaded || !this._line.isOpen;
    if (opening && (code === "conversation_not_found" || code === "order_not_found")) {
      // What was to be opened is not there (any more): the current conversation instead.
      if (code === "conversation_not_found" && !this._customer) this._outbox.forget(); // another's, perhaps
      memory.write({ conversation: null });
      this._about({});
      if (!this._line.isOpen) this._line.write(this._hello());
      if (code === "order_not_found") this._warn(text);
      return;
    }
    if (!this._line.isOpen) {
      if (retry) return this._line.lost(); // could not open: later again
      this._line.refuse();
      this._loaded = true;
    }
    if (code === "message_not_found" || code === "nothing_to_retry") this._gaps.catchUp();
    if (this._gaps.asked(message)) return;
    this._warn(text || say("wentWrong"));
  }

  /** An answer has ended, or a message has come. */
  _news(row) {
    this._stopWish = false;
    if (this.hasAttribute("open")) this._panel.announce(row);
    else this._unread += 1;
    const { id, status, text, author } = row;
    this._tell("answer", { conversation: this._said.conversation, message: id, author, status, text });
  }

  _warn(text) {
    this._notice = { text };
    this._repaint();
  }

  // -- painting

  _now() {
    const busy = Boolean(this._said.sending || this._said.live || this._retrying);
    return {
      open: this.hasAttribute("open"), unread: this._unread, line: this._line.state,
      loaded: this._loaded, engine: this._engine, order: this._order, customer: this._customer,
      rows: this._said.list(), more: this._said.more, notice: this._notice, max: this._max,
      busy, stoppable: busy && !this._stopWish,
    };
  }

  /** Once in the next frame, however much has happened; while somebody waits, now and then too. */
  _repaint() {
    if (this._frameAsked) return;
    this._frameAsked = requestAnimationFrame(() => {
      this._frameAsked = 0;
      const now = this._now();
      this._panel.paint(now);
      clearInterval(this._ticking);
      if (now.busy && now.open) this._ticking = setInterval(() => this._repaint(), 500);
    });
  }
}

customElements.define("quickbite-chat", QuickbiteChat);
})();
