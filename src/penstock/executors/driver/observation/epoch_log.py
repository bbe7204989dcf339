"""What the epochs of a job took and did: noted as they run, in a few microseconds each."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from penstock.checkpoint.epoch_record import EpochRecord, SubtaskId
from penstock.checkpoint.handles import StateHandle
from penstock.executors.driver.epoch_outcome import EpochOutcome, Gauges, add_user_metrics
from penstock.executors.driver.observation.recent import SPAN, Recent, Span
from penstock.executors.driver.reports.job_view import EpochView
from penstock.runtime.exchange.elements import ChannelWatermark
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.samples import Sample
from penstock.runtime.task.message import SubtaskReport

_MOST_EPOCHS: Final = 100
_MOST_FAILED: Final = 10
_MOST_SAMPLES: Final = 10

Handles = Mapping[SubtaskId, tuple[StateHandle, ...]]
Progress = Mapping[SubtaskId, SubtaskProgress]
Splits = Mapping[int, Mapping[Hashable, ChannelWatermark]]
Counts = Span[Mapping[SubtaskId, "SubtaskCounts"]]


class Clocks(NamedTuple):
    """Tell the time.

    Attributes:
        seconds: Returns seconds that never go back, since whenever.
        wall: Returns seconds since 1970.
    """

    seconds: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time

    def millis(self) -> int:
        """Return milliseconds since 1970."""
        return int(self.wall() * 1000)


@dataclass(slots=True)
class NotedEpoch:
    """An epoch.

    Attributes:
        number: Its number.
        started: When it began, in seconds since 1970.
        begun: The same in seconds, on a clock that never goes back, as all that follow.
        planning: For how many seconds it had been planned before.
        ran: When its tasks were done; None if they are not.
        committed: When its metadata was written; None if it is not.
        published: When sinks had published it; None if they have not.
        failed: When it failed; None if it did not.
        records_in: How many records its sources read.
        handles: The files of all state after it.
        handles_before: Those before it.
        failure: What it failed with; None if it did not.
        view: How it is seen, once it is over and somebody has looked.
    """

    number: int
    started: float
    begun: float
    planning: float = 0.0
    ran: float | None = None
    committed: float | None = None
    published: float | None = None
    failed: float | None = None
    records_in: int = 0
    handles: Handles = field(default_factory=dict)
    handles_before: Handles = field(default_factory=dict)
    failure: BaseException | None = None
    view: EpochView | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing of it changes any more."""
        return self.published is not None or self.failure is not None


class SubtaskCounts(NamedTuple):
    """What a subtask did until a moment.

    Attributes:
        records_in: Records received, of each operator of the chain.
        records_out: Records emitted, of each.
        busy: For how many seconds it was busy.
        waited: For how many it was held up by others.
    """

    records_in: tuple[int, ...]
    records_out: tuple[int, ...]
    busy: float
    waited: float


