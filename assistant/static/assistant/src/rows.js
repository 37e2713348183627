// The messages, as rows of a list.

import { el, icon } from "./dom.js";
import { clock } from "./text.js";
import { isLive } from "./transcript.js";
import { say } from "./words.js";

const WAIT_MS = 1_000; // a wait longer than this says what is awaited
const LONG_WAIT_MS = 7_000;
const QUIET_MS = 2_500; // and so does a pause within an answer

export const known = (author) => ["assistant", "agent", "system"].includes(author);

export class Rows {
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
