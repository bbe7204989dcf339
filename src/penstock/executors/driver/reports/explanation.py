"""What a job does, how far it is behind, and why: in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.common.job_status import JobStatus
from penstock.common.plain_text import Size, counted, one_line, rate_text, span_text
from penstock.executors.driver.reports.job_view import EpochView, JobView, SubtaskView, VertexView

_AT_ITS_LIMIT: Final = 0.8
_WAITS: Final = 0.3
_UNEVEN: Final = 0.15
_BEHIND: Final = 10_000
_SLOW_EPOCH: Final = 1_000
_LAST_EPOCHS: Final = 20
_MOST_NAMES: Final = 3
_STARTS: Final = {
    JobStatus.CREATED: "Starts",
    JobStatus.RESTARTING: "Has failed, and waits to go on",
    JobStatus.FAILING: "Fails",
    JobStatus.CANCELLING: "Is being cancelled",
}
_TONES: Final = {
    JobStatus.RUNNING: "good",
    JobStatus.FINISHED: "calm",
    JobStatus.CANCELED: "calm",
    JobStatus.FAILED: "bad",
    JobStatus.FAILING: "bad",
    JobStatus.RESTARTING: "warn",
    JobStatus.CANCELLING: "warn",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence about a job.

    Attributes:
        tone: `good`, `calm`, `busy`, `warn` or `bad`.
        text: The sentence, or several.
        section: The section of the page where more of it is; None where there is none.
        vertex_id: The chain that it is about; None where it is about no single one.
    """

    tone: str
    text: str
    section: str | None = None
    vertex_id: str | None = None


def explained(view: JobView) -> tuple[Sentence, ...]:
    """Return what a job does, how far it is behind and why, the most important first."""
    if view.status.is_terminal_state():
        return (_ending(view), *_where_it_is_kept(view), *_losses(view))
    reasons = (*_failing(view), *_held_back(view), *_bottleneck(view), *_slow_epochs(view))
    return (
        Sentence(_TONES.get(view.status, "busy"), _doing(view)),
        *_distance(view, is_explained=bool(reasons)),
        *reasons,
        *_losses(view),
        *_unprotected(view),
    )


def _doing(view: JobView) -> str:
    if view.status is not JobStatus.RUNNING:
        return f"{_STARTS.get(view.status, view.status.name)}: {view.phase}."
    if not view.records_in:
        return f"Runs and has read no record yet ({view.phase})."
    sources = [source_name(vertex) for vertex in view.vertices if vertex.is_source]
    operators = sum(len(vertex.operators) for vertex in view.vertices)
    subtasks = sum(vertex.parallelism for vertex in view.vertices)
    return (
        f"Reads {rate_text(view.records_per_second)} records/s from {_listed(sources)}, through "
        f"{counted(operators, 'operator')} in {counted(len(view.vertices), 'chain')} with "
        f"{counted(subtasks, 'subtask')}."
    )


def source_name(vertex: VertexView) -> str:
    """Return the name of the source that a chain begins with."""
    return vertex.operators[0].name.removeprefix("Source: ")


def _listed(names: Sequence[str]) -> str:
    shown = list(names)
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], f"{len(shown) - _MOST_NAMES + 1} more"]
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def _percent(share: float) -> str:
    return f"{share * 100:.0f}%"


def _distance(view: JobView, *, is_explained: bool) -> Iterator[Sentence]:
    lag = view.watermark_lag
    if lag is None:
        if view.watermark is not None:
            yield Sentence("calm", "Event time has come to the end of the input.")
    elif view.is_bounded:
        yield Sentence("calm", "The input ends: how far event time is behind does not matter.")
    elif lag < _BEHIND:
        where = "behind" if lag >= 0 else "ahead of"
        yield Sentence("good", f"Event time is {span_text(abs(lag))} {where} the clock.")
    else:
        text = f"Event time is {span_text(lag)} behind the clock."
        done = view.committed
        took = _whole(done[-1]) if done else 0
        runs = _under_way(view, done)
        if runs > max(lag / 3, took):
            text += (
                f" The epoch under way has run for {span_text(runs)}, and event time moves when it is "
                "over."
            )
        elif took > lag / 3:
            text += (
                f" Its last epoch took {span_text(took)}, and event time moves when one is over."
            )
        elif not is_explained:
            text += (
                " No chain is at its limit and no source holds it back: the records are that old when "
                "they arrive."
            )
        yield Sentence("warn", text)


def _under_way(view: JobView, done: Sequence[EpochView]) -> int:
    """Return for how long the epoch has run in which chains are at work; 0 where none is."""
    works = any(
        vertex.times.busy >= _WAITS or vertex.times.back_pressured >= _WAITS
        for vertex in view.vertices
    )
    if not works or not done or view.status is not JobStatus.RUNNING:
        return 0
    return view.at - done[-1].started - _whole(done[-1])


def _failing(view: JobView) -> Iterator[Sentence]:
    last = view.epochs[-1] if view.epochs else None
    if last is None or last.failure is None:
        if view.status is JobStatus.RESTARTING and view.exceptions:
            yield Sentence("bad", f"It failed with {_cause(view)}", "exceptions")
        return
    if view.exceptions:
        cause = view.exceptions[0]
        where = f" in {one_line(cause.operator)}" if cause.operator else ""
        again = f", {cause.times:,} times in a row" if cause.times > 1 else ""
        text = f"Epoch {last.number} failed{where}{again}: {_cause(view)}"
        yield Sentence("bad", text, "exceptions")


