// The preview beside an answer's form: what a customer with this order would read.

"use strict";

(() => {
  const panel = document.getElementById("answer-preview");
  const text = document.getElementById("id_template");
  if (!panel || !text) return;
  const order = document.getElementById("preview-order");
  const shown = document.getElementById("preview-text");
  const problems = document.getElementById("preview-problems");
  const count = document.getElementById("preview-count");
  const status = document.getElementById("id_order_status");
  const delivery = document.getElementById("id_delivery_state");
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  let timer = 0;
  let asked = 0;

  // The first order that the answer's place fits.
  function chooseOrder() {
    const fits = (wanted, value) => wanted === "*" || wanted === value;
    const options = [...order.options];
    const found = options.find(
      (option) =>
        (status.value === "none") === (option.dataset.status === "none") &&
        (status.value === "none" || fits(status.value, option.dataset.status)) &&
        (status.value === "none" || fits(delivery.value, option.dataset.delivery)),
    );
    if (found) order.value = found.value;
  }

  function say(lines) {
    problems.replaceChildren(
      ...lines.map((line) => {
        const item = document.createElement("li");
        item.textContent = line;
        return item;
      }),
    );
  }

  async function show() {
    const mine = ++asked;
    const body = new URLSearchParams({ template: text.value, order: order.value });
    try {
      const response = await fetch(panel.dataset.url, {
        method: "POST",
        body,
        headers: { "X-CSRFToken": token },
      });
      if (!response.ok) throw new Error(String(response.status));
      const found = await response.json();
      if (mine !== asked) return;
      shown.textContent = found.text || (text.value.trim() ? "–" : "Nothing written yet.");
      say(text.value.trim() ? [...found.problems, ...(found.misfit ? [found.misfit] : [])] : []);
      for (const place of panel.querySelectorAll("[data-value]")) {
        place.textContent = found.values[place.dataset.value] ?? "no value";
      }
    } catch (error) {
      if (mine === asked) say(["The preview cannot be shown at this moment; your text is safe."]);
    }
  }

  function soon() {
    count.textContent = `${text.value.length} of ${panel.dataset.max} characters`;
    clearTimeout(timer);
    timer = setTimeout(show, 250);
  }

  text.addEventListener("input", soon);
  order.addEventListener("change", show);
  for (const field of [status, delivery]) {
    field?.addEventListener("change", () => {
      chooseOrder();
      show();
    });
  }
  panel.addEventListener("click", (event) => {
    const button = event.target.closest("[data-name]");
    if (!button) return;
    text.setRangeText(`{{ ${button.dataset.name} }}`, text.selectionStart, text.selectionEnd, "end");
    text.focus();
    text.dispatchEvent(new Event("input", { bubbles: true }));
  });
  if (status && delivery) chooseOrder();
  soon();
})();
