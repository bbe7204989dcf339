"""The functions that Spark calls in its workers, one kind for level 0 and one for those above."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from penstock.common.rows.data_frame_row import row_factory
from penstock.errors import SourceNotReadableError
from penstock.executors.spark.frames.buffer_rows import from_batches, to_batches
from penstock.executors.spark.interruption import note_query
from penstock.executors.spark.page.names import named
from penstock.executors.spark.versions.features import version_of
from penstock.executors.spark.versions.needs import PYARROW
from penstock.executors.spark.worker_files import files_folder
from penstock.executors.spark.workers import end_quietly
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.arrow_columns import column_values, parts_by_split, rows_of
from penstock.runtime.exchange.buffer import Buffer
from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.row_block import RowBlock
from penstock.runtime.job_files.job_files import JobFiles
from penstock.runtime.job_files.workplace import at_work
from penstock.runtime.planned.kafka.row_messages import messages_of
from penstock.runtime.program import Vertex
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.task.garbage import Survivors
from penstock.runtime.task.logs.worker_log import WORKER_LOG, LogSettings
from penstock.runtime.task.registry import tasks_of
from penstock.runtime.task.stack_room import iterated_with_room

_SURVIVORS: Final = Survivors()
_NO_FILES: Final = JobFiles()

ORIGIN = "__penstock_origin"
"""The column that says where a row is from: of a control row the share, of others see `origin_of`; null
in a row that only makes an epoch begin."""


def origin_of(source: int) -> int:
    """Return what stands in that column for the rows of a source, given its number."""
    return -1 - source


@dataclass(frozen=True)
class FrameInput:
    """A source whose rows Spark reads, as its rows arrive on level 0.

    Attributes:
        number: The number of the source in its program.
        columns: The names of the columns that hold them.
        names: What users know these columns by.
        zones: The columns that hold points in time as microseconds, with the time zone of each.
        vertex: The index of the vertex whose chain they enter.
        as_values: True if the records are the values of the only field, not rows.
        split: The field that names the split of a row; None if all are of one split.
        as_columns: True if the chain makes use of rows that are still columns.
        is_keyed: True if the rows are those of the subtasks' keys. `split` is the field that names the
            subtask, if it is not the one with the number of the carrier.
        as_messages: True if the rows are messages, of which the source makes records.
    """

    number: int
    columns: tuple[str, ...]
    names: tuple[str, ...]
    zones: dict[str, str]
    vertex: int
    as_values: bool
    split: str | None = None
    as_columns: bool = False
    is_keyed: bool = False
    as_messages: bool = False


@dataclass(frozen=True)
class Work:
    """What every task of an epoch is given.

    Attributes:
        job_id: Tells the runs of jobs apart.
        program: The program, pickled.
        cores: How many tasks run at once.
        epoch: The epoch.
        ended: Runs of jobs that have ended, and may still have open functions in workers.
        note: The file in which the tasks note which query of Spark's they belong to, so that it can be
            interrupted; None for none.
        logs: What to do with what functions log; None to leave it to the worker.
    """

    job_id: str
    program: bytes
    cores: int
    epoch: Epoch
    note: str | None = None
    ended: tuple[str, ...] = ()
    logs: LogSettings | None = None

    def note_query(self) -> None:
        """Note which query of Spark's the running task belongs to."""
        if self.note is not None:
            note_query(self.note)

    def carrier(self, level: int) -> Carrier:
        """Return the carrier that the running task of Spark is."""
        context = TaskContext.get()
        assert context is not None
        end_quietly()
        WORKER_LOG.set_up(self.logs)
        _SURVIVORS.set_aside()
        return Carrier(
            (tasks := tasks_of(self.job_id, self.program, self.cores, self.ended)).layout,
            self.epoch,
            level,
            context.partitionId(),
            str(context.taskAttemptId()),
            tasks,
        )


