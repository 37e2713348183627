/* "Your orders": opens the chat on an order, and keeps the cards true while somebody looks. */
(() => {
  "use strict";
  const EVERY_MS = 20_000;
  const buttonOf = (order) => document.querySelector(`button[data-order="${CSS.escape(order)}"]`);
  let opener = null; // the order whose button opened the chat

  document.addEventListener("click", (event) => {
    const order = event.target.closest("button[data-order]")?.dataset.order;
    if (!order) return;
    opener = order;
    customElements.whenDefined("quickbite-chat")
      .then(() => document.querySelector("quickbite-chat").open(order));
  });

  // Who came from a card goes back to it; the chat itself gives the focus to its own button.
  document.addEventListener("quickbite:close", () => {
    if (opener && document.activeElement?.localName === "quickbite-chat") buttonOf(opener)?.focus();
    opener = null;
  });

  function renew() {
    if (document.visibilityState !== "visible") return;
    const request = new XMLHttpRequest();
    request.open("GET", location.pathname);
    request.responseType = "document";
    request.onload = () => {
      const fresh = request.response?.getElementById("orders");
      const shown = document.getElementById("orders");
      // Signed out, or somebody else by now: nothing of the one before stays on the screen.
      const away = request.status === 200 && fresh?.dataset.user !== shown.dataset.user;
      if (away) return location.reload();
      if (!fresh || fresh.isEqualNode(shown)) return;
      const focused = shown.contains(document.activeElement) && document.activeElement.dataset.order;
      shown.replaceWith(fresh);
      if (focused) buttonOf(focused)?.focus({ preventScroll: true });
    };
    request.send();
  }

  setInterval(renew, EVERY_MS);
  document.addEventListener("visibilitychange", renew);
})();
