/* "Your orders": opens the chat on an order, and keeps the cards true while the page is looked at. */
"use strict";

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-order]");
  const chat = document.querySelector("quickbite-chat");
  if (!button || !chat) return;
  customElements.whenDefined("quickbite-chat").then(() => chat.open(button.dataset.order));
});

// The chat gives the focus back to its own button; here it belongs to the card that opened it.

const EVERY_MS = 20_000;

async function renew() {
  const shown = document.getElementById("orders");
  if (document.visibilityState !== "visible" || shown.contains(document.activeElement)) return;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) return; // signed out: the chat says so
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("orders");
    if (fresh && fresh.innerHTML !== shown.innerHTML) shown.replaceWith(fresh);
  } catch { /* offline: next time */ }
}

setInterval(renew, EVERY_MS);
document.addEventListener("visibilitychange", renew);
