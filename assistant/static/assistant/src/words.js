// Everything that the widget says.

export const WORDS = {
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

export const say = (key, values = {}) =>
  WORDS[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
export const number = (n) => n.toLocaleString(document.documentElement.lang || undefined);
