// Epochs as a timeline, by where their time went.

import { barCell, el, keep, mark, put, vary } from "../dom.js";
import { NONE, bytes, clock, count, duration, plural } from "../format.js";
import { table } from "../table.js";

const PARTS = ["planning", "running", "committing", "other", "publishing"];
const KINDS = { all: "All epochs", failed: "Those that failed", saved: "Those with a savepoint" };
const MOST_COLUMNS = 100;
const MEANING = {
  planning: "what is read is planned", running: "tasks run", committing: "metadata is written",
  publishing: "sinks publish", other: "the rest",
};

/** Where an epoch's time went. It is published once it is committed, which is when its duration ends. */
export function times(epoch) {
  const publishing = epoch.publishing ?? 0;
  const known = epoch.planning + epoch.running + epoch.committing;
  return { planning: epoch.planning, running: epoch.running, committing: epoch.committing, other: Math.max(0, epoch.duration - known), publishing };
}

function whole(epoch) {
  return Object.values(times(epoch)).reduce((sum, each) => sum + each, 0);
}

function words(epoch, isSaved) {
  const parts = Object.entries(times(epoch)).filter(([, ms]) => ms > 0).map(([name, ms]) => `${name} ${duration(ms)}`);
  const kind = epoch.failure ? ` failed: ${epoch.failure}` : isSaved ? " (savepoint)" : "";
  return `Epoch ${epoch.number}${kind}: ${duration(whole(epoch))}${parts.length ? ` – ${parts.join(", ")}` : ""}`;
}

export function epochs() {
  const summary = el("p", { class: "soft" });
  const columns = el("div", { class: "columns", role: "img" });
  const most = el("span", { class: "most soft" });
  const legend = el("ul", { class: "legend" }, ...PARTS.map((part) =>
    el("li", {}, el("span", { class: `key ${part}` }), el("span", { text: part, title: MEANING[part] }))),
  el("li", {}, el("span", { class: "key failed" }), el("span", { text: "failed" })),
  el("li", {}, el("span", { class: "key savepoint" }), el("span", { text: "savepoint" })));
  const filter = el("select", { name: "kind", "aria-label": "Which epochs are listed" },
    ...Object.entries(KINDS).map(([value, text]) => el("option", { value, text })));
  const none = el("p", { class: "empty", text: "None of the last ones." });
  let saved = new Set();
  let last = null;
  const rows = table("Epochs, the last first", [
    { head: "Epoch", kind: "number", text: (row) => String(row.number) },
    { head: "Began", kind: "number", text: (row) => clock(row.started) },
    { head: "Took", kind: "number", text: (row) => duration(whole(row)) },
    { head: "Where its time went", kind: "times", make: barCell, show: (node, row) => node.shown.show(shares(row), words(row)) },
    { head: "Records", kind: "number", text: (row) => (row.failure ? NONE : count(row.records_in)) },
    { head: "State", kind: "number", text: (row) => (row.failure ? NONE : bytes(row.state_size)) },
    { head: "Changed", kind: "number", text: (row) => (row.failure ? NONE : bytes(row.changed_size)) },
    { head: "Kind", kind: "kind", make: () => el("span"), show: (node, row) => showKind(node, row, saved.has(row.number)) },
  ], keyOf, "tall");
  const node = el("section", { class: "panel", "aria-label": "Epochs" }, el("h2", { text: "Epochs" }), summary,
    el("div", { class: "timeline" }, most, columns), legend, el("div", { class: "filters" }, filter), none, rows.node);
  const list = () => {
    const wanted = { failed: (epoch) => epoch.failure, saved: (epoch) => saved.has(epoch.number) }[filter.value] ?? (() => true);
    const found = last.epochs.filter(wanted).reverse();
    none.hidden = found.length > 0;
    rows.node.hidden = found.length === 0;
    rows.show(found);
  };
  filter.addEventListener("change", list);
  return {
    node,
    show(view) {
      last = view;
      saved = new Set(view.savepoints.map((savepoint) => savepoint.epoch));
      const shown = view.epochs.slice(-MOST_COLUMNS);
      const longest = Math.max(1, ...shown.map(whole));
      put(summary, view.epochs.length ? summaryOf(view) : `No epoch has ended yet (${view.phase}).`);
      put(most, view.epochs.length ? duration(longest) : "");
      mark(columns, "aria-label", `The last ${plural(shown.length, "epoch")}, the longest of which took ${duration(longest)}`);
      keep(columns, shown, keyOf, makeColumn, (column, epoch) => showColumn(column, epoch, longest, saved.has(epoch.number)));
      list();
    },
  };
}

const keyOf = (epoch) => `${epoch.number}/${epoch.started}`;

function summaryOf(view) {
  const done = view.epochs.filter((epoch) => !epoch.failure);
  const sums = Object.fromEntries(PARTS.map((part) => [part, done.reduce((sum, epoch) => sum + times(epoch)[part], 0)]));
  const [part, ms] = Object.entries(sums).sort((one, other) => other[1] - one[1])[0];
  const all = Object.values(sums).reduce((sum, each) => sum + each, 0);
  const interval = view.checkpoint_interval === null ? "as soon as the one before is over" : `every ${duration(view.checkpoint_interval)}`;
  const share = all ? ` Of the time of the last ${count(done.length)}, ${Math.round(ms / all * 100)}% went into ${part} (${MEANING[part]}).` : "";
  return `${plural(view.epochs_completed, "epoch")} committed, ${count(view.epochs_failed)} failed; one begins ${interval}.${share}`;
}

function makeColumn() {
  return el("span", { class: "column" }, ...PARTS.map((part) => el("span", { class: `part ${part}` })));
}

function showColumn(column, epoch, longest, isSaved) {
  const parts = times(epoch);
  PARTS.forEach((part, number) => vary(column.children[number], "--share", (parts[part] / longest).toFixed(4)));
  mark(column, "class", `column${epoch.failure ? " failed" : ""}${isSaved ? " savepoint" : ""}`);
  mark(column, "title", words(epoch, isSaved));
}

function shares(epoch) {
  const all = whole(epoch) || 1;
  return Object.entries(times(epoch)).map(([name, ms]) => [name, ms / all]);
}

function showKind(node, epoch, isSaved) {
  put(node, epoch.failure ? `failed: ${epoch.failure}` : isSaved ? "savepoint" : epoch.location ? "checkpoint" : "epoch");
  mark(node, "class", epoch.failure ? "bad" : isSaved ? "good" : "");
  mark(node, "title", epoch.location);
}
