// State, by chain and by operator, and the checkpoints that keep it.

import { barCell, el, keep, put } from "../dom.js";
import { bytes, clock, count, duration } from "../format.js";
import { table } from "../table.js";

export function state() {
  const facts = el("dl", { class: "facts" });
  let most = 1;
  const sizes = table("State by operator", [
    { head: "Chain", kind: "name", text: (row) => row.chain },
    { head: "Operator", kind: "name", text: (row) => row.name },
    { head: "State", kind: "number", text: (row) => bytes(row.size) },
    { head: "", kind: "times", make: barCell, show: (node, row) => node.shown.show([["busy", row.size / most], ["rest", 1 - row.size / most]], bytes(row.size)) },
    { head: "Timers", kind: "number", text: (row) => count(row.timers) },
    { head: "Fired", kind: "number", text: (row) => count(row.fired) },
  ], (row) => row.key);
  const none = el("p", { class: "empty", text: "No operator keeps state." });
  const savepoints = table("Savepoints", [
    { head: "Epoch", kind: "number", text: (row) => String(row.epoch) },
    { head: "When", kind: "number", text: (row) => clock(row.started + row.duration) },
    { head: "Took", kind: "number", text: (row) => duration(row.duration) },
    { head: "Size", kind: "number", text: (row) => bytes(row.size) },
    { head: "Where", kind: "long", text: (row) => row.location },
  ], (row) => row.location);
  const savepointPart = el("section", {}, el("h3", { text: "Savepoints" }), savepoints.node);
  const node = el("section", { class: "panel", "aria-label": "State and checkpoints" }, el("h2", { text: "State and checkpoints" }), facts,
    el("h3", { text: "By operator" }), none, sizes.node, savepointPart);
  return {
    node,
    show(view) {
      keep(facts, factsOf(view), ([name]) => name, ([name]) => el("div", {}, el("dt", { text: name }), el("dd")),
        (line, [, text]) => put(line.lastChild, text));
      const rows = view.vertices.flatMap((vertex) => vertex.operators.map((operator) => ({
        key: `${vertex.vertex_id}.${operator.operator_id}`, chain: vertex.name, name: operator.name, size: operator.figures.state_size,
        timers: operator.figures.timers, fired: operator.figures.timers_fired,
      }))).filter((row) => row.size || row.timers || row.fired).sort((one, other) => other.size - one.size);
      most = Math.max(1, ...rows.map((row) => row.size));
      none.hidden = rows.length > 0;
      sizes.node.hidden = rows.length === 0;
      sizes.show(rows);
      const written = [...view.savepoints].reverse();
      savepointPart.hidden = written.length === 0;
      savepoints.show(written);
    },
  };
}

function factsOf(view) {
  const last = view.epochs.findLast((epoch) => !epoch.failure);
  return [
    ["State", bytes(view.state_size)],
    ["Written by the last epoch", bytes(view.checkpoint_size)],
    ["Last checkpoint", last ? `epoch ${last.number} at ${clock(last.started + last.duration)}, in ${duration(last.duration)}` : "none yet"],
    ["Where", view.checkpoint_location ?? "nowhere that outlasts the driver: no checkpoint location is set"],
    ["How often", view.checkpoint_interval === null ? "as soon as the epoch before is over" : `every ${duration(view.checkpoint_interval)}`],
    ["Began from", view.restored_epoch === null ? "no checkpoint" : `epoch ${view.restored_epoch} in ${view.restored_from ?? "an unknown place"}`],
  ];
}
