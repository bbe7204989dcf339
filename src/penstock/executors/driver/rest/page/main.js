// Asks the driver once a second, and shows what it answers.

import * as client from "./client.js";
import { el, mark, put, say } from "./dom.js";
import { clock } from "./format.js";
import { job } from "./job/job.js";
import { jobs } from "./jobs.js";
import { hasEnded } from "./status.js";
import { askForToken } from "./steering.js";

const LEAST = 100;
const EVERY = Math.max(LEAST, Number(new URLSearchParams(location.search).get("every")) || 1000);

const main = document.getElementById("main");
const gone = document.getElementById("gone");
const pulse = document.getElementById("pulse");

let page = null;
let turn = new AbortController();
let goneSince = null;

/** What the address names: the list of jobs, or a job with a section and what of it is open. */
function route() {
  const [, first, id, section, detail] = location.hash.split("/");
  return first === "jobs" && id ? { id: decodeURIComponent(id), section, detail } : { id: null, isStart: first !== "jobs" };
}

/** The list of jobs; who comes without an address of a job, and where only one is or only one runs, is shown that. */
function listOfJobs() {
  const list = jobs();
  let isStart = false;
  return {
    id: null,
    node: list.node,
    go(where) { isStart = where.isStart; },
    async ask(signal) {
      const found = await client.jobs(signal);
      const running = found.filter((job) => !hasEnded({ status: job.state }));
      const only = [found, running].find((some) => some.length === 1);
      if (isStart && only) location.replace(`#/jobs/${encodeURIComponent(only[0].jid)}`);
      else list.show(found);
    },
    gone() {},
    hasEnded: () => false,
    title: () => "Jobs",
  };
}

function pageOf(id) {
  const shown = job(id);
  let name = id;
  let ended = false;
  return {
    id,
    node: shown.node,
    go: ({ section, detail }) => shown.go(section ?? "chains", detail),
    async ask(signal) {
      const view = await client.view(id, signal);
      name = view.name;
      ended = hasEnded(view);
      shown.show(view, false);
      const log = shown.log();
      if (log) log.add(await client.log(id, log.after(), signal));
    },
    gone: () => shown.show(null, true),
    hasEnded: () => ended,
    title: () => name,
  };
}

function go() {
  const where = route();
  if (!page || page.id !== where.id) {
    page = where.id === null ? listOfJobs() : pageOf(where.id);
    main.replaceChildren(page.node);
    scrollTo(0, 0);
  }
  page.go(where);
  turn.abort();
}

async function once(signal) {
  try {
    await page.ask(signal);
    if (!signal.aborted) answered();
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof client.Refused && error.status === 401) await askForToken(client.hasToken());
    else if (error instanceof client.Refused && error.status === 404) missing();
    else silent(error);
  }
}

function answered() {
  if (goneSince !== null) say("The driver is back.");
  goneSince = null;
  gone.hidden = true;
  mark(document.body, "class", null);
  put(pulse, "live");
  mark(pulse, "class", "pulse live");
  document.title = `${page.title()} · penstock`;
}

/** The driver does not answer: its last picture stays, without its colours if the job ran then. */
function silent(error) {
  goneSince ??= Date.now();
  if (page.hasEnded()) {
    ended();
    return;
  }
  put(pulse, "no answer");
  mark(pulse, "class", "pulse");
  mark(document.body, "class", "gone");
  mark(gone, "class", "gone-banner");
  gone.hidden = false;
  put(gone, error instanceof client.Refused
    ? `The driver answers with an error: ${error.message}`
    : `The driver has not answered since ${clock(goneSince)}. This is the last that was seen of it; the page goes on as soon as it answers.`);
  page.gone();
}

/** A program may end with its last job: that is no trouble. */
function ended() {
  put(pulse, "ended");
  mark(pulse, "class", "pulse");
  gone.hidden = false;
  mark(gone, "class", "gone-banner calm");
  put(gone, "The job has ended, and the program that ran it does not answer any more. This is the last that was seen of it.");
  page.gone();
}

function missing() {
  answered();
  mark(document.body, "class", "gone");
  gone.hidden = false;
  page.gone();
  if (!gone.querySelector("a")) {
    gone.replaceChildren("The driver knows no such job; it may have been started anew. ", el("a", { href: "#/jobs", text: "See the jobs that it has" }));
  }
}

/** Wait for the next turn; it comes at once if the address changes, and a hidden page waits until it is seen. */
function pause(signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => seen().then(resolve), EVERY);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}

function seen() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => { document.addEventListener("visibilitychange", resolve, { once: true }); });
}

addEventListener("hashchange", go);
go();
for (;;) {
  turn = new AbortController();
  const { signal } = turn;
  await once(signal);
  if (!signal.aborted) await pause(signal);
}
