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

import { loginUrl, socketUrl } from "./addresses.js";
import { Gaps } from "./gaps.js";
import { Line } from "./line.js";
import { dress } from "./look.js";
import { memory } from "./memory.js";
import { Outbox } from "./outbox.js";
import { Panel } from "./panel.js";
import { lengthOf } from "./text.js";
import { Transcript } from "./transcript.js";
import { number, say } from "./words.js";

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
