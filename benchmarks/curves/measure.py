"""Points of a curve: what epochs take at one value of what grows, with their results checked."""

# ruff: noqa: D102 - what overrides a documented method is documented

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypedDict
from weakref import WeakValueDictionary

from benchmarks.kit.epochs import SKIPPED, epoch_seconds, rate

from penstock.common import Configuration, WatermarkStrategy
from penstock.common.epoch_listener import EpochCompleted, EpochListener
from penstock.datastream import (
    DataStream,
    HashMapStateBackend,
    RuntimeContext,
    SinkFunction,
    StateBackend,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.base import Source
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.source import NativeSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_EPOCHS = 5
SUM = "sum"

Program = Callable[[DataStream], DataStream]
"""Builds a program on a stream; what it returns holds numbers, and they are summed."""

Outcome = tuple[int, int]
"""How many numbers reached the sink, and their sum."""


class WrongResultError(AssertionError):
    """A job that was timed did not compute what it should."""


class Span(TypedDict):
    """What a figure was in several epochs."""

    median: float
    min: float
    max: float


class PointFigures(TypedDict):
    """A point as it is in the file of figures."""

    x: int
    records: int
    epochs: int
    records_per_second: Span
    epoch_ms: Span


@dataclass(frozen=True)
class Point:
    """What epochs took at one value of what grows.

    Attributes:
        x: The value.
        records: How many records an epoch had.
        milliseconds: What each epoch took.
    """

    x: int
    records: int
    milliseconds: Sequence[float]

    def figures(self) -> PointFigures:
        """The point as it is in the file of figures."""
        rates = [1_000 * self.records / each for each in self.milliseconds]
        return {
            "x": self.x,
            "records": self.records,
            "epochs": len(self.milliseconds),
            "records_per_second": _span(rates),
            "epoch_ms": _span(self.milliseconds),
        }


def _span(figures: Sequence[float]) -> Span:
    return {
        "median": round(statistics.median(figures), 3),
        "min": round(min(figures), 3),
        "max": round(max(figures), 3),
    }


@dataclass(frozen=True)
class Sweep:
    """A curve: the points over the values of one thing that grows.

    Attributes:
        name: What `--sweep` calls it.
        axis: What grows, for the picture.
        where: What it runs on.
        values: The values of the full form.
        quick: Those of the quick form.
        points: Measures the points at some values, each with at least so many epochs.
    """

    name: str
    axis: str
    where: str
    values: Sequence[int]
    quick: Sequence[int]
    points: Callable[[Sequence[int], int], Iterator[Point]]

    @property
    def command(self) -> str:
        """What measures this curve alone."""
        return f"python benchmarks/growth.py --sweep {self.name}"


class Summed(SinkFunction):
    """Adds up the numbers it is given, in a counter of the job's metrics."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_metrics_group().counter(SUM)

    def invoke(self, value: int) -> None:
        self._sum.inc(value)


class Progress(EpochListener):
    """Remembers, of the last epoch, its number and what has reached the sink since the job's start."""

    def __init__(self) -> None:
        self.epochs = 0
        self.found: Outcome = 0, 0

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        sinks = [report for report in event.operators.values() if SUM in report["user"]]
        self.epochs = event.epoch + 1
        self.found = (
            sum(report["records_in"] for report in sinks),
            sum(report["user"][SUM] for report in sinks),
        )

    def check(self, wanted: Outcome) -> None:
        """Make sure that a job has come to what it should.

        Raises:
            WrongResultError: If it has not.
        """
        if self.found != wanted:
            raise WrongResultError(f"{self.found} reached the sink as count and sum, not {wanted}.")


class Epochs(Source):
    """Makes the records of each epoch when it begins, and times the epochs without that.

    For the executor in this process: the source is not copied where programs are.

    Args:
        epochs: For each epoch what makes its records; one without records follows.
    """

    def __init__(self, epochs: Sequence[Callable[[], list[Any]]]) -> None:
        self.native = TimedSource(epochs)

    def description(self) -> NativeSource:
        return self.native


class TimedSource(NativeSource):
    """Reads what `Epochs` makes.

    Attributes:
        seconds: What each epoch took.
    """

    def __init__(self, epochs: Sequence[Callable[[], list[Any]]]) -> None:
        self.epochs = len(epochs) + 1
        self.seconds: list[float] = []
        self._made = epochs
        self._started: float | None = None
        self._id = next(_IDS)
        _SOURCES[self._id] = self

    def __reduce__(self) -> tuple[Callable[[int], TimedSource], tuple[int]]:
        return _source, (self._id,)

    def read(self, epoch: int, subtask: int, parallelism: int) -> Iterator[Block]:
        if subtask > 0:
            return
        if self._started is not None:
            self.seconds.append(perf_counter() - self._started)
        if epoch < len(self._made):
            blocks = list(Block(self._made[epoch]()).cut(BLOCK_SIZE))
            self._started = perf_counter()
            yield from blocks


_IDS = itertools.count()
_SOURCES: WeakValueDictionary[int, TimedSource] = WeakValueDictionary()


def _source(number: int) -> TimedSource:
    return _SOURCES[number]


def in_process(
    epochs: Sequence[Callable[[], list[Any]]],
    program: Program,
    wanted: Callable[[], Outcome],
    backend: StateBackend | None = None,
) -> list[float]:
    """Run a program in this process, in one subtask, and check what it came to.

    Args:
        epochs: For each epoch what makes its records.
        program: The program.
        wanted: What has to reach the sink, asked once the input has ended.
        backend: Keeps the state; None for memory.

    Returns:
        What each epoch took, in milliseconds.

    Raises:
        WrongResultError: If something else reached the sink.
    """
    configuration = Configuration().set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    env.set_state_backend(backend or HashMapStateBackend())
    progress = Progress()
    env.add_epoch_listener(progress)
    source = Epochs(epochs)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "input")
    program(stream).add_sink(Summed())
    env.execute("growth")
    progress.check(wanted())
    return [1_000 * each for each in source.native.seconds]


def on_spark(
    spark: SparkSession,
    parallelism: int,
    rows: int,
    epochs: int,
    program: Program,
    wanted: Callable[[int], Outcome],
) -> list[float]:
    """Run a program on Spark over a stream of the numbers from 0, and check what it came to.

    Args:
        spark: The session.
        parallelism: How many subtasks each operator has.
        rows: How many numbers an epoch has.
        epochs: How many epochs are timed.
        program: The program.
        wanted: What has to reach the sink of so many numbers.

    Returns:
        What each epoch took by Spark's account, in milliseconds.

    Raises:
        WrongResultError: If something else reached the sink.
    """
    env = StreamExecutionEnvironment.get_execution_environment(spark=spark)
    env.set_parallelism(parallelism)
    progress = Progress()
    env.add_epoch_listener(progress)
    numbers = env.from_data_frame(rate(spark, rows)).map(lambda row: row[0])
    program(numbers).add_sink(Summed())

    def start() -> Callable[[], None]:
        job = env.execute_async("growth")
        return lambda: job.cancel().result() and None

    seconds = epoch_seconds(spark, start, epochs)
    if progress.epochs < SKIPPED + epochs:
        raise WrongResultError(f"{progress.epochs} epochs were reported, not {SKIPPED + epochs}.")
    progress.check(wanted(progress.epochs * rows))
    return [1_000 * each for each in seconds]
