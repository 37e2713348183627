// Small things about text.

export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID(); // missing on plain-HTTP pages
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** For the counter only; the server's own count decides. */
export function lengthOf(text) {
  const plain = text.normalize("NFC").trim();
  return plain.length > 50_000 ? plain.length : Array.from(plain).length;
}

export function clock(created) {
  const then = new Date(created);
  const today = then.toDateString() === new Date().toDateString();
  const how = { hour: "numeric", minute: "2-digit", ...(today ? {} : { month: "short", day: "numeric" }) };
  return then.toLocaleString(document.documentElement.lang || undefined, how);
}
