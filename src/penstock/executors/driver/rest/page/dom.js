// Making and changing what the page shows. All text goes in as text: names and records come from anybody.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element. Of its properties, `text` is its text, those that begin with `on` are listeners, others attributes. */
export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name === "text") node.textContent = straight(value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else mark(node, name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** A text without marks that would turn round, or move, what stands beside it. */
function straight(text) {
  return String(text ?? "").replace(/[\u202a-\u202e\u2066-\u2069]/g, " ");
}

/** Set a text, if it is another one: what is selected in the others stays so. */
export function put(node, given) {
  const text = straight(given);
  const only = node.firstChild;
  if (only && only === node.lastChild && only.nodeType === Node.TEXT_NODE) {
    if (only.data !== text) only.data = text;
  } else if (node.textContent !== text) {
    node.textContent = text;
  }
}

/** Set an attribute, if its value is another one; none for `null` and `false`. */
export function mark(node, name, value) {
  if (value === null || value === undefined || value === false) node.removeAttribute(name);
  else {
    const wanted = value === true ? "" : String(value);
    if (node.getAttribute(name) !== wanted) node.setAttribute(name, wanted);
  }
}

/** Set a CSS variable of one element, which a policy allows that forbids style attributes. */
export function vary(node, name, value) {
  if (node.style.getPropertyValue(name) !== value) node.style.setProperty(name, value);
}

const kept = new WeakMap();

/**
 * Have one child for each item, in their order. Those that stay are the same elements, so that focus, selection and
 * scroll position stay too.
 *
 * @param make makes the element of an item.
 * @param show brings an element up to date, each time.
 */
export function keep(parent, items, keyOf, make, show = () => {}) {
  const before = kept.get(parent) ?? new Map();
  const now = new Map();
  for (const item of items) {
    const key = String(keyOf(item));
    if (!now.has(key)) now.set(key, { node: before.get(key) ?? make(item), item });
  }
  for (const [key, node] of before) if (!now.has(key)) node.remove();
  let place = parent.firstChild;
  for (const { node, item } of now.values()) {
    if (node === place) place = place.nextSibling;
    else parent.insertBefore(node, place);
    show(node, item);
  }
  kept.set(parent, new Map([...now].map(([key, { node }]) => [key, node])));
}

/** Tell those who hear the page. */
export function say(text) {
  put(document.getElementById("said"), text);
}

/** A bar as the element of a cell of a table, which has it as `shown`. */
export function barCell() {
  const shown = bar();
  shown.node.shown = shown;
  return shown.node;
}

/** A share of the whole as a bar with parts; `parts` are `[name, share]`. */
export function bar(label = "") {
  const node = el("span", { class: "bar-of", role: "img" });
  return {
    node,
    show(parts, text) {
      keep(node, parts, ([name]) => name, ([name]) => el("span", { class: `part ${name}` }),
        (part, [, share]) => vary(part, "--share", String(Math.round(share * 1000) / 1000)));
      mark(node, "aria-label", label ? `${label}: ${text}` : text);
      mark(node, "title", text);
    },
  };
}
