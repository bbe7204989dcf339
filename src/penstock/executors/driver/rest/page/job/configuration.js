// What is set for a job, with a filter.

import { el, put } from "../dom.js";
import { table } from "../table.js";

export function configuration() {
  const filter = el("input", { type: "search", name: "filter", placeholder: "Filter keys and values", "aria-label": "Filter the configuration", spellcheck: "false" });
  const found = el("p", { class: "soft", role: "status" });
  const rows = table("Configuration", [
    { head: "Key", kind: "key", text: ([key]) => key },
    { head: "Value", kind: "long", text: ([, value]) => value },
  ], ([key]) => key);
  const node = el("section", { class: "panel", "aria-label": "Configuration" }, el("h2", { text: "Configuration" }),
    el("div", { class: "filters" }, filter), found, rows.node);
  let all = [];
  const refresh = () => {
    const wanted = filter.value.trim().toLowerCase();
    const shown = all.filter(([key, value]) => `${key} ${value}`.toLowerCase().includes(wanted));
    rows.show(shown);
    put(found, all.length ? `${shown.length} of ${all.length} settings` : "Nothing is set: all is as by default.");
  };
  filter.addEventListener("input", refresh);
  return {
    node,
    show(view) {
      all = Object.entries(view.configuration).sort(([one], [other]) => (one < other ? -1 : 1));
      refresh();
    },
  };
}
