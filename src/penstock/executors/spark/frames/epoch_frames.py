"""The DataFrame of an epoch: a straight line of levels, whatever the shape of the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import LongType, TimestampType

from penstock.executors.spark.connect import is_connect
from penstock.executors.spark.frames.buffer_rows import CARRIER, ORDER, SCHEMA, from_batches
from penstock.executors.spark.frames.levels import (
    ORIGIN,
    ChainLevel,
    FrameInput,
    SourceLevel,
    Work,
    as_function,
    origin_of,
)
from penstock.executors.spark.hosted.sessions import in_session
from penstock.executors.spark.interruption import interruptible
from penstock.executors.spark.kafka.groups import ReadTopics
from penstock.executors.spark.page.description import describe
from penstock.executors.spark.page.names import level_names, page_name
from penstock.executors.spark.session import has_local_workers, time_zone_of
from penstock.executors.spark.versions.frames import collected, partitioned, place
from penstock.executors.spark.workers import ended_runs
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer
from penstock.runtime.layout import Layout
from penstock.runtime.task.logs.log_levels import LogLevels
from penstock.runtime.task.logs.worker_log import LogSettings

_BATCH_SIZE: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_USUAL_ROWS: Final = "10000"
_COLUMN_ROWS: Final = "65536"
_LEVEL_SCHEMA: Final = from_arrow_schema(SCHEMA)


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
        as_columns: True if the chain makes use of rows that are still columns.
        is_keyed: See `Reading`.
        topics: See `Reading`.
    """

    number: int
    vertex: int
    parallelism: int
    frame: DataFrame
    as_values: bool
    split: str | None = None
    as_columns: bool = False
    is_keyed: bool = False
    topics: ReadTopics | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that hold the source's rows on level 0."""
        if self.is_keyed:
            return self.names
        return tuple(f"__penstock_{self.number}_{index}" for index in range(len(self.names)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the DataFrame's columns."""
        return tuple(self.frame.columns)

    @property
    def times(self) -> frozenset[str]:
        """Which of these columns hold points in time: they travel as their microseconds.

        So Spark hands over a row with one in about half of the time.
        """
        pairs = zip(self.columns, self.frame.schema.fields, strict=True)
        return frozenset(name for name, field in pairs if field.dataType == TimestampType())

    @property
    def full(self) -> list[Column]:
        """The columns of a row of this source."""
        times = self.times
        return [
            sf.unix_micros(name).alias(name) if name in times else sf.col(name)
            for name in self.columns
        ]

    @property
    def empty(self) -> list[Column]:
        """The columns of a row that is not of this source."""
        times = self.times
        pairs = zip(self.columns, self.frame.schema.fields, strict=True)
        return [
            sf.lit(None).cast(LongType() if name in times else field.dataType).alias(name)
            for name, field in pairs
        ]


class EpochFrames:
    """Makes the DataFrame of each epoch of a job.

    What is the same in every epoch is made once: each call that Spark's plans take costs some tenths of a
    millisecond on its way to the JVM.

    Args:
        spark: The session.
        job_id: Tells the runs of jobs apart.
        program: The program, pickled.
        layout: Where subtasks run.
        sources: The sources whose rows Spark reads, in any session that has the same views.
        native_parallelism: The greatest parallelism of sources whose tasks are subtasks.
        is_alone: Whether one DataFrame is all that the program reads, and no ticks are among its rows.
        log_lines: How many lines that functions log in a subtask and epoch the driver gets.
        name: The name of the job.

    Attributes:
        spark: The session.
    """

    def __init__(
        self,
        spark: SparkSession,
        job_id: str,
        program: bytes,
        layout: Layout,
        sources: Sequence[SparkSource],
        native_parallelism: int,
        *,
        is_alone: bool = False,
        log_lines: int = 0,
        name: str = "penstock",
    ) -> None:
        self._log_lines = log_lines
        self.spark = spark
        self._job_id = job_id
        self._program = program
        self._layout = layout
        self._sources = tuple(sources)
        self._is_alone = is_alone
        self._name = page_name(name)
        self._levels = level_names(layout.program)
        self._shares = max(1, min(layout.cores, native_parallelism))

    def in_session(self, spark: SparkSession) -> EpochFrames:
        """Return what makes the DataFrames of epochs in a session; that of a query differs under Spark Connect."""
        if spark is self.spark or not is_connect(spark):
            return self
        found = copy(self)
        found.spark = spark
        # It is of the session.
        vars(found).pop("_control", None)
        return found

    def rows(self, sources: Iterable[SparkSource]) -> DataFrame | None:
        """Return the rows of sources as one frame, each with columns of its own; None for none.

        Spark hands over columns in two thirds of the time that structs of them take.
        """
        parts = [self._part(source) for source in sources]
        return reduce(DataFrame.union, parts) if parts else None

    def _part(self, source: SparkSource) -> DataFrame:
        if source.is_keyed:
            return source.frame
        frame = in_session(source.frame, self.spark)
        frame = frame.coalesce(min(source.parallelism, self._layout.cores))
        if self._is_alone:
            return frame.toDF(*source.columns).select(*source.full)
        columns = [
            column
            for other in self._sources
            for column in (source.full if other.number == source.number else other.empty)
        ]
        origin = sf.lit(origin_of(source.number)).cast("short").alias(ORIGIN)
        return frame.toDF(*source.columns).select(origin, *columns)

    def without_rows(self, frame: DataFrame) -> DataFrame:
        """Return a frame that has no rows in the form that `rows` gives."""
        origin = sf.lit(None).cast("short").alias(ORIGIN)
        return frame.select(origin, *self._no_rows())

    def _no_rows(self) -> list[Column]:
        return [column for source in self._sources for column in source.empty]

    def frame(
        self,
        epoch: Epoch,
        rows: DataFrame | None,
        note: str | None = None,
        logs: LogSettings | None = None,
    ) -> DataFrame:
        """Return the frame that runs an epoch: what tasks tell the driver, as buffers.

        Args:
            epoch: The epoch.
            rows: The rows of the sources that Spark reads, as `rows` gives them.
            note: Where tasks note which query they belong to.
            logs: What they do with what functions log. Default: nothing, nobody would read it.
        """
        work = Work(
            self._job_id, self._program, self._layout.cores, epoch, note, ended_runs(), logs
        )
        files = self._layout.program.files
        is_alone = self._is_alone and rows is not None
        level_0 = SourceLevel(work, self._inputs, self._shares, is_alone)
        frame = self._with_control(rows).mapInArrow(
            as_function(level_0, self._levels[0], files), _LEVEL_SCHEMA
        )
        # What is planned is for level 0 alone, and may be much.
        work = replace(work, epoch=replace(epoch, planned={}))
        for level in range(1, self._layout.levels):
            function = as_function(ChainLevel(work, level), self._levels[level], files)
            carriers = self._layout.carriers(level)
            frame = (
                partitioned(frame, carriers, self._places[carriers])
                .sortWithinPartitions(self._order)
                .mapInArrow(function, _LEVEL_SCHEMA)
            )
        return frame

    @cached_property
    def _inputs(self) -> tuple[FrameInput, ...]:
        zone = time_zone_of(self.spark)
        return tuple(
            FrameInput(
                source.number,
                source.columns,
                source.names,
                dict.fromkeys(source.times, zone),
                source.vertex,
                source.as_values,
                source.split,
                source.as_columns,
                source.is_keyed,
                source.topics is not None,
            )
            for source in self._sources
        )

    @cached_property
    def _places(self) -> dict[int, Column]:
        """By the number of partitions, where rows go."""
        counts = {self._layout.carriers(level) for level in range(1, self._layout.levels)}
        return {count: place(count, CARRIER) for count in counts}

    @cached_property
    def _order(self) -> Column:
        return sf.col(ORDER)

    @cached_property
    def _control(self) -> DataFrame:
        return self.spark.range(0, self._shares, 1, self._shares).select(
            sf.col("id").cast("short").alias(ORIGIN), *self._no_rows()
        )

    def _with_control(self, rows: DataFrame | None) -> DataFrame:
        """Add the control rows: without them a source without data would have no task."""
        if rows is None:
            return self._control
        if self._is_alone:
            return rows
        wanted = sum(min(source.parallelism, self._layout.cores) for source in self._sources)
        # One control row goes with the last rows: a task of its own would cost as much as theirs.
        tasks = wanted if self._shares == 1 else wanted + self._shares
        return rows.union(self._control).coalesce(min(3 * self._layout.cores, tasks))

    def run(self, epoch: Epoch, rows: DataFrame | None, note: str | None = None) -> list[Buffer]:
        """Run an epoch, as one action, and return what its tasks told the driver."""
        describe(self.spark, self._name, f"epoch {epoch.number}", " | ".join(self._levels))
        with self._large_batches(), interruptible(self.spark, self._job_id):
            batches = collected(self.frame(epoch, rows, note, self._logs()), SCHEMA)
        if not any(batch.num_rows for batch in batches) and self._is_alone and rows is not None:
            # The DataFrame has no partition, so there was no task at all.
            return self.run(epoch, None, note)
        return list(from_batches(batches))

    def _logs(self) -> LogSettings | None:
        if not self._log_lines:
            return None
        return LogSettings(LogLevels.here(), self._log_lines, echoes=not self._is_one_machine)

    @cached_property
    def _is_one_machine(self) -> bool:
        """Whether workers write to the terminal of the driver."""
        return has_local_workers(self.spark)

    @contextmanager
    def _large_batches(self) -> Iterator[None]:
        """Have Spark hand over larger batches, in less time, where a chain works on columns."""
        usual = self.spark.conf.get(_BATCH_SIZE)
        if usual != _USUAL_ROWS or not any(source.as_columns for source in self._sources):
            yield
            return
        self.spark.conf.set(_BATCH_SIZE, _COLUMN_ROWS)
        try:
            yield
        finally:
            self.spark.conf.set(_BATCH_SIZE, usual)
