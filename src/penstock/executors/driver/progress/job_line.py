"""The line that says how a job is doing, and the one that says how it ended."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from penstock.common.job_status import JobStatus
from penstock.common.plain_text import (
    Size,
    counted,
    fitted,
    lag_text,
    one_line,
    rate_text,
    span_text,
    text_width,
    without_logins,
)
from penstock.executors.driver.reports.job_view import ExceptionView, Figures, JobView, OperatorView

_BETWEEN: Final = " · "
_RUNNING: Final = "running"
_DAY: Final = 86_400_000
_MOST_NAMES: Final = 3
_LONGEST_NAME: Final = 40
_LONGEST_MESSAGE: Final = 200
_CALLS: Final = {"in_flight": "in flight", "retried": "retried", "timed_out": "timed out"}
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def job_line(view: JobView, columns: int | None = None) -> str:
    """Return how a job is doing, in one line, with what matters most at its beginning.

    Args:
        view: The job.
        columns: How many columns of a terminal there are: what has no room there is left out, beginning at the
            end. Default: as many as it takes.
    """
    parts = [part for part in _parts(view) if part] or [view.status.name.lower()]
    name = _shown(view.name, _LONGEST_NAME)
    if columns is None:
        return f"{name}: {_BETWEEN.join(parts)}"
    # Of a long name something is left out first.
    room = max(columns - text_width(parts[0]) - 2, columns // 3)
    line = f"{fitted(name, room)}: {parts[0]}"
    for part in parts[1:]:
        longer = line + _BETWEEN + part
        if text_width(longer) > columns:
            break
        line = longer
    return fitted(line, columns)


def last_line(view: JobView) -> str:
    """Return how a job ended, in one line."""
    lasted = span_text((view.ended or view.at) - view.started)
    line = f"{_shown(view.name, _LONGEST_NAME)}: {view.end or 'ended'} after {lasted}"
    if view.status is JobStatus.FAILED and view.exceptions:
        line += f": {_failure(view.exceptions[0])}"
    parts = (
        line,
        counted(view.records_in, "record"),
        counted(view.epochs_completed, "epoch"),
        _dropped(view),
        _failed(view),
        f"{view.filtered_records:,} filtered out" if view.filtered_records else "",
        counted(view.restarts, "restart") if view.restarts else "",
        f"{Size(view.state_size)} of state" if view.state_size else "",
        _checkpoint(view),
        "some of it still runs, and is left behind" if view.is_left_behind else "",
    )
    return _BETWEEN.join(part for part in parts if part)


def _parts(view: JobView) -> Iterator[str]:
    """Yield what there is to say of a job that runs, the most important first; nothing for what does not apply."""
    has_epochs = view.epochs_completed > 0
    if view.phase != _RUNNING or not has_epochs:
        yield _shown(view.phase, _LONGEST_NAME)
    if has_epochs:
        yield f"{rate_text(view.records_per_second)} records/s"
    yield _event_time(view)
    yield _holding_back(view)
    yield _dropped(view)
    yield _failed(view)
    yield _calls(view)
    yield counted(view.restarts, "restart") if view.restarts else ""
    yield f"{Size(view.state_size)} of state" if view.state_size else ""
    yield counted(view.records_in, "record") if has_epochs else ""
    yield f"{view.filtered_records:,} filtered out" if view.filtered_records else ""
    yield counted(view.epochs_completed, "epoch") if has_epochs else ""
    yield span_text(view.at - view.started) if has_epochs else ""


def _shown(text: str, longest: int) -> str:
    return fitted(one_line(text), longest)


def _event_time(view: JobView) -> str:
    """Return how far event time is behind the clock; of old records, how far it has come."""
    lag = view.watermark_lag
    if view.watermark is None or lag is None:
        return ""
    if abs(lag) < _DAY:
        return lag_text(lag)
    try:
        moment = _EPOCH + datetime.timedelta(milliseconds=view.watermark)
    except OverflowError:  # no calendar has it
        return ""
    return f"event time {moment:%Y-%m-%d %H:%M}"


def _holding_back(view: JobView) -> str:
    return f"held back by {_names(view.holding_back)}" if view.holding_back else ""


def _names(names: Sequence[str]) -> str:
    shown = [f"'{_shown(name, _LONGEST_NAME)}'" for name in names[:_MOST_NAMES]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _operators(view: JobView) -> Iterator[OperatorView]:
    return chain.from_iterable(vertex.operators for vertex in view.vertices)


def _dropped(view: JobView) -> str:
    return _lost(view, "dropped as late", lambda figures: figures.late_records)


def _failed(view: JobView) -> str:
    return _lost(view, "failed", lambda figures: figures.failed_records)


def _lost(view: JobView, how: str, count_of: Callable[[Figures], int]) -> str:
    """Return how many records were lost in a way, and at which operators; nothing if none were."""
    by_name: Counter[str] = Counter()
    for operator in _operators(view):
        by_name[operator.name] += count_of(operator.figures)
    count = by_name.total()
    return f"{count:,} {how}{_where(by_name)}" if count else ""


def _where(counts: Counter[str]) -> str:
    """Return which operators a count is of, those with most first: with a part of it each, if they are several."""
    found = [(name, count) for name, count in counts.most_common() if count]
    if len(found) <= 1:
        return "".join(f" at '{_shown(name, _LONGEST_NAME)}'" for name, _ in found)
    parts = [f"{count:,} at '{_shown(name, _LONGEST_NAME)}'" for name, count in found[:_MOST_NAMES]]
    if more := len(found) - len(parts):
        parts.append(f"{more} more operators")
    return f" ({', '.join(parts)})"


def _calls(view: JobView) -> str:
    """Return what there is to say of asynchronous calls."""
    counts = {what: sum(_call(one.figures, what) for one in _operators(view)) for what in _CALLS}
    found = [f"{count:,} {_CALLS[what]}" for what, count in counts.items() if count]
    return f"calls: {', '.join(found)}" if found else ""


def _call(figures: Figures, what: str) -> int:
    found = figures.user.get(f"async.{what}", 0)
    return found if isinstance(found, int) else 0


def _failure(failure: ExceptionView) -> str:
    where = f" at '{_shown(failure.operator, _LONGEST_NAME)}'" if failure.operator else ""
    return f"{_shown(failure.summary, _LONGEST_MESSAGE)}{where}"


def _checkpoint(view: JobView) -> str:
    """Return where the last epoch is, and what it is good for."""
    if view.savepoints and view.savepoints[-1].stopped:
        return f"savepoint: {_shown(view.savepoints[-1].location, _LONGEST_MESSAGE)}"
    goes_on = view.status is not JobStatus.FINISHED or view.is_stopped or view.goes_on
    if view.checkpoint_location is None:
        lost = view.state_size and (goes_on or not view.is_bounded)
        return "no checkpoint: the next start begins anew" if lost else ""
    place = _shown(without_logins(view.checkpoint_location), _LONGEST_MESSAGE)
    last = view.committed[-1].number if view.committed else view.restored_epoch
    if last is None:
        return f"no {'new checkpoint' if view.status.is_terminal_state() else 'checkpoint yet'} in {place}"
    found = f"checkpoint: epoch {last} in {place}"
    return found if not goes_on else f"{found}, where the next start goes on"
