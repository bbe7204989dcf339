"""The functions that Spark calls in its workers, one kind for level 0 and one for those above."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from penstock.errors import SourceNotReadableError
from penstock.executors.spark.buffers import from_batches, to_batches
from penstock.executors.spark.rows import parts_by_split, rows_of
from penstock.runtime.buffer import Buffer
from penstock.runtime.carrier import Carrier
from penstock.runtime.elements import Block
from penstock.runtime.epoch import Epoch
from penstock.runtime.program import Vertex
from penstock.runtime.registry import tasks_of

CONTROL = "__penstock_control"


@dataclass(frozen=True)
class FrameInput:
    """A source whose rows Spark reads, as its rows arrive on level 0.

    Attributes:
        column: The name of the struct column that holds them.
        vertex: The index of the vertex whose chain they enter.
        as_values: True if the records are the values of the only field, not rows.
        split: The field that names the split of a row; None if all are of one split.
    """

    column: str
    vertex: int
    as_values: bool
    split: str | None = None


@dataclass(frozen=True)
class Work:
    """What every task of an epoch is given.

    Attributes:
        job_id: Tells the runs of jobs apart.
        program: The program, pickled.
        cores: How many tasks run at once.
        epoch: The epoch.
    """

    job_id: str
    program: bytes
    cores: int
    epoch: Epoch

    def carrier(self, level: int) -> Carrier:
        """Return the carrier that the running task of Spark is."""
        context = TaskContext.get()
        assert context is not None
        return Carrier(
            (tasks := tasks_of(self.job_id, self.program, self.cores)).layout,
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
    """

    work: Work
    inputs: tuple[FrameInput, ...]
    shares: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn batches of rows into batches of buffers."""
        return to_batches(self._buffers(batches))

    def _buffers(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Buffer]:
        carrier = self.work.carrier(0)
        vertices = carrier.program.vertices
        for batch in batches:
            for share in batch.column(CONTROL).drop_null().to_pylist():
                yield from carrier.control(share, self.shares)
            for source in self.inputs:
                struct = batch.column(source.column)
                if struct.null_count:
                    struct = struct.drop_null()
                vertex = vertices[source.vertex]
                for split, part in parts_by_split(struct, source.split):
                    try:
                        rows = rows_of(part, as_values=source.as_values)
                    except UnicodeDecodeError as error:
                        yield from carrier.fail(vertex, _not_utf_8(vertex, error))
                    else:
                        yield from carrier.feed(vertex, Block(rows), split)
        yield from carrier.finish()


def _not_utf_8(vertex: Vertex, error: UnicodeDecodeError) -> SourceNotReadableError:
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
        return to_batches(self.work.carrier(self.level).run(from_batches(batches)))


MapFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def as_function(level: Any) -> MapFunction:
    """Return a level as the plain function that `mapInArrow` wants."""

    def run_level(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return level(batches)  # type: ignore[no-any-return]

    return run_level
