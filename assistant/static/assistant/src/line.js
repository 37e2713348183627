// The connection: one socket after another, for as long as somebody needs one.

const PROTOCOL = "quickbite.v1";
// How often the newest revision is compared, and how often while the assistant is not ready.
// Never at a fixed pace: in an outage thousands of widgets wait at once.
const BEAT_MS = [18_000, 22_000];
const BEAT_WAITING_MS = [4_000, 8_000];
const EAGER_MS = 60_000; // a longer wait is an outage, and is watched at the calm pace
const ANSWER_MS = 10_000; // a socket that is silent for so long after a question to it is dead
const BACKOFF_MS = [500, 15_000];

export class Line {
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
