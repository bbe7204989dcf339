// What a job's status means.

const ENDED = new Set(["FINISHED", "FAILED", "CANCELED", "SUSPENDED"]);

export function hasEnded(view) {
  return ENDED.has(view.status);
}

/** How serious a status is: `good`, `busy`, `warn`, `bad` or `calm`. */
export function tone(status) {
  return { RUNNING: "good", FINISHED: "calm", CANCELED: "calm", FAILED: "bad", FAILING: "bad", RESTARTING: "warn", CANCELLING: "warn" }[status] ?? "busy";
}
