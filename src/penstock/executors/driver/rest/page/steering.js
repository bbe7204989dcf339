// The buttons that steer a job, their questions, and what became of what was asked for.

import * as client from "./client.js";
import { el, mark, put, say } from "./dom.js";
import { hasEnded } from "./status.js";

const PAUSE = 500;
/** After how many questions without an answer it is said that there is none. */
const PATIENCE = 6;
const SAVEPOINT_DIR = "execution.checkpointing.savepoint-dir";

/** Tell what came of something, until it is put away. */
export function notice(tone, title, text = "") {
  const words = el("span", { text });
  const heading = el("strong", { text: title });
  const node = el("div", { class: `notice ${tone}` }, el("div", {}, heading, words));
  node.append(el("button", { class: "plain", "aria-label": "Put away", text: "✕", onclick: () => node.remove() }));
  document.getElementById("notices").append(node);
  return {
    become(newTone, newTitle, newText = "") {
      node.className = `notice ${newTone}`;
      put(heading, newTitle);
      put(words, newText);
    },
  };
}

export function steering(jobId) {
  let job = { name: jobId, checkpoint_location: null, epochs: [] };
  const buttons = [
    el("button", { text: "Savepoint", onclick: () => ask(savepointDialog) }),
    el("button", { text: "Stop", onclick: () => ask(stopDialog) }),
    el("button", { class: "danger", text: "Cancel", onclick: () => ask(cancelDialog) }),
  ];
  const ask = (make) => open(make(job, jobId));
  return {
    node: el("div", { class: "steering", role: "group", "aria-label": "Steer the job" }, ...buttons),
    show(view, isGone) {
      job = view;
      for (const button of buttons) mark(button, "disabled", isGone || hasEnded(view) || view.status === "CANCELLING");
    },
  };
}

function directoryField(job) {
  const usual = job.configuration?.[SAVEPOINT_DIR];
  const input = el("input", { name: "directory", type: "text", autocomplete: "off", spellcheck: "false", placeholder: usual, required: !usual });
  const place = () => input.value.trim() || usual;
  return { input, place, label: el("label", { class: "field" }, el("span", { text: `Directory for the savepoint${usual ? ", if it is to be another" : ""}` }), input) };
}

function savepointDialog(job, jobId) {
  const directory = directoryField(job);
  return {
    title: "Take a savepoint?",
    text: `“${job.name}” goes on. At the end of an epoch, everything that it needs to begin from there is written to a place of its own.`,
    fields: [directory.label],
    action: "Take a savepoint",
    async run() {
      const trigger = await client.savepoint(jobId, directory.input.value.trim());
      await follow(jobId, trigger, "Writing a savepoint…", "Savepoint written", directory.place());
    },
  };
}

function stopDialog(job, jobId) {
  const directory = directoryField(job);
  const drain = el("input", { name: "drain", type: "checkbox" });
  return {
    title: "Stop with a savepoint?",
    text: `“${job.name}” ends its epoch, writes a savepoint, and stops. It can go on from there without losing or repeating a record.`,
    fields: [
      el("label", { class: "check" }, drain, el("span", {}, el("strong", { text: "Drain" }),
        " – fire all windows and event-time timers first, as at the end of the input. Only if the job is not to go on: what comes later is late.")),
      directory.label,
    ],
    action: "Stop the job",
    async run() {
      const trigger = await client.stop(jobId, drain.checked, directory.input.value.trim());
      await follow(jobId, trigger, "Stopping with a savepoint…", "Stopped, with a savepoint", directory.place());
    },
  };
}

function cancelDialog(job, jobId) {
  const last = job.epochs.findLast((epoch) => !epoch.failure);
  const from = job.checkpoint_location && last ? `It can go on from epoch ${last.number}, its last one.` : "It has no checkpoint to go on from: its state is lost.";
  return {
    title: "Cancel the job?",
    text: `“${job.name}” ends at once, without a savepoint; the epoch under way is not committed. ${from}`,
    fields: [],
    action: "Cancel the job",
    keep: "Let it run",
    danger: true,
    async run() {
      await client.cancel(jobId);
      notice("good", "Cancelled", ` ${job.name} is being cancelled.`);
      say("The job is being cancelled.");
    },
  };
}

/** Show a question; what was asked for is done when it is answered, and focus returns to the button. */
function open({ title, text, fields, action, keep = "Back", danger = false, run }) {
  const heading = el("h2", { id: "question", text: title });
  const go = el("button", { class: danger ? "danger full" : "full", value: "go", text: action });
  const back = el("button", { type: "button", text: keep, onclick: () => dialog.close() });
  const form = el("form", { method: "dialog" }, heading, el("p", { text }), ...fields, el("div", { class: "choices" }, back, go));
  const dialog = el("dialog", { "aria-labelledby": "question" }, form);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (dialog.returnValue === "go") run().catch((error) => notice("bad", "Not done: ", error.message));
  });
  document.body.append(dialog);
  dialog.showModal();
  if (danger) back.focus();
}

async function follow(jobId, trigger, begun, done, directory) {
  const shown = notice("busy", begun);
  say(begun);
  for (let unanswered = 0; ;) {
    let outcome = null;
    try {
      outcome = await client.outcome(jobId, trigger);
      unanswered = 0;
    } catch (error) {
      if (!(error instanceof client.Gone)) outcome = { failure: error.message };
      unanswered += 1;
      if (unanswered === PATIENCE) {
        shown.become("bad", "No answer: ", `the driver is gone, and has not said what became of this. A savepoint that was written is in ${directory}.`);
      }
    }
    if (outcome?.failure) {
      shown.become("bad", "The savepoint failed: ", outcome.failure);
      say("The savepoint failed.");
      return;
    }
    if (outcome) {
      shown.become("good", `${done}: `, outcome.location);
      say(done);
      return;
    }
    await new Promise((resolve) => { setTimeout(resolve, PAUSE); });
  }
}

/** Ask for the token, and keep it as long as the tab is open. */
export function askForToken(wasWrong) {
  return new Promise((resolve) => {
    const input = el("input", { name: "token", type: "password", autocomplete: "off", required: true });
    const heading = el("h2", { id: "question", text: "This driver asks for a token" });
    const text = wasWrong ? "It refused that one. " : "";
    const dialog = el("dialog", { class: "token", "aria-labelledby": "question", oncancel: (event) => event.preventDefault() },
      el("form", { method: "dialog" }, heading,
        el("p", { text: `${text}It is what rest.token is set to. This tab keeps it until it is closed.` }),
        el("label", { class: "field" }, el("span", { text: "Token" }), input),
        el("div", { class: "choices" }, el("button", { class: "full", value: "go", text: "Go on" }))));
    dialog.addEventListener("close", () => {
      dialog.remove();
      client.keepToken(input.value);
      resolve();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
