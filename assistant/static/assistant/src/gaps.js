// What went past us is asked for: soon, but not twice.

const AGAIN_MS = 2_000; // a request that has not been answered for so long may be made again
const GATHER_MS = 150;

export class Gaps {
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
