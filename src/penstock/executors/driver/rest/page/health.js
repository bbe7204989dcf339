// What a job does, how far it is behind, and why: in sentences.

import { bytes, count, duration, isEnd, isTime, lag, list, percent, plural, rate, watermark } from "./format.js";

const BUSY = 0.8;
const WAITS = 0.3;
const BEHIND = 10_000;
const RECENT = 20;

const ENDED = new Set(["FINISHED", "FAILED", "CANCELED", "SUSPENDED"]);

export function hasEnded(view) {
  return ENDED.has(view.status);
}

/** How serious a status is: `good`, `busy`, `warn`, `bad` or `calm`. */
export function tone(status) {
  return { RUNNING: "good", FINISHED: "calm", CANCELED: "calm", FAILED: "bad", FAILING: "bad", RESTARTING: "warn", CANCELLING: "warn" }[status] ?? "busy";
}

/** @returns `{tone, text}` of each sentence, the most important first. */
export function explain(view) {
  if (hasEnded(view)) return [ending(view), ...losses(view)];
  const waits = [...failing(view), ...heldBack(view), ...bottleneck(view), ...slowEpochs(view)];
  const behind = distance(view, waits.length > 0);
  return [{ tone: tone(view.status), text: doing(view) }, ...behind, ...waits, ...losses(view), ...unprotected(view)];
}

function ending(view) {
  const how = { FINISHED: "Finished", FAILED: "Failed", CANCELED: "Cancelled", SUSPENDED: "Suspended" }[view.status];
  const took = view.ended === null ? "" : ` after ${duration(view.ended - view.started)}`;
  const [last] = view.exceptions;
  const why = view.status === "FAILED" && last ? ` with ${last.name}: ${firstLine(last.message)}` : "";
  return {
    tone: view.status === "FAILED" ? "bad" : "calm",
    text: `${how}${took}${why}. It read ${plural(view.records_in, "record")} in ${plural(view.epochs_completed, "epoch")}.`,
  };
}

export function firstLine(text) {
  return text.split("\n", 1)[0].replace(/[.\s]+$/, "");
}

export function sourceName(vertex) {
  return vertex.operators[0].name.replace(/^Source: /, "");
}

function doing(view) {
  if (view.status === "RUNNING" && view.records_in > 0) {
    const sources = view.vertices.filter((vertex) => vertex.inputs.length === 0).map(sourceName);
    const operators = view.vertices.reduce((sum, vertex) => sum + vertex.operators.length, 0);
    return `Reads ${rate(view.records_per_second)} records/s from ${list(sources)}, through ${plural(operators, "operator")} in ` +
      `${plural(view.vertices.length, "chain")}, in up to ${plural(view.parallelism, "subtask")}.`;
  }
  if (view.status === "RUNNING") return `Runs and has read no record yet (${view.phase}).`;
  const words = { CREATED: "Starts", RESTARTING: "Restarts", FAILING: "Fails", CANCELLING: "Is being cancelled" };
  return `${words[view.status] ?? view.status}: ${view.phase}.`;
}

function distance(view, isExplained) {
  if (isEnd(view.watermark)) return [{ tone: "calm", text: "Event time has come to the end of the input." }];
  if (!isTime(view.watermark)) return [];
  const here = watermark(view.watermark, view.at);
  const behind = lag(view.watermark, view.at);
  if (view.is_bounded) return [{ tone: "calm", text: `Event time has come to ${here}; the input ends, so the clock does not matter to it.` }];
  const text = `Event time has come to ${here}, ${behind} behind the clock`;
  if (view.at - view.watermark < BEHIND) return [{ tone: "good", text: `${text}.` }];
  const why = isExplained ? "." : ". No chain is at its limit and no source holds it back: the records are that old when they arrive.";
  return [{ tone: "warn", text: text + why }];
}

function failing(view) {
  const last = view.epochs.at(-1);
  const [cause] = view.exceptions;
  if (!last?.failure || !cause) return [];
  const where = cause.operator ? ` in ${cause.operator}` : "";
  const again = cause.times > 1 ? `, ${count(cause.times)} times in a row` : "";
  return [{ tone: "bad", text: `Epoch ${last.number} failed${where}${again}: ${cause.name}: ${firstLine(cause.message)}.` }];
}

function heldBack(view) {
  if (view.holding_back.length === 0) return [];
  const names = list(view.holding_back);
  const verb = view.holding_back.length === 1 ? "holds" : "hold";
  return [{
    tone: "warn",
    text: `${names} ${verb} the watermark back, so windows and event-time timers wait. A source without records needs an idleness timeout (with_idleness).`,
  }];
}

/** The chain that others wait for. */
export function bottleneck(view) {
  const waiting = view.vertices.filter((vertex) => vertex.times.back_pressured >= WAITS);
  const slowest = view.vertices.reduce((most, vertex) => (vertex.times.busy > (most?.times.busy ?? BUSY) ? vertex : most), null);
  if (!slowest) return [];
  const others = waiting.filter((vertex) => vertex !== slowest).length;
  const wait = others ? `, and ${plural(others, "other chain")} ${others === 1 ? "waits" : "wait"} for it` : "";
  return [{ tone: "warn", text: `${slowest.name} is at its limit: busy ${percent(slowest.times.busy)} of the time${wait}.`, vertex: slowest.vertex_id }];
}

/** Where the time of epochs goes, if it is not into running them. */
function slowEpochs(view) {
  const recent = view.epochs.filter((epoch) => !epoch.failure).slice(-RECENT);
  if (recent.length === 0) return [];
  const mean = (part) => recent.reduce((sum, epoch) => sum + (epoch[part] ?? 0), 0) / recent.length;
  const whole = mean("duration") + mean("publishing");
  if (whole < 1000) return [];
  for (const part of ["planning", "committing", "publishing"]) {
    if (mean(part) > whole / 2) {
      return [{ tone: "warn", text: `${percent(mean(part) / whole)} of an epoch's ${duration(whole)} goes into ${part}, not into records.` }];
    }
  }
  return [];
}

function losses(view) {
  const found = [];
  if (view.late_records) found.push(`${plural(view.late_records, "record")} dropped as late`);
  if (view.failed_records) found.push(`${plural(view.failed_records, "record")} failed and passed over`);
  return found.length ? [{ tone: "warn", text: `Lost so far: ${found.join(", ")}.`, section: "records" }] : [];
}

function unprotected(view) {
  if (view.checkpoint_location !== null || view.is_bounded || view.status !== "RUNNING") return [];
  return [{ tone: "warn", text: `No checkpoint location is set: its ${bytes(view.state_size)} of state end with the driver.` }];
}