def _cause(view: JobView) -> str:
    """Return what was raised last, as a sentence ends."""
    return f"{view.exceptions[0].summary.rstrip('. ')}."


def _held_back(view: JobView) -> Iterator[Sentence]:
    if not view.holding_back:
        return
    is_one = len(view.holding_back) == 1
    names = _listed([one_line(name).removeprefix("Source: ") for name in view.holding_back])
    since = "" if view.held_since is None else f" for {span_text(view.at - view.held_since)}"
    if view.watermark is None:
        how = f"{'has' if is_one else 'have'} sent no watermark{since}"
    else:
        how = f"{'is' if is_one else 'are'} behind the others, and {'has' if is_one else 'have'} stood still{since}"
    yield Sentence(
        "warn",
        f"{names} {'holds' if is_one else 'hold'} the watermark back: {'it' if is_one else 'they'} {how}. "
        "Windows and event-time timers wait for it; a source that has no records for long needs an idleness "
        "timeout (with_idleness).",
    )


def _bottleneck(view: JobView) -> Iterator[Sentence]:
    """Tell of the chain that others wait for: that with the busiest subtask."""
    found = [(busiest(vertex), vertex) for vertex in view.vertices if vertex.subtasks]
    if not found:
        return
    subtask, slowest = max(found, key=lambda one: one[0].times.busy)
    if subtask.times.busy < _AT_ITS_LIMIT:
        return
    waiting = sum(
        vertex.times.back_pressured >= _WAITS for vertex in view.vertices if vertex is not slowest
    )
    wait = f", and {counted(waiting, 'other chain')} {'waits' if waiting == 1 else 'wait'} for it"
    share, mean = _percent(subtask.times.busy), _percent(slowest.times.busy)
    how = f": it is busy {share} of the time{wait if waiting else ''}."
    if subtask.times.busy - slowest.times.busy > _UNEVEN:
        where = f"{subtask.index + 1}/{slowest.parallelism}"
        how = (
            f" in subtask {where}, which is busy {share} of the time{wait if waiting else ''}. On average its "
            f"subtasks are busy {mean} of it: records are not spread evenly."
        )
    text = f"{one_line(slowest.name)} is at its limit{how}"
    yield Sentence("warn", text, "chains", slowest.vertex_id)


def busiest(vertex: VertexView) -> SubtaskView:
    """Return the subtask of a chain that is busy most of the time."""
    return max(vertex.subtasks, key=lambda subtask: subtask.times.busy)


def _slow_epochs(view: JobView) -> Iterator[Sentence]:
    """Tell where the time of epochs goes, if it is not into running them."""
    recent = view.committed[-_LAST_EPOCHS:]
    if not recent:
        return
    parts = {
        "planning": _mean([epoch.planning for epoch in recent]),
        "committing": _mean([epoch.committing for epoch in recent]),
        "publishing": _mean([epoch.publishing or 0 for epoch in recent]),
    }
    whole = _mean([_whole(epoch) for epoch in recent])
    part, most = max(parts.items(), key=lambda one: one[1])
    if whole >= _SLOW_EPOCH and most > whole / 2:
        text = f"{_percent(most / whole)} of an epoch's {span_text(round(whole))} goes into {part}, not into records."
        yield Sentence("warn", text, "epochs")


def _whole(epoch: EpochView) -> int:
    return epoch.duration + (epoch.publishing or 0)


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / len(numbers)


def _losses(view: JobView) -> Iterator[Sentence]:
    found = []
    if view.late_records:
        found.append(f"{counted(view.late_records, 'record')} dropped as late")
    if view.failed_records:
        found.append(f"{counted(view.failed_records, 'record')} failed and passed over")
    if found:
        yield Sentence("warn", f"Lost so far: {', '.join(found)}.", "records")


def _unprotected(view: JobView) -> Iterator[Sentence]:
    if view.checkpoint_location is None and not view.is_bounded:
        yield Sentence(
            "warn",
            f"No checkpoint location is set: its {Size(view.state_size)} of state end with the driver.",
        )


def _ending(view: JobView) -> Sentence:
    took = "" if view.ended is None else f" after {span_text(view.ended - view.started)}"
    has_failed = view.status is JobStatus.FAILED
    why = f" with {_cause(view)}" if has_failed and view.exceptions else "."
    end = (view.end or "ended").capitalize()
    return Sentence(
        "bad" if has_failed else "calm",
        f"{end}{took}{why} It read {counted(view.records_in, 'record')} "
        f"in {counted(view.epochs_completed, 'epoch')}.",
        "exceptions" if has_failed else None,
    )


def _where_it_is_kept(view: JobView) -> Iterator[Sentence]:
    """Tell where a job that has ended can go on from."""
    done = view.committed
    if view.savepoints and view.savepoints[-1].stopped:
        yield Sentence(
            "good", f"It can go on from its savepoint: {view.savepoints[-1].location}", "state"
        )
    elif view.checkpoint_location is not None and done and view.status is not JobStatus.FINISHED:
        place = f"epoch {done[-1].number}, its last one, in {view.checkpoint_location}"
        yield Sentence("calm", f"It can go on from {place}", "state")
