"""A job that is nothing but a sink, whose processes die where a test wants them to."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tests.runtime.programs import Harness, operator_id

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.datastream.connectors.two_phase_commit import TwoPhaseCommitSink
from penstock.executors.driver.publishing import PublishedSink, Publisher
from penstock.runtime.operator import OperatorPart
from penstock.runtime.operators.two_phase_commit import TwoPhaseCommitOperator
from penstock.runtime.timestamp import MIN_TIMESTAMP

NAME = "Sink: Writer"
SINK_ID = operator_id(NAME)
RETAINED = 3


class Task:
    """One process's copy of one subtask of the sink."""

    def __init__(self, job: SinkJob, subtask: int) -> None:
        self._job = job
        self.harness = Harness(
            TwoPhaseCommitOperator(job.sink),
            name=NAME,
            subtask=subtask,
            parallelism=job.parallelism,
        )

    def run(self, values: Sequence[Any], snapshot: bytes | None, *, ends: bool) -> bytes | None:
        """Run an epoch, and return the snapshot."""
        self.begin(values, snapshot)
        return self.finish(ends=ends)

    def begin(self, values: Sequence[Any], snapshot: bytes | None) -> None:
        job = self._job
        self.harness.told.clear()
        if job.now > self.harness.time.current_processing_time():
            self.harness.time.set_current_time(job.now)
        self.harness.operator.restore(snapshot)
        self.harness.begin_epoch(job.next, lineage=job.lineage, location=job.location)
        self.harness.process(values)

    def finish(self, *, ends: bool) -> bytes | None:
        operator = self.harness.operator
        if ends:
            operator.end_input()
        operator.flush()
        return operator.snapshot()

    @property
    def prepared(self) -> list[tuple[str, Any]]:
        assert all(kind == "prepared" for kind, _ in self.harness.told)
        return [content for _, content in self.harness.told]


class SinkJob:
    """The job: its tasks, its metadata and its driver.

    Args:
        sink: The sink.
        folder: Where tasks stage.
        parallelism: The number of subtasks.

    Attributes:
        now: The processing time.
        record: The metadata of the last epoch.
        zombies: Tasks that were given up and are still there.
    """

    def __init__(
        self,
        sink: TwoPhaseCommitSink,
        folder: Path,
        *,
        parallelism: int = 1,
        lineage: str = "lineage",
    ) -> None:
        self.sink = sink
        self.location = str(folder)
        self.lineage = lineage
        self.parallelism = parallelism
        self.now = 1_000_000
        self.record: EpochRecord | None = None
        self.zombies: list[Task] = []
        self._snapshots: list[bytes | None] = [None] * parallelism
        self._tasks: list[Task | None] = [None] * parallelism
        self._records: dict[int, EpochRecord] = {}
        self._publish = Publisher({})
        self.start_driver()

    @property
    def next(self) -> int:
        return 0 if self.record is None else self.record.number + 1

    def start_driver(self) -> None:
        """Start a driver, which publishes the last epoch again."""
        self._publish.close()
        self._publish = Publisher(
            {SINK_ID: PublishedSink(NAME, self.sink.create_committer())},
            self.location,
            self._kept,
        )
        self._publish.open()
        if self.record is not None:
            self._publish(self.record)

    def _kept(self) -> list[EpochRecord]:
        """Return the epochs that the job can be set back to: of a job that has ended, none but the last."""
        assert self.record is not None
        last = self.record.number
        first = last if self.record.is_last else last - RETAINED + 1
        return [self._records[number] for number in range(max(first, 0), last + 1)]

    def publish(self) -> None:
        """Publish the last epoch."""
        assert self.record is not None
        self._publish(self.record)

    def close(self) -> None:
        self._publish.close()
        for task in [*self._tasks, *self.zombies]:
            if task is not None:
                task.harness.operator.close()

    def kill(self, subtasks: Sequence[int]) -> None:
        """Let processes go, with what they know; they may come back as zombies."""
        for subtask in subtasks:
            task, self._tasks[subtask] = self._tasks[subtask], None
            if task is not None:
                self.zombies.append(task)

    def _task(self, subtask: int) -> Task:
        found = self._tasks[subtask]
        if found is None:
            found = self._tasks[subtask] = Task(self, subtask)
        return found

    def begin(self, values: Sequence[Sequence[Any]]) -> None:
        """Run an attempt that is given up in the middle."""
        for subtask, part in enumerate(values):
            self._task(subtask).begin(part, self._snapshots[subtask])

    def prepare(self, values: Sequence[Sequence[Any]], *, ends: bool = False) -> Callable[[], None]:
        """Run an attempt to its end, and return what commits it."""
        tasks = [self._task(subtask) for subtask in range(self.parallelism)]
        snapshots = [
            task.run(part, self._snapshots[subtask], ends=ends)
            for subtask, (task, part) in enumerate(zip(tasks, values, strict=True))
        ]
        record = EpochRecord(
            self.next,
            lineage=self.lineage,
            is_last=ends,
            prepared=[one for task in tasks for one in task.prepared],
        )

        def commit() -> None:
            self.record = self._records[record.number] = record
            self._snapshots = snapshots

        return commit

    def run(self, values: Sequence[Sequence[Any]], *, ends: bool = False) -> None:
        """Run an epoch without any mishap."""
        self.prepare(values, ends=ends)()
        self.publish()

    def rescale(self, parallelism: int) -> None:
        """Stop, and go on with another number of subtasks."""
        operator = TwoPhaseCommitOperator(self.sink)
        parts = [OperatorPart(snapshot, MIN_TIMESTAMP) for snapshot in self._snapshots]
        self.kill(range(self.parallelism))
        self.parallelism = parallelism
        self._tasks = [None] * parallelism
        self._snapshots = [
            operator.redistribute(parts, subtask, parallelism, None)
            for subtask in range(parallelism)
        ]
        self.start_driver()


NewJob = Callable[..., SinkJob]
"""Makes a job of a sink, given the options of a `SinkJob` by name."""

EPOCHS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 3), max_size=4),
        st.sampled_from(["nothing", "again", "driver", "attempt"]),
    ),
    max_size=5,
)
"""The keys of each epoch's rows, and what happens beside: it is published again, or the driver or a task is another."""


def written_by_key(
    sink: TwoPhaseCommitSink, folder: Path, epochs: list[tuple[list[int], str]]
) -> list[tuple[int, str]]:
    """Run `EPOCHS` in a job of its own, and return the last row of each key."""
    job = SinkJob(sink, folder / uuid.uuid4().hex, lineage=uuid.uuid4().hex)
    last: dict[int, str] = {}
    for number, (keys, mishap) in enumerate(epochs):
        rows = [(key, f"{number}.{place}") for place, key in enumerate(keys)]
        last |= dict(rows)
        if mishap == "attempt":
            job.prepare([[*rows, (9, "wrong")]])
            job.kill([0])
        job.run([rows])
        if mishap == "again":
            job.publish()
        elif mishap == "driver":
            job.start_driver()
    job.close()
    return sorted(last.items())
