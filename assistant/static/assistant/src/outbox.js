// Questions on their way: kept over a reload, sent again when that is safe, never asked twice.

import { memory } from "./memory.js";
import { uuid } from "./text.js";

export class Outbox {
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
