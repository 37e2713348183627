// What is shown: launcher, panel, composer.

import { el, icon } from "./dom.js";
import { SHEET } from "./look.js";
import { Rows, known } from "./rows.js";
import { lengthOf, upper } from "./text.js";
import { WORDS, number, say } from "./words.js";

export class Panel {
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
