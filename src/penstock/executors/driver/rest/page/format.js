// Figures as people read them.

const EARLIEST = -8.64e15;
const LATEST = 8.64e15;
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });

export const NONE = "–";

export function count(number) {
  return whole.format(number);
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A number in little room: 1.2k, 34M. */
export function brief(number) {
  for (const [size, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (number >= size) {
      const scaled = number / size;
      return `${scaled < 99.95 ? tenths.format(scaled) : whole.format(scaled)}${letter}`;
    }
  }
  return number < 10 ? tenths.format(number) : whole.format(number);
}

export function rate(perSecond) {
  return perSecond < 10 ? tenths.format(perSecond) : count(perSecond);
}

export function bytes(number) {
  let scaled = number;
  for (const unit of ["B", "kB", "MB", "GB", "TB"]) {
    if (scaled < 999.5) return `${scaled < 10 && unit !== "B" ? tenths.format(scaled) : whole.format(scaled)} ${unit}`;
    scaled /= 1000;
  }
  return `${whole.format(scaled)} PB`;
}

/** How long milliseconds are, by their two largest units; from a second on as the driver says it in sentences. */
export function duration(ms) {
  if (ms === null || ms === undefined) return NONE;
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  for (const [size, unit, small, part] of [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]]) {
    if (seconds >= size) {
      const large = Math.floor(seconds / size);
      const rest = Math.floor((seconds % size) / small);
      return size === 86400 && large >= 365
        ? `${tenths.format(large / 365.25)} years`
        : `${count(large)} ${unit}${rest ? ` ${rest} ${part}` : ""}`;
    }
  }
  return NONE;
}

export function percent(share) {
  return `${Math.round(share * 100)}%`;
}

const two = (number) => String(number).padStart(2, "0");

/** The time of day here, and the day if it is not today. */
export function clock(ms, today = Date.now()) {
  const at = new Date(ms);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return at.toDateString() === new Date(today).toDateString() ? time : `${day(at)} ${time}`;
}

function day(at) {
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

export function isEnd(watermark) {
  return watermark !== null && watermark >= LATEST;
}

export function isTime(watermark) {
  return watermark !== null && watermark !== undefined && watermark > EARLIEST && watermark < LATEST;
}

/** How far event time has come; the last watermark of a bounded source says that all has come. */
export function watermark(ms, at) {
  if (isEnd(ms)) return "end of input";
  return isTime(ms) ? clock(ms, at) : "none yet";
}

export function lag(ms, at) {
  return isTime(ms) ? duration(Math.max(0, at - ms)) : NONE;
}

export function list(names, most = 3) {
  const shown = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}
