// What was lost, and what went wrong: late and failed records, and exceptions.

import { el, keep, put } from "../dom.js";
import { clock, count } from "../format.js";
import { table } from "../table.js";

const HELP = {
  late: "A record is late when the watermark has passed the window it belongs to. To keep such records, allow for more out-of-orderness in the watermark strategy, give the window an allowed lateness or a side output, or use BATCH mode for input that ends.",
  failed: "Records that failed and were passed over, as their operator was told to.",
};

export function records() {
  const kinds = [kind("late", "Late records"), kind("failed", "Failed records")];
  const node = el("section", { class: "panel", "aria-label": "Late and failed records" },
    el("h2", { text: "Late and failed records" }), ...kinds.map((each) => each.node));
  return { node, show: (view) => kinds.forEach((each) => each.show(view)) };
}

function kind(name, title) {
  const heading = el("h3");
  const counts = table(`${title} by operator`, [
    { head: "Operator", kind: "name", text: (row) => row.name },
    { head: "Records", kind: "number", text: (row) => count(row.count) },
  ], (row) => row.key);
  const samples = el("ol", { class: "samples", "aria-label": `Examples of ${title.toLowerCase()}` });
  const none = el("p", { class: "empty", text: "None." });
  const help = el("p", { class: "soft", text: HELP[name] });
  const node = el("section", { class: name }, heading, help, none, counts.node, samples);
  return {
    node,
    show(view) {
      const rows = view.vertices.flatMap((vertex) => vertex.operators.map((operator) => ({
        key: operator.operator_id, name: operator.name, count: operator.figures[`${name}_records`],
      }))).filter((row) => row.count);
      put(heading, `${title}: ${count(view[`${name}_records`])}`);
      none.hidden = rows.length > 0;
      help.hidden = rows.length === 0;
      counts.node.hidden = rows.length === 0;
      counts.show(rows);
      const found = view.samples.filter((sample) => sample.kind === name);
      keep(samples, found, (each) => `${each.happened} ${each.operator} ${each.record}`, makeSample);
    },
  };
}

function makeSample(sample) {
  return el("li", {}, el("p", { class: "soft", text: `${clock(sample.happened)} · ${sample.operator} · ${sample.reason}` }), el("pre", { tabindex: "0", text: sample.record }));
}

export function exceptions() {
  const none = el("p", { class: "empty", text: "None so far." });
  const found = el("ol", { class: "exceptions" });
  const node = el("section", { class: "panel", "aria-label": "Exceptions" }, el("h2", { text: "Exceptions" }),
    el("p", { class: "soft", text: "The last ten, the newest first." }), none, found);
  return {
    node,
    show(view) {
      none.hidden = view.exceptions.length > 0;
      keep(found, view.exceptions, (each) => `${each.name} ${each.operator} ${each.message} ${each.traceback}`, makeException, showException);
    },
  };
}

function makeException(each) {
  return el("li", {}, el("h3", { text: each.name }), el("p", { class: "when soft" }), el("p", { class: "message", text: each.message }),
    each.record === null ? null : el("p", { class: "record" }, el("span", { class: "soft", text: "Record " }), el("code", { text: each.record })),
    each.traceback ? el("pre", { tabindex: "0", "aria-label": "Traceback", text: each.traceback }) : null);
}

function showException(line, each) {
  const facts = [
    clock(each.happened), each.operator ? `in ${each.operator}` : null, each.epoch === null ? null : `epoch ${each.epoch}`,
    each.times > 1 ? `${count(each.times)} times in a row` : null,
  ];
  put(line.querySelector(".when"), facts.filter(Boolean).join(" · "));
}
