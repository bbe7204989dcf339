// The head of a job's page: what it does, how far it is behind and why, and its figures.

import { el, keep, mark, put, say, svg } from "../dom.js";
import { bytes, count, duration, isEnd, isTime, lag, list, rate, watermark } from "../format.js";
import { hasEnded, tone } from "../status.js";
import { steering } from "../steering.js";

const HISTORY = 120;

export function header(jobId) {
  const name = el("h1");
  const status = el("span", { class: "status" });
  const phase = el("span", { class: "phase" });
  const steer = steering(jobId);
  const sentences = el("ul", { class: "sentences", "aria-label": "What it does, how far it is behind, and why" });
  const figures = el("dl", { class: "tiles" });
  const history = sparkline();
  let heard = "";
  const node = el("section", { class: "head-of-job", "aria-label": "The job" },
    el("div", { class: "title" }, el("div", {}, name, el("p", { class: "states" }, status, phase)), steer.node), sentences, figures);
  return {
    node,
    show(view, isGone) {
      put(name, view.name);
      put(status, view.status);
      mark(status, "class", `status ${tone(view.status)}`);
      put(phase, `${view.phase === view.status.toLowerCase() ? "" : `${view.phase} · `}${since(view)}`);
      steer.show(view, isGone);
      showSentences(sentences, view.explanation, jobId);
      history.add(view.at, view.records_per_second);
      keep(figures, tiles(view), (tile) => tile.name, (tile) => makeTile(tile, history), showTile);
      if (heard !== view.status) say(`${view.name}: ${view.status}`);
      heard = view.status;
    },
  };
}

function since(view) {
  return hasEnded(view) ? `ran ${duration((view.ended ?? view.at) - view.started)}` : `up ${duration(view.at - view.started)}`;
}

function showSentences(list, sentences, jobId) {
  keep(list, sentences.map((sentence, number) => ({ ...sentence, number })), (each) => each.number, () => el("li", {}, el("span"), el("a")), (line, each) => {
    mark(line, "class", each.tone);
    put(line.firstChild, each.text);
    const where = each.vertex_id ? `chains/${each.vertex_id}` : each.section;
    line.lastChild.hidden = !where;
    put(line.lastChild, where ? "Look at it" : "");
    mark(line.lastChild, "href", where ? `#/jobs/${jobId}/${where}` : null);
  });
}

function tiles(view) {
  const last = view.epochs.findLast((epoch) => !epoch.failure);
  const hasTime = isTime(view.watermark);
  return [
    { name: "Records/s", value: rate(view.records_per_second), more: `${count(view.records_in)} in all` },
    { name: "Watermark lag", value: hasTime ? lag(view.watermark, view.at) : isEnd(view.watermark) ? "0 ms" : "–",
      more: isTime(view.watermark) || isEnd(view.watermark) ? `watermark ${watermark(view.watermark, view.at)}` : noWatermark(view), tone: view.holding_back.length ? "warn" : "" },
    { name: "State", value: bytes(view.state_size), more: `${bytes(view.checkpoint_size)} in the last epoch` },
    { name: "Last epoch took", value: last ? duration(last.duration) : "–", more: last ? `number ${count(last.number)}, ${duration(Math.max(0, view.at - last.started - last.duration))} ago` : "none yet" },
    { name: "Epochs committed", value: count(view.epochs_completed), more: failures(view), tone: view.epochs_failed ? "warn" : "" },
    { name: "Restarts", value: count(view.restarts), more: view.restored_epoch === null ? "began without a checkpoint" : `began from epoch ${view.restored_epoch}`, tone: view.restarts ? "warn" : "" },
    { name: "Late", value: count(view.late_records), more: "dropped", tone: view.late_records ? "warn" : "" },
    { name: "Failed", value: count(view.failed_records), more: view.filtered_records ? `passed over; ${count(view.filtered_records)} filtered out` : "passed over", tone: view.failed_records ? "bad" : "" },
  ];
}

function noWatermark(view) {
  const names = view.holding_back.map((name) => name.replace(/^Source: /, ""));
  return names.length ? `none yet: ${list(names)} ${names.length === 1 ? "has" : "have"} sent none` : "none yet";
}

function failures(view) {
  const last = view.epochs.findLast((epoch) => epoch.failure);
  if (!view.epochs_failed) return "none failed";
  return `${count(view.epochs_failed)} more failed${last ? `, the last one ${count(last.number)}` : ""}`;
}

function makeTile(tile, history) {
  return el("div", {}, el("dt", { text: tile.name }), el("dd", {}, el("span", { class: "value" }), el("span", { class: "more" })),
    tile.name === "Records/s" ? history.node : null);
}

function showTile(node, tile) {
  const [value, more] = node.children[1].children;
  mark(node, "class", tile.tone ? `tile ${tile.tone}` : "tile");
  put(value, tile.value);
  put(more, tile.more);
}

/** The last two minutes of a figure, as far as this page has seen them. */
function sparkline() {
  const seen = [];
  const line = svg("polyline", { points: "" });
  const node = svg("svg", { class: "spark", viewBox: "0 0 120 24", preserveAspectRatio: "none", "aria-hidden": "true" }, line);
  return {
    node,
    add(at, value) {
      if (seen.at(-1)?.at === at) return;
      seen.push({ at, value });
      if (seen.length > HISTORY) seen.shift();
      const most = Math.max(...seen.map((each) => each.value), 1);
      const first = Math.max(seen[0].at, at - 120_000);
      const width = Math.max(at - first, 1000);
      mark(line, "points", seen.map((each) => `${((each.at - first) / width * 120).toFixed(1)},${(23 - each.value / most * 21).toFixed(1)}`).join(" "));
    },
  };
}

