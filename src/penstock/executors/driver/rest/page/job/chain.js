// What one chain does: its operators, and its subtasks.

import { barCell, el, keep, put } from "../dom.js";
import { bytes, count, lag, NONE, percent, rate, watermark } from "../format.js";
import { shares } from "./picture.js";
import { table } from "../table.js";

const figure = (head, text) => ({ head, kind: "number", text });

export function chain(vertexId, close) {
  let at = 0;
  let of = 0;
  const title = el("h2", { tabindex: "-1" });
  const facts = el("p", { class: "soft" });
  const operators = table("Operators of the chain", [
    { head: "Operator", kind: "name", text: (row) => row.name },
    figure("In/s", (row) => rate(row.records_per_second)),
    figure("Records in", (row) => count(row.figures.records_in)),
    figure("Records out", (row) => count(row.figures.records_out)),
    figure("Busy", (row) => (row.busy === null ? NONE : percent(row.busy))),
    figure("Watermark", (row) => watermark(row.figures.output_watermark, at)),
    figure("Lag", (row) => lag(row.figures.output_watermark, at)),
    figure("Late", (row) => count(row.figures.late_records)),
    figure("Failed", (row) => count(row.figures.failed_records)),
    figure("Timers", (row) => count(row.figures.timers)),
    figure("State", (row) => bytes(row.figures.state_size)),
  ], (row) => row.operator_id);
  const subtasks = table("Subtasks of the chain", [
    figure("Subtask", (row) => `${row.index + 1}/${of}`),
    { head: "Time", make: barCell, show: (node, row) => node.shown.show(parts(row.times), shares(row.times)), kind: "times" },
    figure("Busy", (row) => percent(row.times.busy)),
    figure("Back-pressured", (row) => percent(row.times.back_pressured)),
    figure("In/s", (row) => rate(row.times.records_in_per_second)),
    figure("Out/s", (row) => rate(row.times.records_out_per_second)),
    figure("Records in", (row) => count(row.operators[0]?.records_in ?? 0)),
    figure("Bytes in", (row) => bytes(row.times.bytes_in)),
    figure("Bytes out", (row) => bytes(row.times.bytes_out)),
    figure("Lag", (row) => lag(row.operators.at(-1)?.output_watermark ?? null, at)),
    figure("State", (row) => bytes(row.state_size)),
  ], (row) => row.index);
  const user = el("dl", { class: "user" });
  const userPart = el("section", {}, el("h3", { text: "Metrics of its functions" }), user);
  const inputs = el("p", { class: "soft" });
  const node = el("section", { class: "chain panel", "aria-label": "Details of a chain" },
    el("div", { class: "head" }, title, el("button", { class: "plain", text: "✕", "aria-label": "Close the details", onclick: close })),
    facts, inputs, operators.node, el("h3", { text: "Subtasks" }), subtasks.node, userPart);
  node.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  return {
    node,
    focus: () => title.focus({ preventScroll: false }),
    show(view) {
      const vertex = view.vertices.find((each) => each.vertex_id === vertexId);
      if (!vertex) return;
      at = view.at;
      of = vertex.parallelism;
      put(title, vertex.name);
      put(facts, `${vertex.parallelism} of at most ${vertex.max_parallelism} subtasks · ${shares(vertex.times)} · ` +
        `watermark ${watermark(vertex.watermark, at)}, lag ${lag(vertex.watermark, at)} · state ${bytes(vertex.state_size)}`);
      put(inputs, fedBy(vertex, view));
      operators.show(vertex.operators);
      subtasks.show(vertex.subtasks);
      showUser(vertex, user, userPart);
    },
  };
}

function parts({ busy, back_pressured: waits, idle }) {
  return [["busy", busy], ["waits", waits], ["idle", idle]];
}

function fedBy(vertex, view) {
  if (vertex.inputs.length === 0) return "A source: nothing feeds it.";
  const names = new Map(view.vertices.map((each) => [each.vertex_id, each.name]));
  return `Fed by ${vertex.inputs.map((input) => `${names.get(input.vertex_id) ?? input.vertex_id} (${input.ship_strategy})`).join(", ")}.`;
}

function showUser(vertex, user, part) {
  const found = vertex.operators.flatMap((operator) => Object.entries(operator.figures.user)
    .map(([name, value]) => ({ key: `${operator.operator_id}.${name}`, name: `${operator.name} · ${name}`, value })));
  part.hidden = found.length === 0;
  keep(user, found, (each) => each.key, (each) => el("div", {}, el("dt", { text: each.name }), el("dd")),
    (line, each) => put(line.lastChild, metric(each.value)));
}

function metric(value) {
  if (value === null || typeof value !== "object") return typeof value === "number" ? Number(value.toPrecision(6)).toLocaleString("en-US") : String(value);
  return Object.entries(value).map(([name, each]) => `${name} ${metric(each)}`).join(" · ");
}
