"""What both executors do on the driver's side of a job: epochs begin, are run, and are committed."""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from penstock.checkpoint.epoch_record import EpochRecord, JobRecord
from penstock.checkpoint.storage import Storage
from penstock.errors import (
    CheckpointMismatchError,
    InconsistentEpochError,
    LostBufferError,
    OtherJobError,
)
from penstock.executors.driver.checkpoints import Checkpoints
from penstock.executors.driver.epoch_feed import EpochFeed, EpochResult
from penstock.executors.driver.epoch_outcome import EpochOutcome, old_rows_after
from penstock.executors.driver.job_description import describe
from penstock.executors.driver.planning import Planning, Plans
from penstock.executors.driver.publishing import claimed
from penstock.executors.driver.recovery.restoring import Restored, restored
from penstock.executors.driver.reports.profile_log import ProfileLog
from penstock.executors.driver.reports.task_lines import TaskLines
from penstock.executors.driver.unclaimed_states import UnclaimedStates
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer
from penstock.runtime.job_pickle import JobClasses, job_classes
from penstock.runtime.program import Program
from penstock.runtime.task.logs.worker_log import without_lines

RunEpoch = Callable[[Epoch], Iterable[Buffer]]
"""Runs an epoch and returns what its tasks told the driver."""

Publish = Callable[[EpochRecord], None]
"""Makes visible what sinks prepared in an epoch, as often as it is asked to."""

_MOST_ATTEMPTS = 3
_NOTHING_PLANNED: Final = Plans()


