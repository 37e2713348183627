// What outlives the page, in this tab alone.

/** What a reload should find again. Storage may throw or be missing: then the page's life is it. */
export const memory = {
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
