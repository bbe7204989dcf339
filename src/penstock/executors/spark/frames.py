"""The DataFrame of an epoch: a straight line of levels, whatever the shape of the program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.executors.spark.buffers import ORDER, SCHEMA, from_batches
from penstock.executors.spark.levels import (
    CONTROL,
    ChainLevel,
    FrameInput,
    SourceLevel,
    Work,
    as_function,
)
from penstock.runtime.buffer import Buffer
from penstock.runtime.epoch import Epoch
from penstock.runtime.layout import Layout


@dataclass(frozen=True)
class SparkSource:
    """A source whose rows Spark reads.

    Attributes:
        number: The number of the source in its program.
        vertex: The index of the vertex whose chain its rows enter.
        parallelism: The parallelism of that vertex.
        frame: The DataFrame.
        as_values: True if the records are the values of the only column, not rows.
        split: The column that names the split of a row; None if all are of one split.
    """

    number: int
    vertex: int
    parallelism: int
    frame: DataFrame
    as_values: bool
    split: str | None = None

    @property
    def column(self) -> str:
        """The name of the struct column that holds the source's rows on level 0."""
        return f"__penstock_{self.number}"


class EpochFrames:
    """Makes the DataFrame of each epoch of a job.

    Args:
        spark: The session.
        job_id: Tells the runs of jobs apart.
        program: The program, pickled.
        layout: Where subtasks run.
        sources: The sources whose rows Spark reads.
        native_parallelism: The greatest parallelism of sources that workers read by themselves.
    """

    def __init__(
        self,
        spark: SparkSession,
        job_id: str,
        program: bytes,
        layout: Layout,
        sources: Sequence[SparkSource],
        native_parallelism: int,
    ) -> None:
        self._spark = spark
        self._job_id = job_id
        self._program = program
        self._layout = layout
        self._sources = tuple(sources)
        self._shares = max(1, min(layout.cores, native_parallelism))

    def rows(self, sources: Iterable[SparkSource]) -> DataFrame | None:
        """Return the rows of sources as one frame, with a struct column for each; None for none."""
        parts = [self._part(source) for source in sources]
        return reduce(DataFrame.union, parts) if parts else None

    def _part(self, source: SparkSource) -> DataFrame:
        frame = source.frame.coalesce(min(source.parallelism, self._layout.cores))
        columns = frame.columns
        struct = sf.struct(*[sf.col(f"`{name}`").alias(name) for name in columns])
        others = [self._empty(other) for other in self._sources if other.number < source.number]
        rest = [self._empty(other) for other in self._sources if other.number > source.number]
        control = sf.lit(None).cast("long").alias(CONTROL)
        return frame.select(control, *others, struct.alias(source.column), *rest)

    def without_rows(self, frame: DataFrame) -> DataFrame:
        """Return a frame that has no rows in the form that `rows` gives."""
        control = sf.lit(None).cast("long").alias(CONTROL)
        return frame.select(control, *[self._empty(source) for source in self._sources])

    def _empty(self, source: SparkSource) -> Column:
        return sf.lit(None).cast(source.frame.schema).alias(source.column)

    def frame(self, epoch: Epoch, rows: DataFrame | None) -> DataFrame:
        """Return the frame that runs an epoch: what tasks tell the driver, as buffers.

        Args:
            epoch: The epoch.
            rows: The rows of the sources that Spark reads, as `rows` gives them.
        """
        work = Work(self._job_id, self._program, self._layout.cores, epoch)
        inputs = tuple(
            FrameInput(source.column, source.vertex, source.as_values, source.split)
            for source in self._sources
        )
        level_0 = SourceLevel(work, inputs, self._shares)
        frame = self._with_control(rows).mapInArrow(as_function(level_0), SCHEMA)
        for level in range(1, self._layout.levels):
            frame = (
                frame.repartitionById(self._layout.carriers(level), sf.col("carrier"))
                .sortWithinPartitions(*ORDER)
                .mapInArrow(as_function(ChainLevel(work, level)), SCHEMA)
            )
        return frame

    def _with_control(self, rows: DataFrame | None) -> DataFrame:
        """Put the control rows first: without them a source without data would have no task."""
        control = self._spark.range(0, self._shares, 1, self._shares).select(
            sf.col("id").alias(CONTROL), *[self._empty(source) for source in self._sources]
        )
        if rows is None:
            return control
        wanted = sum(min(source.parallelism, self._layout.cores) for source in self._sources)
        return control.union(rows).coalesce(min(3 * self._layout.cores, self._shares + wanted))

    def run(self, epoch: Epoch, rows: DataFrame | None) -> list[Buffer]:
        """Run an epoch, as one action, and return what its tasks told the driver."""
        table = self.frame(epoch, rows).toArrow()
        return list(from_batches(table.to_batches()))