@dataclass(frozen=True)
class SourceLevel:
    """Runs level 0: reads the rows of sources, and the control rows.

    Attributes:
        work: What every task is given.
        inputs: The sources whose rows Spark reads.
        shares: How many carriers share the sources that workers read by themselves.
        is_alone: Whether all rows are of the one source there is, and there are no control rows.
    """

    work: Work
    inputs: tuple[FrameInput, ...]
    shares: int
    is_alone: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn batches of rows into batches of buffers."""
        self.work.note_query()
        carrier = self.work.carrier(0)
        return told(carrier, to_batches(self._buffers(carrier, batches)))

    def _buffers(self, carrier: Carrier, batches: Iterable[pa.RecordBatch]) -> Iterator[Buffer]:
        if self.is_alone and self.inputs[0].is_keyed:
            yield from carrier.control(carrier.number, self.shares)
        elif self.is_alone and carrier.number == 0:
            yield from carrier.control(0, 1)
        for batch in batches:
            if self.is_alone:
                yield from _fed(carrier, self.inputs[0], batch)
                continue
            origins = batch.column(ORIGIN)
            found = pc.unique(origins).to_pylist()
            for share in [origin for origin in found if origin is not None and origin >= 0]:
                yield from carrier.control(share, self.shares)
            for source in self.inputs:
                origin = origin_of(source.number)
                if origin in found:
                    rows = batch if len(found) == 1 else batch.filter(pc.equal(origins, origin))
                    yield from _fed(carrier, source, rows)
        yield from carrier.finish()


def _fed(carrier: Carrier, source: FrameInput, rows: pa.RecordBatch) -> Iterator[Buffer]:
    """Give rows of a source to its chain."""
    vertex = carrier.program.vertices[source.vertex]
    for split, part in parts_by_split(_struct(rows, source), source.split):
        if source.as_messages:
            yield from carrier.feed_messages(vertex, messages_of(part), split)
            continue
        try:
            block = _block(part, source)
        except (UnicodeDecodeError, pa.ArrowInvalid) as error:
            yield from carrier.fail(vertex, _not_utf_8(vertex, error))
        else:
            if source.is_keyed:
                yield from carrier.feed(vertex, block, subtask=split)
            else:
                yield from carrier.feed(vertex, block, split)


def _struct(rows: pa.RecordBatch, source: FrameInput) -> pa.StructArray:
    if not source.columns:
        return pa.array([{}] * rows.num_rows, pa.struct([]))
    columns = [
        rows.column(name).view(pa.timestamp("us", source.zones[name]))
        if name in source.zones
        else rows.column(name)
        for name in source.columns
    ]
    return pa.StructArray.from_arrays(columns, source.names)


def _block(rows: pa.StructArray, source: FrameInput) -> Block:
    if source.as_columns:
        rows.validate(full=True)
        return ColumnBlock(rows)
    if source.as_values or not source.names:
        return Block(rows_of(rows, as_values=source.as_values))
    return RowBlock(row_factory(source.names), [column_values(column) for column in rows.flatten()])


def _not_utf_8(vertex: Vertex, error: Exception) -> SourceNotReadableError:
    return SourceNotReadableError(
        f"{vertex.operators[0].name!r} reads text that is not in UTF-8: {error}.",
        hint="Give read_text_file() the encoding of the file, or read the column as binary.",
    )


@dataclass(frozen=True)
class ChainLevel:
    """Runs a level above 0.

    Attributes:
        work: What every task is given.
        level: The level.
    """

    work: Work
    level: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn batches of buffers into batches of buffers."""
        carrier = self.work.carrier(self.level)
        return told(carrier, to_batches(carrier.run(from_batches(batches))))


def told(carrier: Carrier, work: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Do work of a carrier, and tell the driver at its end where its time went, and what was logged."""
    return WORKER_LOG.carried(carrier.profiled(work, _as_batch), carrier, _as_batch)


def _as_batch(buffer: Buffer) -> pa.RecordBatch:
    return next(to_batches([buffer]))


MapFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def as_function(level: Any, name: str, files: JobFiles = _NO_FILES) -> MapFunction:
    """Return a level as the plain function that `mapInArrow` wants, which runs where it finds the job's files.

    Args:
        level: The level.
        name: What Spark's plan calls it.
        files: The job's files.
    """

    def run_level(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _check_arrow()
        return iterated_with_room(level(batches))

    def run_at_work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with at_work(files, files_folder()):
            yield from run_level(batches)

    return named(run_at_work if files else run_level, name)


def _check_arrow() -> None:
    """Make sure that this worker, which may be on any machine, has a pyarrow that penstock works with."""
    found = version_of(pa.__version__)
    if found is not None and not PYARROW.has(found):
        raise ImportError(
            f"penstock works with pyarrow {PYARROW}, and this is pyarrow {pa.__version__}"
        )
