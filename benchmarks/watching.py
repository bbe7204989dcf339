"""What it costs a job to be watched.

    python benchmarks/watching.py                  all parts
    python benchmarks/watching.py --quick          the same for a shorter time
    python benchmarks/watching.py --part 1         one part
    python benchmarks/watching.py --json FILE      the figures as JSON too

Part 1: two chains of two subtasks in this process, at full speed.
Part 2: twenty chains of sixteen subtasks in this process, which have as much to say of themselves as a large job.
Part 3: two chains of two subtasks on Spark, at full speed.
Part 4: the same with epochs as short as they can be.

In this process a job has one processor, which whoever watches it takes away: Python runs one thread at a time. A job
runs through all rounds of a part, and is watched in turn by nobody, by nobody though the REST API is there, by five
pages with the log open, each of which asks once a second, by a Prometheus that scrapes every five seconds, and by
somebody who sees its line in a terminal. Those that ask over HTTP are other processes, as browsers are.

There are two figures for each. The job's records a second, or what its epochs take, show what it feels, as far as a
machine is quiet enough to show so little. What the driver's threads that answer take of a processor is the most that
it can be, and differs little from run to run: this has to be below 1%.
"""

from __future__ import annotations

import argparse
import os
import pty
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import script
from benchmarks.kit.measure import Row, alternate
from benchmarks.kit.session import shared_session
from benchmarks.sides import watchers
from benchmarks.sides.functions import add, bucket, is_even, is_wanted, key_of, spread

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import (
    EpochCompleted,
    EpochListener,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.base import Source
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.driver.observation.running_jobs import JOBS
from penstock.executors.driver.progress.progress import FOLLOWERS
from penstock.executors.driver.rest.serving import Serving
from penstock.runtime.exchange.elements import Block
from penstock.runtime.source import NativeSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOBODY = "nobody watches"
PATIENCE = 120.0
WARM_UP = 5
"""Epochs at a job's start that are not counted."""

_ANSWERING = ("rest-server", "job-lines")
_OF_REQUESTS = "(process_request_thread)"


@dataclass(frozen=True)
class Scale:
    """How much of everything: rounds, and for how many seconds a side is measured in each."""

    rounds: int = 5
    seconds: float = 5


QUICK = Scale(rounds=1)


@dataclass(frozen=True)
class Shape:
    """What a job is like.

    Attributes:
        chains: How many chains it has.
        parallelism: How many subtasks each of them has.
        records: How many records an epoch has.
    """

    chains: int = 2
    parallelism: int = 2
    records: int = 100_000


class Endless(NativeSource):
    """Numbers, so many in each epoch, for longer than anybody waits."""

    epochs = 1 << 40

    def __init__(self, records: int) -> None:
        self._records = records

    def read(self, epoch: int, subtask: int, parallelism: int) -> Iterator[Block]:
        """See `NativeSource.read`."""
        count = self._records // parallelism
        first = epoch * self._records + subtask * count
        yield Block(list(range(first, first + count)), is_immutable=True, is_harmless=True)


class Numbers(Source):
    """The numbers, as a source of a program."""

    def __init__(self, records: int) -> None:
        self._records = records

    def description(self) -> NativeSource:
        """See `Source.description`."""
        return Endless(self._records)


class Ignored:
    """A sink that has no use for records."""

    def invoke(self, value: int) -> None:
        """Takes one."""


@dataclass
class Epochs(EpochListener):
    """Takes down when epochs were committed, with how many records, and what they took."""

    moments: list[tuple[float, int, int]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        """See `EpochListener`."""
        with self.changed:
            self.moments.append((time.perf_counter(), event.records_in, event.duration))
            self.changed.notify()

    def await_more(self, count: int) -> int:
        """Waits for so many more epochs, and returns how many there are."""
        with self.changed:
            wanted = len(self.moments) + count
            if not self.changed.wait_for(lambda: len(self.moments) >= wanted, PATIENCE):
                raise TimeoutError("A job did not get on while it was watched.")
            return len(self.moments)


@dataclass(frozen=True)
class Taken:
    """What was measured while a job was watched.

    Attributes:
        rate: The job's records a second.
        epoch: What its epochs took, in milliseconds, the median.
        share: What the threads that answer took, in percent of a processor.
    """

    rate: float
    epoch: float
    share: float


@dataclass(frozen=True)
class Running:
    """A job that runs.

    Attributes:
        observed: What is seen of it.
        epochs: Its epochs.
    """

    observed: ObservedJob
    epochs: Epochs

    def measure(self, seconds: float) -> Taken:
        """Measures it for some seconds, from an epoch to another."""
        first = self.epochs.await_more(1) - 1
        start, spent = time.perf_counter(), _spent_answering()
        time.sleep(seconds)
        share = 100 * (_spent_answering() - spent) / (time.perf_counter() - start)
        last = self.epochs.await_more(1) - 1
        (began, _, _), *found = self.epochs.moments[first : last + 1]
        records = sum(count for _, count, _ in found)
        took = statistics.median(duration for _, _, duration in found)
        return Taken(records / (found[-1][0] - began), took, share)


def _spent_answering() -> float:
    """What the threads that answer have taken of a processor, in seconds."""
    spent = 0.0
    for thread in threading.enumerate():
        answers = thread.name in _ANSWERING or thread.name.endswith(_OF_REQUESTS)
        if answers and thread.ident is not None:
            spent += time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
    return spent


@contextmanager
def running(shape: Shape, spark: SparkSession | None = None) -> Iterator[Running]:
    """Has a job run, in this process or on Spark."""
    settings = {"rest.enabled": "false", "execution.progress": "off"}
    if spark is None:
        settings["execution.target"] = "local"
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(shape.parallelism)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    epochs = Epochs()
    env.add_epoch_listener(epochs)
    source = Numbers(shape.records)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(spread)
    for _ in range(shape.chains - 2):
        stream = stream.rebalance().map(bucket)
    sums = stream.map(bucket).filter(is_wanted).key_by(key_of).reduce(add).filter(is_even)
    sums.add_sink(cast("Any", Ignored()))
    client = env.execute_async("watched")
    try:
        epochs.await_more(WARM_UP)
        yield Running(JOBS.jobs()[-1], epochs)
    finally:
        client.cancel().result()


@contextmanager
def served() -> Iterator[int]:
    """Has the REST API there, and returns its port."""
    serving = Serving(default_port=0)
    address = serving.serve("watched", Configuration().set_string("execution.progress", "off"))
    try:
        yield int(address.rpartition(":")[2])
    finally:
        serving.close()


@contextmanager
def asked(job: Running, what: str, count: int, every: float) -> Iterator[None]:
    """Has so many ask the REST API for something: see `watchers`."""
    with served() as port:
        words = [port, job.observed.job_id, what, count, every]
        command = [sys.executable, watchers.__file__, *map(str, words)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
            assert process.stdout.readline() == b"watching\n"
            yield
            assert process.poll() is None
            process.stdin.close()


@contextmanager
def shown(job: Running) -> Iterator[None]:
    """Has the job's line in a terminal."""
    reading, writing = pty.openpty()
    with (
        subprocess.Popen(["cat"], stdin=reading, stdout=subprocess.DEVNULL) as process,
        os.fdopen(writing, "w") as terminal,
    ):
        os.close(reading)
        with redirect_stderr(terminal):
            line = FOLLOWERS.follow(job.observed, Configuration(), is_awaited=True)
            yield
            line.end()
        process.terminate()


Watch = Callable[[Running], AbstractContextManager[object]]
WATCHERS: dict[str, Watch] = {
    NOBODY: lambda _: nullcontext(),
    "the REST API is there": lambda _: served(),
    "five pages with the log open": lambda job: asked(job, "page", 5, 1.0),
    "a Prometheus every 5 s": lambda job: asked(job, "/metrics", 1, 5.0),
    "the line in a terminal": shown,
}


def watched(
    label: str, shape: Shape, scale: Scale, spark: SparkSession | None, *, of_epochs: bool = False
) -> list[Row]:
    """Measures a job that is watched in turn by all.

    Args:
        label: What the job is, for a reader.
        shape: What it is like.
        scale: How much is measured.
        spark: The session that it runs in; None for this process.
        of_epochs: Whether what it feels is measured by its epochs, and not by its rate.
    """
    shares: dict[str, list[float]] = {name: [] for name in WATCHERS}
    with running(shape, spark) as job:

        def run(name: str) -> float:
            with WATCHERS[name](job):
                taken = job.measure(scale.seconds)
            shares[name].append(taken.share)
            return taken.epoch if of_epochs else taken.rate

        figures = alternate({name: partial(run, name) for name in WATCHERS}, scale.rounds)
    rows = []
    for name in [name for name in WATCHERS if name != NOBODY]:
        felt = (
            {"unit": "ms an epoch", "lower_is_better": True} if of_epochs else {"unit": "records/s"}
        )
        what = f"{label}: {name}"
        rows.append(
            Row(job=what, penstock=figures[name], against=NOBODY, other=figures[NOBODY], **felt)
        )
        took = "% of a processor for it"
        rows.append(Row(job=what, unit=took, penstock=shares[name], target=1, lower_is_better=True))
    return rows


def small(scale: Scale) -> list[Row]:
    """Part 1: a small job in this process."""
    return watched("2 chains of 2 subtasks in one process", Shape(), scale, None)


def large(scale: Scale) -> list[Row]:
    """Part 2: one of many subtasks."""
    shape = Shape(chains=20, parallelism=16, records=20_000)
    return watched("20 chains of 16 subtasks in one process", shape, scale, None)


def on_spark(scale: Scale) -> list[Row]:
    """Part 3: a small job on Spark."""
    shape = Shape(records=1_000_000)
    return watched("2 chains of 2 subtasks on Spark", shape, scale, shared_session())


def short_epochs(scale: Scale) -> list[Row]:
    """Part 4: one with short epochs."""
    shape = Shape(records=100)
    label = "epochs of 100 records on Spark"
    return watched(label, shape, scale, shared_session(), of_epochs=True)


PARTS = (small, large, on_spark, short_epochs)


def main() -> None:
    arguments = parser().parse_args()
    scale = QUICK if arguments.quick else Scale()
    script.run(__file__, arguments, [partial(part, scale) for part in PARTS])


def parser() -> argparse.ArgumentParser:
    return script.parser(__doc__, len(PARTS))


if __name__ == "__main__":
    main()
