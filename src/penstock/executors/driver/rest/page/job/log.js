// The log of the last minutes.

import { el, keep, mark, put } from "../dom.js";
import { clock } from "../format.js";

const MOST = 2_000;
const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR"];

/** What a line says; where it comes from is said beside it. */
const said = (line) => (line.operator ? line.message.replace(/^\[[^\n]*?, epoch \d+\] /, "") : line.message);

const severity = (level) => {
  const number = { TRACE: 0, DEBUG: 0, INFO: 1, WARN: 2, WARNING: 2, ERROR: 3, CRITICAL: 3, FATAL: 3 }[level];
  return number ?? 1;
};

export function log() {
  const level = el("select", { name: "level", "aria-label": "Lowest level" }, ...LEVELS.map((each) => el("option", { value: each, text: each === "DEBUG" ? "All levels" : `${each} and above` })));
  const filter = el("input", { type: "search", name: "text", placeholder: "Filter lines", "aria-label": "Filter the lines of the log", spellcheck: "false" });
  const follow = el("input", { type: "checkbox", name: "follow", checked: true });
  const found = el("span", { class: "soft", role: "status" });
  const lines = el("ol", { class: "lines" });
  const box = el("div", { class: "log scroll", role: "region", "aria-label": "Lines of the log", tabindex: "0" }, lines);
  const node = el("section", { class: "panel", "aria-label": "Log" }, el("h2", { text: "Log of the last minutes" }),
    el("div", { class: "filters" }, level, filter, el("label", { class: "check" }, follow, el("span", { text: "Follow" })), found), box);
  let all = [];
  const isShown = (line) => severity(line.level) >= LEVELS.indexOf(level.value) && textOf(line).toLowerCase().includes(filter.value.trim().toLowerCase());
  const refresh = () => {
    const shown = all.filter(isShown);
    keep(lines, shown, (line) => line.number, makeLine);
    put(found, all.length ? `${shown.length} of ${all.length} lines` : "No line yet.");
    if (follow.checked) box.scrollTop = box.scrollHeight;
  };
  for (const control of [level, filter, follow]) control.addEventListener("input", refresh);
  box.addEventListener("wheel", () => { if (box.scrollTop + box.clientHeight < box.scrollHeight - 4) follow.checked = false; }, { passive: true });
  return {
    node,
    after: () => all.at(-1)?.number ?? 0,
    /** Add what came since. A driver that was started anew begins to count anew. */
    add(more) {
      if (more.length === 0 && all.length) return;
      if (more.length && all.length && more[0].number <= all.at(-1).number) all = [];
      all = [...all, ...more].slice(-MOST);
      refresh();
    },
  };
}

function where(line) {
  const subtask = line.operator && line.subtask !== null && line.subtask !== undefined ? ` (${line.subtask + 1})` : "";
  const epoch = line.epoch === null || line.epoch === undefined ? "" : ` epoch ${line.epoch}`;
  return line.operator ? `${line.operator}${subtask}${epoch}` : `${line.logger}${epoch}`;
}

function textOf(line) {
  return `${line.level} ${where(line)} ${line.message}`;
}

function makeLine(line) {
  const node = el("li", {}, el("time", { text: clock(line.at) }), el("span", { class: "level", text: line.level }), el("span", { class: "where", text: where(line), title: line.logger }),
    el("span", { class: "message", text: said(line) }));
  mark(node, "class", ["calm", "info", "warn", "bad"][severity(line.level)]);
  return node;
}
