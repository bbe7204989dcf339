// The chains of a job as a picture that moves.

import { bar, el, keep, mark, put, svg, vary } from "../dom.js";
import { brief, lag, percent, plural, rate } from "../format.js";
import { curve, layout } from "./layout.js";

const MOST_OPERATORS = 12;
/** Where more edges are, words on them would lie on each other. */
const MOST_WORDS = 24;
const LEAST_SCALE = 0.72;
const PADDING = 12;
const DASH = 18;
/** By how much more a subtask is busy than the mean if that is worth a word. */
const UNEVEN = 0.15;
/** An edge that goes less to the side than this lies behind words above it. */
const STRAIGHT = 40;

export const still = matchMedia("(prefers-reduced-motion: reduce)");

/** @param open is called with the chain whose box was clicked. */
export function picture(open) {
  const flows = svg("g");
  const lines = svg("svg", { class: "edges", "aria-hidden": "true" },
    svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: "7", refY: "4", markerWidth: "8", markerHeight: "8",
      markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z" }))), flows);
  const boxes = el("div", { class: "boxes", role: "list" });
  const canvas = el("div", { class: "canvas" }, lines, boxes);
  const paper = el("div", { class: "paper" }, canvas);
  const node = el("div", { class: "picture scroll", role: "region", "aria-label": "The chains of the job", tabindex: "0" }, paper);
  const state = { key: "", drawn: null, edges: [], view: null };
  const redraw = () => { if (state.view && node.clientWidth) draw(state, { node, paper, canvas, lines, flows, boxes }, open); };
  new ResizeObserver(redraw).observe(node);
  return {
    node,
    show(view, selected) {
      state.view = view;
      state.selected = selected;
      redraw();
    },
  };
}

function draw(state, parts, open) {
  const { vertices } = state.view;
  const byId = new Map(vertices.map((vertex) => [vertex.vertex_id, vertex]));
  state.edges = vertices.flatMap((vertex) => vertex.inputs.filter((input) => byId.has(input.vertex_id)).map((input, number) => ({
    id: `${vertex.vertex_id}/${number}`, from: input.vertex_id, to: vertex.vertex_id, how: input.ship_strategy,
    rate: edgeRate(byId.get(input.vertex_id), vertex),
  })));
  keep(parts.boxes, vertices, (vertex) => vertex.vertex_id + vertex.operators.length, (vertex) => makeBox(vertex, open),
    (box, vertex) => showBox(box, vertex, state));
  const shape = vertices.map((vertex) => [vertex.vertex_id, vertex.operators.length, vertex.inputs.map((input) => input.vertex_id)]);
  const key = JSON.stringify([shape, parts.node.clientWidth]);
  if (key !== state.key) place(state, parts);
  state.key = key;
  showEdges(state, parts.flows);
}

/** What flows along an edge: no more than its sender emits, nor than its receiver gets. */
function edgeRate(from, to) {
  const most = from.times.records_out_per_second;
  return to.inputs.length === 1 ? Math.min(most || Infinity, to.times.records_in_per_second) : most;
}

function place(state, parts) {
  const sizes = [...parts.boxes.children].map((box) => ({ id: box.dataset.vertex, width: box.offsetWidth, height: box.offsetHeight }));
  const room = parts.node.clientWidth - 2 * PADDING;
  const { found, down, way } = fitting(sizes, state.edges, room);
  const scale = Math.max(LEAST_SCALE, Math.min(1, room / found.width));
  for (const box of parts.boxes.children) {
    const { x, y } = found.places.get(box.dataset.vertex);
    vary(box, "--x", `${x}px`);
    vary(box, "--y", `${y}px`);
  }
  const sent = new Map();
  for (const edge of state.edges) sent.set(edge.from, (sent.get(edge.from) ?? 0) + 1);
  state.routes = new Map(state.edges.filter((edge) => found.routes.has(edge.id)).map((edge) => {
    const points = found.routes.get(edge.id);
    return [edge.id, { path: curve(points, down), words: words(points, down, way === "column" && sent.get(edge.from) === 1) }];
  }));
  mark(parts.lines, "width", found.width);
  mark(parts.lines, "height", found.height);
  vary(parts.canvas, "--scale", String(scale));
  vary(parts.paper, "--width", `${found.width * scale}px`);
  vary(parts.paper, "--height", `${found.height * scale}px`);
}

/** The first way to lay the chains out that fits, else the narrowest. */
function fitting(sizes, edges, room) {
  let best = null;
  for (const way of ["across", "down", "column"]) {
    const found = layout(sizes, edges, way);
    if (!best || found.width < best.found.width) best = { found, way, down: way !== "across" };
    if (found.width * LEAST_SCALE <= room) break;
  }
  return best;
}

/**
 * Where the words of an edge stand: before the box that it leads to, or behind that which it comes from; beside the edge
 * where it goes straight down, else above it.
 */
function words(points, down, isBehind) {
  const [a, b] = isBehind ? points : points.slice(-2);
  const [x, y] = [(a.x + b.x) / 2, (a.y + b.y) / 2];
  return down && Math.abs(a.x - b.x) < STRAIGHT ? { x: x + 10, y: y + 4, anchor: "start" } : { x, y: y - 8, anchor: "middle" };
}

function makeBox(vertex, open) {
  const shown = vertex.operators.length > MOST_OPERATORS ? vertex.operators.slice(0, MOST_OPERATORS - 1) : vertex.operators;
  const more = vertex.operators.length - shown.length;
  const rows = shown.map((operator) => el("span", { class: "operator" },
    el("span", { class: "load" }), el("span", { class: "name", text: operator.name, title: operator.name }),
    el("span", { class: "rate" }), el("span", { class: "lag" }), el("span", { class: "time" })));
  const captions = el("span", { class: "operator captions" }, el("span", { class: "name", text: "Operator" }), el("span", { class: "rate", text: "records/s" }),
    el("span", { class: "lag", text: "lag" }), el("span", { class: "time", text: "of busy" }));
  const times = bar();
  const box = el("button", { class: "box", onclick: () => open(vertex.vertex_id) },
    el("span", { class: "operators" }, captions, ...rows, more ? el("span", { class: "operator more", text: `and ${more} more` }) : null),
    times.node, el("span", { class: "foot" }, el("span", { class: "share" }), el("span", { class: "width" })));
  const item = el("div", { class: "place", role: "listitem", "data-vertex": vertex.vertex_id }, box);
  item.parts = { box, rows, times, share: box.querySelector(".share"), width: box.querySelector(".width") };
  return item;
}

function showBox(item, vertex, state) {
  const { box, rows, times, share, width } = item.parts;
  const { at } = state.view;
  rows.forEach((row, number) => {
    const operator = vertex.operators[number];
    const [load, , perSecond, behind, time] = row.children;
    vary(load, "--share", String(Math.round((operator.busy ?? 0) * 100) / 100));
    put(perSecond, brief(operator.records_per_second));
    put(time, operator.busy === null ? "" : percent(operator.busy));
    put(behind, lag(operator.figures.output_watermark, at));
    mark(row, "title", describe(operator, at));
  });
  const { busy, back_pressured: waits, idle } = vertex.times;
  times.show([["busy", busy], ["waits", waits], ["idle", idle]], shares(vertex.times));
  put(share, shares(vertex.times) + uneven(vertex));
  mark(box, "data-times", vertex.operators.some((operator) => operator.busy !== null) ? "known" : null);
  put(width, `×${vertex.parallelism}`);
  mark(box, "aria-pressed", String(state.selected === vertex.vertex_id));
  mark(box, "aria-label", `Chain ${vertex.name}, ${plural(vertex.parallelism, "subtask")}, ${rate(vertex.times.records_in_per_second)} records per second in, ` +
    `busy ${percent(busy)}, back-pressured ${percent(waits)}, watermark lag ${lag(vertex.watermark, at)}`);
  mark(item, "data-load", busiest(vertex).busy > 0.8 ? "full" : waits > 0.3 ? "waits" : "easy");
}

export function shares({ busy, back_pressured: waits }) {
  return `busy ${percent(busy)}${waits >= 0.005 ? ` · back-pressured ${percent(waits)}` : ""}`;
}

/** What the busiest subtask of a chain does. */
function busiest(vertex) {
  return vertex.subtasks.reduce((most, subtask) => (subtask.times.busy > most.busy ? { busy: subtask.times.busy, number: subtask.index + 1 } : most),
    { busy: vertex.times.busy, number: 0 });
}

/** Tells of a subtask that has far more to do than the others. */
function uneven(vertex) {
  const { busy, number } = busiest(vertex);
  return busy - vertex.times.busy > UNEVEN ? ` · subtask ${number} busy ${percent(busy)}` : "";
}

function describe(operator, at) {
  const share = operator.busy === null ? "" : `, ${percent(operator.busy)} of the chain's time`;
  return `${operator.name}: ${rate(operator.records_per_second)} records/s, watermark lag ${lag(operator.figures.output_watermark, at)}${share}`;
}

function showEdges(state, flows) {
  keep(flows, state.edges, (edge) => edge.id, makeEdge, (group, edge) => {
    const route = state.routes.get(edge.id);
    if (!route) return;
    const [pipe, flow, label] = group.children;
    mark(pipe, "d", route.path);
    mark(flow, "d", route.path);
    mark(label, "x", route.words.x);
    mark(label, "y", route.words.y);
    mark(label, "text-anchor", route.words.anchor);
    put(label, state.edges.length > MOST_WORDS ? "" : `${edge.how.toLowerCase()} ${brief(edge.rate)}/s`);
    vary(group, "--thick", (1.5 + Math.min(5, Math.log10(1 + edge.rate))).toFixed(1));
    move(flow, edge.rate);
  });
}

function makeEdge() {
  return svg("g", { class: "edge" }, svg("path", { class: "pipe" }), svg("path", { class: "flow", "marker-end": "url(#tip)" }),
    svg("text", { class: "how" }));
}

/** Let the dashes of an edge run, the faster the more there is of them; at rest, and for whom motion is too much, they stand. */
function move(flow, perSecond) {
  const runs = perSecond > 0 && !still.matches;
  mark(flow, "data-runs", runs ? "yes" : "no");
  if (runs && !flow.running) {
    flow.running = flow.animate([{ strokeDashoffset: DASH }, { strokeDashoffset: 0 }], { duration: 1000, iterations: Infinity });
  } else if (!runs && flow.running) {
    flow.running.cancel();
    flow.running = null;
  }
  if (runs) {
    const speed = 0.5 + Math.log10(1 + perSecond) / 2;
    if (Math.abs(flow.running.playbackRate - speed) > 0.05) flow.running.updatePlaybackRate(speed);
  }
}
