// What is known of the conversation.

export const isLive = (row) => row.status === "queued" || row.status === "streaming";

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

export class Transcript {
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
