// The page of one job: its head, and one of its sections at a time.

import { chain } from "./chain.js";
import { configuration } from "./configuration.js";
import { el, mark, put } from "../dom.js";
import { brief } from "../format.js";
import { epochs } from "./epochs.js";
import { header } from "./header.js";
import { log } from "./log.js";
import { picture } from "./picture.js";
import { state } from "./state.js";
import { exceptions, records } from "./trouble.js";

const SECTIONS = { chains: "Chains", epochs: "Epochs", state: "State", records: "Records", exceptions: "Exceptions", configuration: "Configuration", log: "Log" };
const MAKERS = { epochs, state, records, exceptions, configuration, log };

export function job(jobId) {
  const address = (rest) => `#/jobs/${encodeURIComponent(jobId)}/${rest}`;
  const head = header(jobId);
  const links = Object.entries(SECTIONS).map(([name, title]) => el("a", { href: address(name) }, el("span", { text: title }), el("span", { class: "badge" })));
  const place = el("div", { class: "place-of-section" });
  const spark = el("a", { rel: "noreferrer", target: "_blank" , text: "Spark’s page" });
  const strip = el("nav", { class: "sections", "aria-label": "Sections" }, ...links);
  const node = el("div", { class: "job" }, head.node, strip, place,
    el("p", { class: "feet soft" }, el("span", { text: `Job ${jobId}` }), spark));
  const made = {};
  let view = null;
  let isGone = false;
  let current = "";
  const section = (name) => (made[name] ??= name === "chains" ? chains(address) : MAKERS[name]());
  const show = () => {
    if (!view) return;
    head.show(view, isGone);
    showBadges(links, view);
    spark.hidden = !/^https?:/.test(view.spark_url ?? "");
    mark(spark, "href", spark.hidden ? null : view.spark_url);
    section(current).show?.(view);
  };
  return {
    node,
    /** Show a section; of the chains, also the details of one. */
    go(name, detail) {
      const wanted = SECTIONS[name] ? name : "chains";
      if (wanted !== current) place.replaceChildren(section(wanted).node);
      current = wanted;
      Object.keys(SECTIONS).forEach((each, number) => mark(links[number], "aria-current", each === current ? "page" : null));
      // On a phone not all of them have room.
      requestAnimationFrame(() => centre(links[Object.keys(SECTIONS).indexOf(current)], strip));
      section(current).open?.(detail);
      show();
    },
    show(newView, newGone) {
      view = newView ?? view;
      isGone = newGone;
      show();
    },
    log: () => (current === "log" ? section("log") : null),
  };
}

function centre(link, strip) {
  strip.scrollLeft = link.offsetLeft - strip.offsetLeft - (strip.clientWidth - link.offsetWidth) / 2;
}

function showBadges(links, view) {
  const counts = { records: view.late_records + view.failed_records, exceptions: view.exceptions.length, epochs: view.epochs_failed };
  Object.keys(SECTIONS).forEach((name, number) => {
    const badge = links[number].lastChild;
    badge.hidden = !counts[name];
    put(badge, counts[name] ? ` ${brief(counts[name])}` : "");
    mark(badge, "title", name === "epochs" ? "failed" : null);
  });
}

/** The picture, and the details of the chain that was opened. */
function chains(address) {
  const drawn = picture((vertexId) => { location.hash = address(opened === vertexId ? "chains" : `chains/${vertexId}`); });
  const legend = el("ul", { class: "legend" }, ...[["busy", "busy"], ["waits", "back-pressured"], ["idle", "idle"]].map(([kind, text]) =>
    el("li", {}, el("span", { class: `key ${kind}` }), el("span", { text }))));
  const below = el("div");
  const node = el("section", { class: "panel bare chains", "aria-label": "Chains" }, el("h2", { class: "unseen", text: "Chains" }), drawn.node, legend, below);
  let opened = null;
  let details = null;
  let wantsFocus = false;
  const close = () => {
    const before = opened;
    location.hash = address("chains");
    [...node.querySelectorAll("[data-vertex]")].find((box) => box.dataset.vertex === before)?.firstChild.focus();
  };
  return {
    node,
    open(vertexId) {
      const wanted = vertexId ?? null;
      if (wanted === opened) return;
      opened = wanted;
      details = opened === null ? null : chain(opened, close);
      below.replaceChildren(...(details ? [details.node] : []));
      wantsFocus = details !== null;
    },
    show(view) {
      drawn.show(view, opened);
      details?.show(view);
      if (wantsFocus) details.focus();
      wantsFocus = false;
    },
  };
}
