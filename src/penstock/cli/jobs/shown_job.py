"""A job as `penstock show` shows it: what it does, how far it is behind and why, in at most a hundred columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Final

from penstock.cli.layout import moment
from penstock.common.plain_text import (
    Size,
    counted,
    fitted,
    in_columns,
    lag_text,
    one_line,
    span_text,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

_COLUMNS: Final = 100
_LABEL: Final = 13
_SHORTEST_NAME: Final = 12
_UNEVEN: Final = 0.05
_NONE: Final = "-"

View = dict[str, Any]
"""What the REST API says of a job, or of a part of it, in `/jobs/:id/view`."""


def shown_job(view: View, page: str | None) -> Iterator[str]:
    """Yield the lines that show a job.

    Args:
        view: What the REST API says of it in `/jobs/:id/view`.
        page: The address of its page; None if it has none.
    """
    yield from _wrapped(f"{one_line(view['name'])}  {view['job_id']}", "", "")
    yield from _wrapped(_state(view), "", "")
    yield ""
    for sentence in view["explanation"]:
        yield from _wrapped(one_line(sentence["text"]), "* ", "  ")
    yield ""
    for name, text in _facts(view, page):
        if text is not None:
            yield from _wrapped(one_line(text), name.ljust(_LABEL), " " * _LABEL)
    if view["vertices"]:
        yield ""
        yield from _chains(view)
        yield ""
        yield from _operators(view)
    yield from _exceptions(view["exceptions"])


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        text,
        _COLUMNS,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _state(view: View) -> str:
    started = f"started {moment(view['started'])} UTC"
    phase = one_line(view["phase"])
    is_known = view["status"].lower().startswith(phase)
    state = view["status"] if is_known else f"{view['status']} ({phase})"
    if view["ended"] is None:
        return f"{state}, {started}, {span_text(view['at'] - view['started'])} ago"
    return f"{state}, {started}, ran {span_text(view['ended'] - view['started'])}"


def _facts(view: View, page: str | None) -> Iterator[tuple[str, str | None]]:
    filtered = f"; {view['filtered_records']:,} filtered out" if view["filtered_records"] else ""
    rate = f"{view['records_per_second']:,.0f} a second"
    yield "records", f"{view['records_in']:,} read, {rate}{filtered}"
    yield "watermark", _watermark(view)
    yield "state", str(Size(view["state_size"]))
    yield "checkpoint", _checkpoint(view)
    yield "savepoint", view["savepoints"][-1]["location"] if view["savepoints"] else None
    yield "began from", _restored(view)
    failed = [epoch for epoch in view["epochs"] if epoch["failure"] is not None]
    if view["epochs_failed"] and failed:
        last = f"{failed[-1]['number']}, at {moment(failed[-1]['started'])} UTC"
        yield "failed", f"{counted(view['epochs_failed'], 'epoch')}, the last one was {last}"
    yield "restarts", str(view["restarts"]) if view["restarts"] else None
    yield "page", page


def _watermark(view: View) -> str:
    mark, lag = view["watermark"], view["watermark_lag"]
    if not _is_time(mark):
        return "the end of the input" if mark is not None and mark > 0 else "none yet"
    if lag is None or view["is_bounded"]:
        return f"{moment(mark)} UTC"
    return f"{moment(mark)} UTC, {lag_text(lag)}"


def _is_time(mark: int | None) -> bool:
    return mark is not None and abs(mark) < 250_000_000_000_000 and mark > MIN_TIMESTAMP


def _checkpoint(view: View) -> str:
    done = [epoch for epoch in view["epochs"] if epoch["failure"] is None]
    where = view["checkpoint_location"]
    place = "nowhere that outlasts the driver" if where is None else f"in {where}"
    if not done:
        return f"none yet, {place}"
    last = done[-1]
    ago = span_text(max(0, view["at"] - last["started"] - last["duration"]))
    took = f"took {span_text(last['duration'])}, {Size(last['changed_size'])} written"
    return f"epoch {last['number']}, {ago} ago, {took}, {place}"


def _restored(view: View) -> str | None:
    if view["restored_epoch"] is None:
        return None
    return f"epoch {view['restored_epoch']} in {view['restored_from']}"


def _chains(view: View) -> Iterator[str]:
    """Yield the table of chains: how fast each is, how far it is behind, and how its worst subtask spends its time."""
    names = ["chain", "subtasks", "records/s", "behind", "busy", "back-pressured", "state"]
    rows = [
        (
            vertex["name"],
            str(vertex["parallelism"]),
            f"{vertex['times']['records_in_per_second']:,.0f}",
            _behind(vertex["watermark"], view),
            _worst(vertex, "busy"),
            _worst(vertex, "back_pressured"),
            str(Size(vertex["state_size"])) if vertex["state_size"] else _NONE,
        )
        for vertex in view["vertices"]
    ]
    yield from _table(names, rows)
    if any(vertex["parallelism"] > 1 for vertex in view["vertices"]):
        yield from _wrapped(
            "BUSY and BACK-PRESSURED: the share of the last seconds, in the subtask in brackets where one has "
            "more than the others.",
            "",
            "",
        )


def _behind(mark: int | None, view: View) -> str:
    if mark is None:
        return "none yet"
    if mark >= MAX_TIMESTAMP:
        return "end"
    return span_text(max(0, view["at"] - mark)) if _is_time(mark) else _NONE


def _worst(vertex: View, what: str) -> str:
    if not vertex["times"]["measured"]:
        return _NONE
    worst = max(vertex["subtasks"], key=lambda subtask: subtask["times"][what])
    share = f"{worst['times'][what] * 100:.0f}%"
    is_alone = worst["times"][what] - vertex["times"][what] > _UNEVEN
    return f"{share} ({worst['index'] + 1}/{vertex['parallelism']})" if is_alone else share


def _operators(view: View) -> Iterator[str]:
    """Yield the table of operators; columns that would be zeros alone are left out."""
    counts = {"late": "late_records", "failed": "failed_records", "timers": "timers"}
    operators = [operator for vertex in view["vertices"] for operator in vertex["operators"]]
    shown = {
        name: key for name, key in counts.items() if any(one["figures"][key] for one in operators)
    }
    rows = [
        (
            operator["name"],
            f"{operator['records_per_second']:,.0f}",
            f"{operator['figures']['records_in']:,}",
            f"{operator['figures']['records_out']:,}",
            _behind(operator["figures"]["output_watermark"], view),
            *(f"{operator['figures'][key]:,}" for key in shown.values()),
        )
        for operator in operators
    ]
    yield from _table(["operator", "records/s", "in", "out", "behind", *shown], rows)
    meaning = {
        "late": "LATE: dropped, since the watermark had passed.",
        "failed": "FAILED: failed, and passed over or sent to a side output.",
    }
    said = " ".join(meaning[name] for name in shown if name in meaning)
    yield from _wrapped(said, "", "")


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows in columns, with as much of the names in the first one as there is room for."""
    others = zip(*([name.upper() for name in names[1:]], *(row[1:] for row in rows)), strict=True)
    room = max(_SHORTEST_NAME, _COLUMNS - sum(max(map(len, column)) + 2 for column in others))
    lines = [(fitted(one_line(name), room), *cells) for name, *cells in rows]
    is_right = [False, *[True] * (len(names) - 1)]
    return in_columns([[name.upper() for name in names], *lines], is_right)


def _exceptions(exceptions: Sequence[View]) -> Iterator[str]:
    """Yield the last exception: what, when, where, how often, with which record, and its traceback."""
    if not exceptions:
        return
    last = exceptions[0]
    when = f"{moment(last['happened'])} UTC"
    where = f", in {one_line(last['operator'])}" if last["operator"] else ""
    epoch = "" if last["epoch"] is None else f", epoch {last['epoch']}"
    times = f", {last['times']:,} times in a row" if last["times"] > 1 else ""
    yield ""
    yield from _wrapped(f"LAST EXCEPTION  {when}{where}{epoch}{times}", "", " " * 16)
    if last["record"] is not None:
        yield from _wrapped(one_line(last["record"]), "RECORD  ", " " * 8)
    for line in (last["traceback"] or last["message"]).rstrip().split("\n"):
        yield "".join(letter if letter.isprintable() else " " for letter in line).rstrip()
    if len(exceptions) > 1:
        yield f"{counted(len(exceptions) - 1, 'other exception')} before it: see the page."