class SubtaskTotals:
    """What a subtask did in all epochs that were committed.

    Args:
        operators: How many operators its chain has.

    Attributes:
        records_in: Records received, of each operator of the chain.
        records_out: Records emitted, of each.
        fired: Timers fired, of each.
        user: What functions counted, of each.
        busy: For how many seconds it read, processed records and timers, and wrote its state.
        waited: For how many it was held up by others: it waited until what it had sent was taken, and, once it
            was done with an epoch in which anything passed through it, until all were.
        bytes_in: Bytes received from other chains.
        bytes_out: Bytes sent to other chains.
        report: What it told of the last epoch in which it ran; None before the first.
    """

    __slots__ = (
        "busy",
        "bytes_in",
        "bytes_out",
        "fired",
        "records_in",
        "records_out",
        "report",
        "user",
        "waited",
    )

    def __init__(self, operators: int) -> None:
        self.records_in = [0] * operators
        self.records_out = [0] * operators
        self.fired = [0] * operators
        self.user: list[dict[str, Any]] = [{} for _ in range(operators)]
        self.busy = self.waited = 0.0
        self.bytes_in = self.bytes_out = 0
        self.report: SubtaskReport | None = None

    def add(self, report: SubtaskReport, seconds: float, ran: float) -> None:
        """Add what it did in an epoch.

        Args:
            report: What it tells of itself.
            seconds: How long the epoch took until it was committed.
            ran: When all tasks of the epoch were done, in seconds since 1970.
        """
        self.report = report
        _, ended, busy, blocked, bytes_in, bytes_out = report.spent
        # The clocks of machines differ a little, and an epoch is not longer than it is.
        busy = min(busy, seconds)
        self.busy += busy
        self.bytes_in += bytes_in
        self.bytes_out += bytes_out
        has_passed = has_fired = any(report.fired)
        for place, (records_in, records_out, _, _, user) in enumerate(report.metrics):
            self.records_in[place] += records_in
            self.records_out[place] += records_out
            has_passed = has_passed or records_in + records_out > 0
            if user:
                self.user[place] = add_user_metrics(self.user[place], user)
        for_others = max(0.0, ran - ended) if has_passed else 0.0
        self.waited += min(for_others + blocked, seconds - busy)
        if has_fired:
            self.fired = [sum(both) for both in zip(self.fired, report.fired, strict=True)]

    def copied(self) -> SubtaskTotals:
        """Return the same, which does not change any more."""
        found = SubtaskTotals.__new__(SubtaskTotals)
        found.records_in, found.records_out = self.records_in[:], self.records_out[:]
        found.fired, found.user = self.fired, self.user[:]
        found.busy, found.waited = self.busy, self.waited
        found.bytes_in, found.bytes_out = self.bytes_in, self.bytes_out
        found.report = self.report
        return found

    def counts(self) -> SubtaskCounts:
        """Return what cannot change any more."""
        return SubtaskCounts(
            tuple(self.records_in), tuple(self.records_out), self.busy, self.waited
        )


class Noted(NamedTuple):
    """What was noted until a moment: nothing in it changes any more, but for the epochs that are not over.

    Attributes:
        epochs: The last ones, with older ones that failed and the last one that was committed; see `EpochLog`, as for
            the others that have the same names.
        running: The epoch that is running.
        completed: How many were committed.
        failed: How many failed.
        records_in: How many records sources have read.
        totals: What each subtask did.
        progress: How far each had come.
        splits: How far each split of a source had come.
        sources: How far chains of sources were, of which no task alone knows it.
        moved: When each split, and each subtask, last came farther.
        handles: The files of all state.
        samples: The last records that were dropped as late or failed, newest first.
        restored: The epoch that the first of them followed.
        restores: How often runs went on from an epoch.
        last_restored: The last epoch that one went on from, and when that was.
        span: The last seconds, of which rates are.
        measured: Those of which is known how subtasks spent them.
    """

    epochs: tuple[NotedEpoch, ...]
    running: NotedEpoch | None
    completed: int
    failed: int
    records_in: int
    totals: Mapping[SubtaskId, SubtaskTotals]
    progress: Progress
    splits: Splits
    sources: Mapping[int, Gauges]
    moved: Mapping[tuple[int, Hashable], int]
    handles: Handles
    samples: tuple[tuple[int, int, Sample], ...]
    restored: EpochRecord | None
    restores: int
    last_restored: tuple[EpochRecord, int] | None
    span: Counts
    measured: Counts


