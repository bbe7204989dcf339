// Tables that are brought up to date in place.

import { el, keep, put } from "./dom.js";

/**
 * @param label what the table is, for those who hear it.
 * @param columns `{head, text(row)}`, or `{head, make(row) -> element, show(element, row)}`; `kind` is a CSS class.
 */
export function table(label, columns, keyOf, className = "") {
  const body = el("tbody");
  const head = el("tr", {}, ...columns.map((column) => el("th", { scope: "col", class: column.kind, text: column.head })));
  const node = el("div", { class: `scroll ${className}`, role: "region", "aria-label": label, tabindex: "0" },
    el("table", {}, el("caption", { class: "unseen", text: label }), el("thead", {}, head), body));
  const make = (row) => el("tr", {}, ...columns.map((column) => el("td", { class: column.kind }, column.make ? column.make(row) : null)));
  const show = (line, row) => columns.forEach((column, number) => {
    const cell = line.children[number];
    if (column.make) column.show?.(cell.firstChild, row);
    else put(cell, column.text(row));
  });
  return { node, show: (rows) => keep(body, rows, keyOf, make, show) };
}
