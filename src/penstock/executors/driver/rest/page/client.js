// What the page asks the driver. Addresses are relative, so that it works behind a proxy too.

const TOKEN = "penstock.token";
const PATIENCE = 5_000;

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The driver did not answer. */
export class Gone extends Error {}

export function keepToken(token) {
  sessionStorage.setItem(TOKEN, token);
}

export function hasToken() {
  return sessionStorage.getItem(TOKEN) !== null;
}

async function ask(path, { method = "GET", body, signal } = {}) {
  const headers = { Accept: "application/json" };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const ends = [AbortSignal.timeout(PATIENCE), ...(signal ? [signal] : [])];
  let answer;
  let text;
  try {
    answer = await fetch(new URL(path, document.baseURI), {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-cache", signal: AbortSignal.any(ends),
    });
    text = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Gone(error.message);
  }
  if (!answer.ok) throw new Refused(answer.status, reason(text) || answer.statusText || `HTTP ${answer.status}`);
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    throw new Gone("what answers there is no penstock driver");
  }
}

function reason(text) {
  try {
    return (JSON.parse(text).errors ?? []).join("\n");
  } catch {
    return "";
  }
}

const of = (job) => `jobs/${encodeURIComponent(job)}`;

export const jobs = (signal) => ask("jobs/overview", { signal }).then((found) => found.jobs);
export const view = (job, signal) => ask(`${of(job)}/view`, { signal });
export const log = (job, after, signal) => ask(`${of(job)}/log?after=${after}`, { signal }).then((found) => found.lines);
export const cancel = (job) => ask(`${of(job)}?mode=cancel`, { method: "PATCH" });
export const savepoint = (job, directory) =>
  ask(`${of(job)}/savepoints`, { method: "POST", body: { "target-directory": directory || null, "cancel-job": false } })
    .then((found) => found["request-id"]);
export const stop = (job, drain, directory) =>
  ask(`${of(job)}/stop`, { method: "POST", body: { drain, targetDirectory: directory || null } })
    .then((found) => found["request-id"]);

/** What became of a savepoint: `null` while it is written, else its `location`, or the `failure`. */
export async function outcome(job, trigger) {
  const found = await ask(`${of(job)}/savepoints/${encodeURIComponent(trigger)}`);
  if (found.status?.id === "IN_PROGRESS") return null;
  const cause = found.operation?.["failure-cause"];
  if (!cause) return { location: found.operation?.location ?? "" };
  const failure = typeof cause === "string" ? cause : cause["stack-trace"] || cause.class;
  return { failure: failure || "it failed" };
}