class EpochRunner:
    """Runs one epoch after the other, and commits each.

    Tasks prepare, the metadata commits, sinks follow: what sinks prepared is published from the metadata
    of a committed epoch, and again after a restart, but never computed again.

    Args:
        program: The program.
        job_id: Tells the runs of jobs apart.
        checkpoints: Where epochs are committed.
        publish: Publishes what sinks prepared.
        feed: Hears of each epoch that was committed.
        bounded: How many epochs of its own each bounded source has, by its number.
        planning: Has the reading of other sources planned. Default: there are none.
        main_classes: The classes of the user's script as they were when the job was started.
    """

    def __init__(
        self,
        program: Program,
        job_id: str,
        checkpoints: Checkpoints,
        publish: Publish,
        feed: EpochFeed,
        bounded: Mapping[int, int] | None = None,
        planning: Planning | None = None,
        *,
        main_classes: Mapping[str, type] | None = None,
    ) -> None:
        self._classes = JobClasses(main_classes or {}, program.class_names)
        self._program = program
        self._job_id = job_id
        self._checkpoints = checkpoints
        self._publish = publish
        self._feed = feed
        self._bounded = bounded or {}
        self._planning = planning or Planning({}, program)
        self._described = describe(program)
        self._engine: dict[str, Any] = {}
        self._last: EpochRecord | None = None
        self._planned = 0.0
        self._restored = Restored()
        self._states = UnclaimedStates({}, self._described)

    def resume(self) -> EpochRecord | None:
        """Go on from the last epoch that was committed, and return it; None to begin anew.

        Raises:
            DamagedStateError: If its metadata is not what was written.
            OtherJobError: If a job with another name has run there.
            CheckpointMismatchError: If another program has ended there.
            PenstockError: If the program cannot take its state up.
        """
        self._last = last = self._checkpoints.last()
        self._restored = Restored()
        if last is not None:
            self._check_name(last)
            last = self._last = self._claimed(last)
            self._pass(last)
        if last is not None and last.is_last:
            self._check_ended(last)
        if last is not None and not last.is_last:
            with job_classes(*self._classes):
                self._restored = restored(
                    last,
                    self._program,
                    self._bounded,
                    self._planning.kinds,
                    ignore_unclaimed_state=self._checkpoints.ignores_unclaimed,
                    storage=self._storage,
                )
            self._states = UnclaimedStates(last.states, self._described)
        if last is not None:
            # Of one that has ended nothing is taken up.
            handles = last.handles if last.is_last else self._restored.state
            self._feed.log.resumed(last, handles, self._restored.progress)
        return last

    def _claimed(self, last: EpochRecord) -> EpochRecord:
        """Return the last epoch, without output that no sink of the program has prepared."""
        if not last.prepared:
            return last
        ignores = self._checkpoints.ignores_unclaimed or self._checkpoints.is_published(last)
        return claimed(last, self._described, ignores_unclaimed=ignores)

    def _check_name(self, last: EpochRecord) -> None:
        """Make sure that a location is this job's, and not that of another one that looks like it."""
        then, now = last.job.name, self._described.name
        is_of_savepoint = last.is_fork or not self._checkpoints.is_durable
        if then in {now, "", self._checkpoints.renamed_from} or is_of_savepoint:
            return
        raise OtherJobError(
            f"The checkpoint location {self._checkpoints.location} is that of the job {then!r}, and this is the job "
            f"{now!r}.",
            hint="Give each job a location of its own in execution.checkpointing.dir. If the job was renamed, set "
            f"execution.state-recovery.renamed-from to {then!r}. To begin with a copy of the other job's state, give "
            "a new location, and that one as execution.state-recovery.path.",
        )

    def _check_ended(self, last: EpochRecord) -> None:
        """Make sure that the job that has ended at the location is this one."""
        if _operators(last.job) != _operators(self._described):
            raise CheckpointMismatchError(
                f"At {self._checkpoints.location} the job {last.job.name!r} has ended, and it had other "
                "operators than this program: there is nothing to go on from.",
                hint="Give the program a checkpoint location of its own.",
            )

    @property
    def wants_end(self) -> bool:
        """Whether only an epoch is to follow that ends all event time."""
        return self._feed.gate.wants_end

    @property
    def last(self) -> EpochRecord | None:
        """The last epoch that was committed; None if none was."""
        return self._last

    @property
    def next(self) -> int:
        """The number of the epoch that comes next."""
        return 0 if self._last is None else self._last.number + 1

    def epochs_left(self, source: int) -> int:
        """Return how many epochs of its own a bounded source has still to give."""
        return self._bounded[source] - self._restored.read.get(source, 0)

    @property
    def unread(self) -> frozenset[int]:
        """The bounded sources that have not given all of their epochs, by their numbers."""
        return frozenset(source for source in self._bounded if self.epochs_left(source) > 0)

    @property
    def ending(self) -> frozenset[int]:
        """The bounded sources that have no records after the next epoch, by their numbers."""
        return frozenset(source for source in self._bounded if self.epochs_left(source) <= 1)

    @property
    def every(self) -> frozenset[int]:
        """All sources but the streams that the engine reads, by their numbers."""
        return frozenset(self._bounded.keys() | self._planning.kinds.keys())

    @property
    def next_wake_up(self) -> int | None:
        """When an epoch is due even without records (milliseconds); None for never."""
        return None if self._last is None else self._last.next_wake_up()

    def plans(self) -> Plans:
        """Return what the next epoch is to read of sources whose reading is planned.

        Raises:
            PenstockError: If a source cannot tell.
        """
        started = time.perf_counter()
        with job_classes(*self._classes):
            plans = self._planning.plans(self._restored.planned)
        self._planned = time.perf_counter() - started
        return plans

    def is_news(self, plans: Plans) -> bool:
        """Whether plans are worth an epoch: there is something to read or to note, or a source has ended."""
        states = {number: read.state for number, read in self._restored.planned.items()}
        is_noted = any(read.state != states.get(number) for number, read in plans.read.items())
        return is_noted or plans.has_pieces or bool(plans.over - self._restored.finished)

    def set_engine(self, engine: dict[str, Any]) -> None:
        """Set what the executor has to find again after a restart; it goes into the metadata."""
        self._engine = engine

    @property
    def profile(self) -> ProfileLog | None:
        """What takes where the time of epochs went; None if nobody wants to know."""
        return self._feed.profile

    def republish(self) -> None:
        """Publish the last epoch again, if whoever committed it may not have lived to do so."""
        if self._last is not None and not self._checkpoints.is_published(self._last):
            with job_classes(*self._classes):
                self._deliver(self._last)

    def _deliver(self, record: EpochRecord) -> None:
        self._publish(record)
        self._checkpoints.note_published(record)

    def run(
        self,
        number: int,
        finishing: frozenset[int],
        run_epoch: RunEpoch,
        *,
        is_last: bool,
        ends: bool = False,
        settles: bool = False,
        plans: Plans = _NOTHING_PLANNED,
    ) -> EpochRecord:
        """Run an epoch and commit it; the last one that was committed is only published again.

        Args:
            number: The number of the epoch.
            finishing: The sources whose last records are in this epoch, but for those that the plans end.
            run_epoch: Runs it.
            is_last: Whether no epoch follows.
            ends: Whether sources only end in it, and read nothing, since the job is to be stopped.
            settles: Whether it waits for calls however long they take, since this run ends with it.
            plans: What it reads of sources whose reading is planned. Default: nothing.

        Raises:
            JobCancelledError: If the job is to be stopped.
            CheckpointMismatchError: If the epoch is neither the next one nor the last.
            PenstockError: What a task failed with.
        """
        with self._feed.gate.epoch(ends=ends), job_classes(*self._classes):
            finishing |= plans.over
            epoch = dataclasses.replace(
                self._epoch(number, finishing, is_last=is_last),
                ends=ends,
                settles=settles,
                planned=plans.pieces,
            )
            record = self._run(epoch, finishing, run_epoch, plans)
            self._pass(record)
            return record

    def _pass(self, record: EpochRecord) -> None:
        self._feed.gate.passed(record, self._storage, self._checkpoints.open_files)

    @property
    def _storage(self) -> Storage | None:
        """Where files are; None if the job keeps none."""
        return None if self._checkpoints.location is None else self._checkpoints.storage

    def _run(
        self, epoch: Epoch, finishing: frozenset[int], run_epoch: RunEpoch, plans: Plans
    ) -> EpochRecord:
        number = epoch.number
        if self._last is not None and number == self._last.number:
            self._deliver(self._last)
            return self._last
        if number != self.next:
            raise CheckpointMismatchError(
                f"Epoch {number} is to be run, but the last one that was committed is {self.next - 1}: "
                "the offsets and the metadata of the job are not of the same history.",
                hint="Restore the whole checkpoint location, not parts of it.",
            )
        with self._feed.log.epoch(number, self._planned):
            return self._run_next(epoch, finishing, run_epoch, plans)

    def _run_next(
        self, epoch: Epoch, finishing: frozenset[int], run_epoch: RunEpoch, plans: Plans
    ) -> EpochRecord:
        log = self._feed.log
        started, started_at = time.perf_counter(), time.time()
        outcome = self._attempt(epoch, run_epoch)
        ran = time.perf_counter() - started
        log.ran()
        planned = {**self._restored.planned, **plans.read}
        record = dataclasses.replace(
            self._record(epoch, outcome, finishing),
            planned={self._described.sources[number]: read for number, read in planned.items()},
            duration=round((time.perf_counter() - started) * 1000),
        )
        self._feed.gate.check_wanted()
        self._checkpoints.commit(record)
        self._last = record
        self._restored = Restored(
            record.handles,
            {**self._restored.progress, **outcome.progress},
            record.finished,
            self._read_after(epoch),
            planned,
        )
        log.committed(record, outcome, self._restored.progress)
        operators = {key: dict(vars(report)) for key, report in outcome.operators.items()}
        lines = outcome.printed, outcome.printed_to_err
        self._feed.put(EpochResult(record, *lines, outcome.collected, operators))
        self._deliver(record)
        self._planning.committed(planned)
        self._checkpoints.collect(record)
        if self.profile is not None:
            took = time.perf_counter() - started
            self.profile.add(epoch.number, started_at, ran, took, outcome.profiles)
        return record

    def _epoch(self, number: int, finishing: frozenset[int], *, is_last: bool) -> Epoch:
        known = self._restored
        return Epoch(
            job_id=self._job_id,
            number=number,
            lineage=self._last.lineage if self._last else self._checkpoints.lineage,
            finishing=finishing - known.finished,
            finished=known.finished,
            reads={source: known.read.get(source, 0) for source in self._bounded},
            generation=self._checkpoints.generation,
            pieces=self._last.pieces if self._last else {},
            old_rows=self._last.old_rows if self._last else frozenset(),
            is_last=is_last,
            location=self._checkpoints.location,
            keeps_state=self._checkpoints.is_durable,
            may_fold=self._checkpoints.may_fold(self._last),
            state=known.state,
            progress=known.progress,
        )

    def _record(
        self, epoch: Epoch, outcome: EpochOutcome, finishing: frozenset[int]
    ) -> EpochRecord:
        progress = {**self._restored.progress, **outcome.progress}
        ids = self._described.sources
        return EpochRecord(
            epoch.number,
            lineage=epoch.lineage,
            previous=self._checkpoints.digest,
            generation=self._checkpoints.generation,
            job=self._described,
            handles={**self._restored.state, **outcome.handles},
            progress={owner: found.to_plain() for owner, found in progress.items()},
            finished=self._restored.finished | (frozenset() if epoch.ends else finishing),
            read={ids[source]: epochs for source, epochs in self._read_after(epoch).items()},
            is_last=epoch.is_last,
            is_drained=epoch.ends,
            prepared=outcome.prepared,
            operators={key: report.to_plain() for key, report in outcome.operators.items()},
            committed_at=(now := time.time_ns() // 1_000_000),
            folded_at=now if epoch.may_fold or self._last is None else self._last.folded_at,
            engine=self._engine,
            old_rows=old_rows_after(epoch, outcome, self._described),
            states=self._states.after(outcome.states),
        )

    def _read_after(self, epoch: Epoch) -> dict[int, int]:
        """Return how many epochs of its own each bounded source has given after an epoch."""
        more = 0 if epoch.ends else 1
        return {
            source: min(epoch.reads[source] + more, epochs)
            for source, epochs in self._bounded.items()
        }

    def _attempt(self, epoch: Epoch, run_epoch: RunEpoch) -> EpochOutcome:
        """Run an epoch, again if its tasks do not agree on what they read."""
        for attempt in range(_MOST_ATTEMPTS):
            try:
                return self._outcome(run_epoch(dataclasses.replace(epoch, attempt=attempt)))
            except (InconsistentEpochError, LostBufferError):
                if attempt == _MOST_ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def _outcome(self, buffers: Iterable[Buffer]) -> EpochOutcome:
        """Read what tasks told, and hand on what they logged, above all if they have failed."""
        told, lines = without_lines(buffers)
        has_failed = True
        try:
            outcome = EpochOutcome.of(self._program, told)
            has_failed = False
        finally:
            if lines:
                self._feed.put(TaskLines(lines, has_failed))
        return outcome


def _operators(job: JobRecord) -> set[str]:
    return {operator.operator_id for vertex in job.vertices for operator in vertex.operators}


def new_job_id() -> str:
    """Return a new job id: 32 hexadecimal digits, as Flink's."""
    return uuid.uuid4().hex
