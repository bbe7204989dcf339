// The jobs of this driver.

import { el, keep, mark, put } from "./dom.js";
import { clock, duration, plural } from "./format.js";
import { tone } from "./status.js";

export function jobs() {
  const none = el("p", { class: "empty", text: "This driver runs no job yet. What it starts appears here." });
  const found = el("ul", { class: "jobs" });
  const node = el("section", { class: "panel bare", "aria-label": "Jobs" }, el("h1", { text: "Jobs" }), none, found);
  return {
    node,
    show(all) {
      none.hidden = all.length > 0;
      const sorted = [...all].sort((one, other) => other["start-time"] - one["start-time"]);
      keep(found, sorted, (job) => job.jid, makeJob, showJob);
    },
  };
}

function makeJob(job) {
  return el("li", {}, el("a", { href: `#/jobs/${encodeURIComponent(job.jid)}` }, el("strong"), el("span", { class: "status" }), el("span", { class: "soft" })));
}

function showJob(line, job) {
  const [name, status, facts] = line.firstChild.children;
  put(name, job.name);
  put(status, job.state);
  mark(status, "class", `status ${tone(job.state)}`);
  const tasks = job.tasks?.total ? ` · ${plural(job.tasks.total, "subtask")}` : "";
  put(facts, `since ${clock(job["start-time"])} · ${duration(job.duration)}${tasks}`);
}
