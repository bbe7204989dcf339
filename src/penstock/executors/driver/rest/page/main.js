// Asks the driver once a second, and shows what it answers.

import * as client from "./client.js";
import { el, mark, put, say } from "./dom.js";
import { clock } from "./format.js";
import { job } from "./job.js";
import { jobs } from "./jobs.js";
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
  return first === "jobs" && id ? { id: decodeURIComponent(id), section, detail } : { id: null };
}

function listOfJobs() {
  const list = jobs();
  return { id: null, node: list.node, go() {}, async ask(signal) { list.show(await client.jobs(signal)); }, gone() {}, title: () => "Jobs" };
}

function pageOf(id) {
  const shown = job(id);
  let name = id;
  return {
    id,
    node: shown.node,
    go: ({ section, detail }) => shown.go(section ?? "chains", detail),
    async ask(signal) {
      const view = await client.view(id, signal);
      name = view.name;
      shown.show(view, false);
      const log = shown.log();
      if (log) log.add(await client.log(id, log.after(), signal));
    },
    gone: () => shown.show(null, true),
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

/** The driver does not answer: its last picture stays, without its colours. */
function silent(error) {
  goneSince ??= Date.now();
  put(pulse, "no answer");
  mark(pulse, "class", "pulse");
  mark(document.body, "class", "gone");
  gone.hidden = false;
  put(gone, error instanceof client.Refused
    ? `The driver answers with an error: ${error.message}`
    : `The driver has not answered since ${clock(goneSince)}. This is the last that was seen of it; the page goes on as soon as it answers.`);
  page.gone();
}

function missing() {
  answered();
  mark(document.body, "class", "gone");
  gone.hidden = false;
  page.gone();
  if (!gone.querySelector("a")) {
    gone.replaceChildren("The driver knows no such job; it may have been started anew. ", el("a", { href: "#/", text: "See the jobs that it has" }));
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