class EpochLog:
    """Notes what the epochs of a job took and did.

    The threads of the job write it. Who wants to see the job reads what was `noted`, which they hardly wait for.

    Args:
        sources: The indices of the chains that begin with a source.
        clocks: Tell the time.

    Attributes:
        epochs: The last hundred that were committed or failed, oldest first.
        failures: The last ten before those that failed, oldest first.
        done: The last one that was committed, however long ago; None before the first.
        running: The epoch that is running, or being published; None between two.
        completed: How many were committed.
        failed: How many failed.
        records_in: How many records sources have read in committed epochs.
        totals: What each subtask did in them. Tasks of a source that the engine reads are numbered anew in each
            epoch; they count for the subtask with their number.
        progress: How far each subtask had come when the last one was committed.
        splits: How far each split of a source had come then, by the index of the source's chain.
        sources: How far chains were then that begin with a source of which no task alone knows how far it is.
        moved: When each split of a source, and each subtask of what has none, last came farther in event time, by
            the index of its chain and its own name or number; in milliseconds since 1970.
        handles: The files of all state after it.
        samples: The last ten records that were dropped as late, and that failed, newest first, each with the
            indices of its chain and of its operator in that.
        restored: The epoch that the first of them followed; None for none.
        restores: How often runs went on from an epoch.
        last_restored: The last epoch that one went on from, and when that was, in milliseconds since 1970; None for
            none.
    """

    def __init__(self, sources: frozenset[int] = frozenset(), clocks: Clocks | None = None) -> None:
        self.clocks = clocks or Clocks()
        self._lock = threading.Lock()
        self.epochs: deque[NotedEpoch] = deque()
        self.failures: deque[NotedEpoch] = deque(maxlen=_MOST_FAILED)
        self.done: NotedEpoch | None = None
        self.running: NotedEpoch | None = None
        self.completed = 0
        self.failed = 0
        self.records_in = 0
        self.totals: dict[SubtaskId, SubtaskTotals] = {}
        self.progress: Progress = {}
        self.splits: dict[int, dict[Hashable, ChannelWatermark]] = {}
        self.sources: dict[int, Gauges] = {}
        self.moved: dict[tuple[int, Hashable], int] = {}
        self.handles: Handles = {}
        self.samples: dict[str, deque[tuple[int, int, Sample]]] = {
            kind: deque(maxlen=_MOST_SAMPLES) for kind in ("late", "failed")
        }
        self.restored: EpochRecord | None = None
        self.restores = 0
        self.last_restored: tuple[EpochRecord, int] | None = None
        self._sources = sources
        self._recent = Recent(self._counts)

    def resumed(self, last: EpochRecord, handles: Handles, progress: Progress) -> None:
        """Note the epoch that a run goes on from, and what each subtask takes up of it.

        Args:
            last: The epoch.
            handles: The files of the state of each subtask as the program has it now.
            progress: How far each has come.
        """
        with self._lock:
            if not self.completed:
                self.restored = last
            self.restores += 1
            self.last_restored = last, self.clocks.millis()
            self.handles, self.progress = handles, progress

    @contextmanager
    def epoch(self, number: int, planning: float = 0.0) -> Iterator[None]:
        """Run an epoch inside, commit and publish it: see `begin`, `published` and `fail`."""
        self.begin(number, planning)
        try:
            yield
        except BaseException as error:
            self.fail(error)
            raise
        self.published()

    def begin(self, number: int, planning: float = 0.0) -> None:
        """Note that an epoch begins, after that many seconds in which it was planned."""
        begun = self.clocks.seconds()
        with self._lock:
            self._recent.begin(begun - planning)
            self.running = NotedEpoch(number, self.clocks.wall(), begun, planning)

    def ran(self) -> None:
        """Note that the tasks of the epoch are done."""
        if self.running is not None:
            self.running.ran = self.clocks.seconds()

    def committed(self, record: EpochRecord, outcome: EpochOutcome, progress: Progress) -> None:
        """Note that the metadata of the epoch was written."""
        epoch = self.running
        if epoch is None:
            return
        with self._lock:
            epoch.committed, ended = self.clocks.seconds(), self.clocks.wall()
            seconds = epoch.committed - epoch.begun
            ran = ended - (epoch.committed - (epoch.ran or epoch.committed))
            epoch.handles_before, epoch.handles = self.handles, record.handles
            self._note_moves(progress, outcome.splits, int(ended * 1000))
            self.handles, self.progress = record.handles, progress
            self.splits |= outcome.splits
            self.sources |= outcome.sources
            for owner, report in outcome.reports.items():
                totals = self.totals.get(owner)
                if totals is None:
                    totals = self.totals[owner] = SubtaskTotals(len(report.metrics))
                totals.add(report, seconds, ran)
                for place, sample in report.samples:
                    self.samples[sample.kind].appendleft((owner[0], place, sample))
                if owner[0] in self._sources:
                    epoch.records_in += report.metrics[0][1]
            self.records_in += epoch.records_in
            self.completed += 1
            self.done = epoch
            self._keep(epoch)
            self._recent.changed(epoch.committed)

    def _note_moves(self, progress: Progress, splits: Splits, now: int) -> None:
        for owner, found in progress.items():
            known = self.progress.get(owner)
            if known is None or known.outputs != found.outputs or known.gauges != found.gauges:
                self.moved[owner] = now
        for index, ats in splits.items():
            before = self.splits.get(index, {})
            for split, at in ats.items():
                if before.get(split) != at:
                    self.moved[index, split] = now

    def _keep(self, epoch: NotedEpoch) -> None:
        self.epochs.append(epoch)
        if len(self.epochs) > _MOST_EPOCHS:
            oldest = self.epochs.popleft()
            if oldest.failure is not None:
                self.failures.append(oldest)

    def _older(self) -> list[NotedEpoch]:
        older = list(self.failures)
        if self.done is not None and self.done.begun < self.epochs[0].begun:
            older.append(self.done)
            older.sort(key=lambda epoch: epoch.begun)
        return older

    def published(self) -> None:
        """Note that sinks have published the epoch."""
        with self._lock:
            epoch, self.running = self.running, None
            if epoch is None or epoch.committed is None:
                return
            epoch.published = self.clocks.seconds()
            self._recent.changed(epoch.published)

    def fail(self, error: BaseException) -> None:
        """Note that the epoch has failed; one that was committed stays so, and is published by the next run."""
        with self._lock:
            epoch, self.running = self.running, None
            if epoch is not None and epoch.committed is None:
                epoch.failure, epoch.failed = error, self.clocks.seconds()
                self.failed += 1
                self._keep(epoch)

    def noted(self, *, rests: bool = False) -> Noted:
        """Return what was noted until now.

        Args:
            rests: Whether the job does nothing now: it waits for a restart, or has ended.
        """
        with self._lock:
            samples = [one for kept in self.samples.values() for one in kept]
            return Noted(
                (*self._older(), *self.epochs),
                self.running,
                self.completed,
                self.failed,
                self.records_in,
                {owner: totals.copied() for owner, totals in self.totals.items()},
                self.progress,
                dict(self.splits),
                dict(self.sources),
                dict(self.moved),
                self.handles,
                tuple(sorted(samples, key=lambda one: one[2].happened, reverse=True)),
                self.restored,
                self.restores,
                self.last_restored,
                self._rest() if rests else self._span(),
                self._rest() if rests else self._measured(),
            )

    def _measured(self) -> Counts:
        """Return the last seconds of which is known how subtasks spent them: those before the running epoch."""
        running = self.running
        if running is None:
            return self._recent.span(self.clocks.seconds())
        return self._recent.span(running.committed or running.begun)

    def _span(self) -> Counts:
        """Return the last seconds, until the running epoch began, whose records nobody knows yet, or until now.

        An epoch that takes more than ten seconds longer than the one before has stopped the stream.
        """
        now, running = self.clocks.seconds(), self.running
        if running is None or running.committed is not None:
            return self._recent.span(now)
        last = self.epochs[-1] if self.epochs else None
        usual = 0.0 if last is None or last.committed is None else last.committed - last.begun
        patience = usual + _PATIENCE
        over = now - running.begun - patience
        return self._recent.span(running.begun + max(0.0, over))

    def _rest(self) -> Counts:
        """Return the last seconds as those of a job that does nothing."""
        return Span(self._counts(), self.clocks.seconds() - SPAN, SPAN)

    def _counts(self) -> Mapping[SubtaskId, SubtaskCounts]:
        return {owner: totals.counts() for owner, totals in self.totals.items()}


_PATIENCE: Final = 10.0
