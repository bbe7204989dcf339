// Where the boxes of a graph stand: in layers, each box behind all those that feed it, with few crossings.

const GAP = 28;
const BEND_GAP = 10;
const BETWEEN = { across: 104, down: 64 };
const BEND = 8;
const SWEEPS = 6;

/**
 * @param boxes `{id, width, height}`, in topological order.
 * @param edges `{id, from, to}`.
 * @param way how layers follow each other: `across` from left to right, `down`, or `column` for downwards with one box in each.
 * @returns `{places: Map(id -> {x, y}), routes: Map(id -> [{x, y}...]), width, height}`: the upper left corners of boxes, and
 *   the points that edges pass.
 */
export function layout(boxes, edges, way) {
  const down = way !== "across";
  const nodes = new Map(boxes.map((box) => [box.id, {
    id: box.id, along: down ? box.height : box.width, across: down ? box.width : box.height, before: [], after: [],
  }]));
  const known = edges.filter((edge) => nodes.has(edge.from) && nodes.has(edge.to) && edge.from !== edge.to);
  rank(nodes, known, way === "column");
  const bends = bendLongEdges(nodes, known);
  const layers = order(nodes);
  if (way === "column") for (const layer of layers) layer.sort((one, other) => other.along - one.along);
  const start = placeLayers(layers, down ? BETWEEN.down : BETWEEN.across);
  if (way !== "column") settle(layers);
  return picture(nodes, known, bends, start, down);
}

function rank(nodes, edges, isColumn) {
  [...nodes.values()].forEach((node, number) => { node.layer = isColumn ? number : 0; });
  for (const node of nodes.values()) {
    for (const edge of edges) {
      if (edge.from === node.id) {
        const next = nodes.get(edge.to);
        next.layer = Math.max(next.layer, node.layer + 1);
      }
    }
  }
}

/** Give an edge that passes layers a place in each of them, as if small boxes stood there. */
function bendLongEdges(nodes, edges) {
  const bends = new Map();
  for (const edge of edges) {
    const passed = [];
    let before = nodes.get(edge.from);
    const last = nodes.get(edge.to);
    for (let layer = before.layer + 1; layer < last.layer; layer += 1) {
      const bend = { id: `${edge.id}@${layer}`, layer, along: 0, across: BEND, before: [], after: [] };
      nodes.set(bend.id, bend);
      connect(before, bend);
      passed.push(bend);
      before = bend;
    }
    connect(before, last);
    bends.set(edge.id, passed);
  }
  return bends;
}

function connect(one, other) {
  one.after.push(other);
  other.before.push(one);
}

/** Order each layer by the middle of what its boxes are connected with, to and fro. */
function order(nodes) {
  const layers = [];
  for (const node of nodes.values()) (layers[node.layer] ??= []).push(node);
  const number = () => layers.forEach((layer) => layer.forEach((node, place) => { node.place = place; }));
  number();
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const forth = sweep % 2 === 0;
    for (const layer of forth ? layers : [...layers].reverse()) {
      const wanted = new Map(layer.map((node) => [node, mean((forth ? node.before : node.after).map((other) => other.place), node.place)]));
      layer.sort((one, other) => wanted.get(one) - wanted.get(other));
      number();
    }
  }
  return layers;
}

function gap(node) {
  return node.along ? GAP : BEND_GAP;
}

function mean(numbers, otherwise) {
  return numbers.length ? numbers.reduce((sum, each) => sum + each, 0) / numbers.length : otherwise;
}

function placeLayers(layers, between) {
  const start = [];
  let at = 0;
  for (const [number, layer] of layers.entries()) {
    start[number] = at;
    at += Math.max(...layer.map((node) => node.along)) + between;
    let across = 0;
    for (const node of layer) {
      node.at = across;
      across += node.across + gap(node);
    }
  }
  return start;
}

/** Draw boxes towards the middle of what they are connected with, as far as their neighbours let them. */
function settle(layers) {
  const middle = (node) => node.at + node.across / 2;
  for (let sweep = 0; sweep < SWEEPS * 2; sweep += 1) {
    const forth = sweep % 2 === 0;
    for (const layer of forth ? layers : [...layers].reverse()) {
      const wanted = layer.map((node) => mean((forth ? node.before : node.after).map(middle), middle(node)) - node.across / 2);
      spread(layer, wanted);
    }
  }
}

/** Place the boxes of a layer as near to where they want to be as their order and sizes allow. */
function spread(layer, wanted) {
  const groups = [];
  let offset = 0;
  layer.forEach((node, number) => {
    let group = { first: number, offset, sum: wanted[number] - offset, size: 1 };
    while (groups.length && groups.at(-1).sum / groups.at(-1).size > group.sum / group.size) {
      const before = groups.pop();
      group = { first: before.first, sum: before.sum + group.sum, size: before.size + group.size };
    }
    groups.push(group);
    offset += node.across + gap(node);
  });
  offset = 0;
  let current = -1;
  layer.forEach((node, number) => {
    if (groups[current + 1]?.first === number) current += 1;
    node.at = groups[current].sum / groups[current].size + offset;
    offset += node.across + gap(node);
  });
}

function picture(nodes, edges, bends, start, down) {
  const all = [...nodes.values()];
  const least = Math.min(...all.map((node) => node.at), 0);
  const point = (along, across) => (down ? { x: across - least, y: along } : { x: along, y: across - least });
  const places = new Map(all.map((node) => [node.id, point(start[node.layer], node.at)]));
  const ends = start.map((along, layer) => along + Math.max(...all.map((node) => (node.layer === layer ? node.along : 0))));
  const routes = new Map();
  for (const edge of edges) {
    const from = nodes.get(edge.from);
    const to = nodes.get(edge.to);
    routes.set(edge.id, [
      point(start[from.layer] + from.along, from.at + from.across / 2),
      ...bends.get(edge.id).flatMap((bend) => [start[bend.layer], ends[bend.layer]].map((along) => point(along, bend.at + bend.across / 2))),
      point(start[to.layer], to.at + to.across / 2),
    ]);
  }
  const along = Math.max(0, ...all.map((node) => start[node.layer] + node.along));
  const across = Math.max(0, ...all.map((node) => node.at - least + node.across));
  return { places, routes, width: down ? across : along, height: down ? along : across };
}

/** The path through points, along the direction of the layers at each of them. */
export function curve(points, down) {
  let path = `M${points[0].x},${points[0].y}`;
  for (let next = 1; next < points.length; next += 1) {
    const a = points[next - 1];
    const b = points[next];
    path += down
      ? ` C${a.x},${(a.y + b.y) / 2} ${b.x},${(a.y + b.y) / 2} ${b.x},${b.y}`
      : ` C${(a.x + b.x) / 2},${a.y} ${(a.x + b.x) / 2},${b.y} ${b.x},${b.y}`;
  }
  return path;
}
