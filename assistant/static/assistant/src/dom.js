// Elements and icons.

const ICONS = {
  bite: "M4 11a8 8 0 0 1 13.5-5.8 3 3 0 0 0 2.3 4.6A8 8 0 1 1 4 11zM9 10h.01M13 14h.01M9 15h.01",
  chat: "M21 11.5a8.5 8.5 0 0 1-12.3 7.6L3 21l1.9-5.7A8.5 8.5 0 1 1 21 11.5z",
  down: "M6 9l6 6 6-6",
  close: "M6 6l12 12M18 6L6 18",
  fresh: "M12 4H6a2 2 0 0 0-2 2v12a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2v-6M17.7 3.8a1.9 1.9 0 0 1 2.6 2.6L12 14.8 8.7 15.6 9.4 12z",
  send: "M12 19V5M5 12l7-7 7 7",
  stop: "M8 6h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H8a2 2 0 0 1-2-2V8a2 2 0 0 1 2-2z",
  again: "M3 12a9 9 0 1 0 3-6.7L3 8M3 3v5h5",
  bag: "M6 8h12l1 12H5zM9 8V7a3 3 0 0 1 6 0v1",
};

/** An element. All words go in as text nodes: nothing here is ever read as HTML. */
export function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null && child !== false));
  return node;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}
