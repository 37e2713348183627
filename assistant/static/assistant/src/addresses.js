// Where the chat's socket and the sign-in are; `chat` is the element, whose attributes may say.

export function socketUrl(chat) {
  const url = new URL(chat.getAttribute("endpoint") ?? "/ws/chat/", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  return url.href;
}

export function loginUrl(chat) {
  const url = new URL(chat.getAttribute("login-url") ?? "/accounts/login/", location.href);
  url.searchParams.set("next", location.pathname + location.search);
  return url.href;
}
