"""What checkpoints cost: epochs of small changes to large state, throughput, and starting again.

    python benchmarks/checkpoints.py                    all parts on local[2]
    python benchmarks/checkpoints.py --quick            the same with fewer epochs and rounds
    python benchmarks/checkpoints.py --part 1           one part
    python benchmarks/checkpoints.py --cluster          on a standalone cluster of three workers, on loopback
    python benchmarks/checkpoints.py --json FILE        the figures as JSON too

Part 1: an epoch of 1,000 records, each of another key, where there are 1,000,000 keys in all, against the
same where there are 1,000; and the bytes written for it, snapshots included, against those that changed:
their keys and values in one pickled list. Part 2: counting 100,000 records an epoch over 50,000 keys with a checkpoint
location, against the same without one. Part 3: how long after its start a job with 1,000,000 keys has done
its first epoch, against the same job with 1,000 keys.

State is counted in a `ValueState`. The keys come first, as a bounded DataFrame beside the stream. Epochs are
timed by Spark's own account, the first ones left out.
"""

# ruff: noqa: D102 - what overrides a documented method is documented

from __future__ import annotations

import argparse
import contextlib
import os
import pickle
import statistics
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.keyed_state import BACKENDS, CountRecords, Nowhere
from benchmarks.kit import script
from benchmarks.kit.epochs import Stop, epoch_seconds, rate
from benchmarks.kit.measure import Row as Line
from benchmarks.kit.measure import Run, alternate
from benchmarks.kit.session import ROOT, shared_session
from tests.servers.spark_cluster import SparkCluster

from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Configuration
from penstock.common.epoch_listener import EpochCompleted, EpochListener
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import NoCheckpointLocationWarning
from penstock.executors.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.common import JobClient

PARALLELISM = 2
CHANGES = 1_000
FEW = 1_000
STEP = 7919
"""Prime to the numbers of keys, so that it leads from any key to all others."""


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    rounds: int = 5
    epochs: int = 25
    throughput_epochs: int = 6
    many: int = 1_000_000


QUICK = Scale(rounds=1, epochs=4, throughput_epochs=2, many=100_000)


class Written(EpochListener):
    """Remembers how many bytes each epoch wrote."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        self.sizes.append(event.checkpoint_size)


@dataclass(frozen=True)
class Counting:
    """A job that counts records by key.

    Attributes:
        spark: The session.
        keys: How many keys there are in all; they come in the first epoch.
        backend: Where state is kept.
        rows: How many records an epoch has.
        location: The checkpoint location; None for none.
    """

    spark: SparkSession
    keys: int
    backend: str
    rows: int = CHANGES
    location: str | None = None

    def start(self, listener: EpochListener | None = None) -> JobClient:
        configuration = Configuration()
        if self.location is not None:
            configuration.set_string("execution.checkpointing.dir", self.location)
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=self.spark)
        env.set_parallelism(PARALLELISM).set_state_backend(BACKENDS[self.backend])
        if listener is not None:
            env.add_epoch_listener(listener)
        known = env.from_data_frame(self.spark.range(self.keys).selectExpr("id AS key"))
        stream = rate(self.spark, self.rows).selectExpr(f"value * {STEP} % {self.keys} AS key")
        records = known.union(env.from_data_frame(stream))
        records.key_by(lambda row: row[0]).process(CountRecords()).add_sink(Nowhere())
        return env.execute_async("counts")


def stopped_by(job: JobClient) -> Stop:
    def stop() -> None:
        job.cancel().result()

    return stop


def timed(job: Counting, epochs: int) -> tuple[list[float], list[int]]:
    """Run a job; return what its epochs took, in milliseconds, and the bytes that they wrote."""
    written = Written()
    with TemporaryDirectory(prefix="checkpoints-") as folder:
        placed = replace(job, location=folder)
        seconds = epoch_seconds(job.spark, lambda: stopped_by(placed.start(written)), epochs)
    return [1_000 * each for each in seconds], written.sizes[-epochs:]


def small_changes(spark: SparkSession, scale: Scale) -> list[Line]:
    """Part 1: small changes to large state."""
    many = scale.many
    changed_bytes = len(pickle.dumps([*range(many - CHANGES, many), *[1] * CHANGES]))
    lines: list[Line] = []
    for backend in BACKENDS:
        slowest: dict[int, list[float]] = {many: [], FEW: []}
        written: list[float] = []

        def median(keys: int) -> float:
            took, sizes = timed(Counting(spark, keys, backend), scale.epochs)  # noqa: B023
            slowest[keys].append(max(took))  # noqa: B023
            if keys == many:
                written.append(statistics.mean(sizes) / changed_bytes)  # noqa: B023
            return statistics.median(took)

        sides: dict[str, Run] = {str(keys): partial(median, keys) for keys in (many, FEW)}
        medians = alternate(sides, scale.rounds)
        add = partial(
            Line,
            job=f"an epoch that changes {CHANGES:,} of {many:,} keys, {backend}",
            lower_is_better=True,
        )
        against = partial(add, against=f"{FEW:,} keys in all")
        latest = f"ms, the slowest of {scale.epochs}"
        lines += [
            against(
                unit="ms, median", penstock=medians[str(many)], other=medians[str(FEW)], target=2
            ),
            against(unit=latest, penstock=slowest[many], other=slowest[FEW]),
            add(unit="bytes written for each that changed", penstock=written, target=5),
        ]
    return lines


def throughput(spark: SparkSession, scale: Scale) -> list[Line]:
    """Part 2: counting with a checkpoint location, and without one."""
    lines: list[Line] = []
    for backend in BACKENDS:
        job = Counting(spark, 50_000, backend, 100_000)
        sides: dict[str, Run] = {
            "with": partial(records_per_second, job, scale, is_durable=True),
            "without": partial(records_per_second, job, scale, is_durable=False),
        }
        figures = alternate(sides, scale.rounds)
        lines.append(
            Line(
                job=f"counting 100,000 records an epoch over 50,000 keys, {backend}",
                unit="records/s",
                penstock=figures["with"],
                against="no checkpoint location",
                other=figures["without"],
                target=0.7,
            )
        )
    return lines


def records_per_second(job: Counting, scale: Scale, *, is_durable: bool) -> float:
    """Return the rate of a job's median epoch."""
    with TemporaryDirectory(prefix="checkpoints-") as folder:
        placed = replace(job, location=folder if is_durable else None)
        seconds = epoch_seconds(
            job.spark, lambda: stopped_by(placed.start()), scale.throughput_epochs, skipped=3
        )
    return job.rows / statistics.median(seconds)


def first_epoch_after(job: Counting) -> float:
    """Return the seconds from the start of a job to the end of its first epoch.

    No process has kept anything of an earlier start.
    """
    assert job.location is not None
    store = StoredEpochs(LocalStorage(job.location))
    before = max(store.numbers(), default=-1)
    started = time.perf_counter()
    client = job.start()
    while max(store.numbers(), default=-1) <= before:
        time.sleep(0.002)
    seconds = time.perf_counter() - started
    client.cancel().result()
    return seconds


def restarts(spark: SparkSession, scale: Scale) -> list[Line]:
    """Part 3: starting again with large state."""
    lines: list[Line] = []
    for backend in BACKENDS:
        with TemporaryDirectory(prefix="checkpoints-") as folder:
            jobs = {
                keys: Counting(spark, keys, backend, CHANGES, os.path.join(folder, str(keys)))
                for keys in (scale.many, FEW)
            }
            for job in jobs.values():
                epoch_seconds(spark, lambda job=job: stopped_by(job.start()), 3, skipped=0)  # type: ignore[misc]
            sides: dict[str, Run] = {
                str(keys): partial(first_epoch_after, job) for keys, job in jobs.items()
            }
            figures = alternate(sides, scale.rounds)
        many, few = figures[str(scale.many)], figures[str(FEW)]
        more = [mine - other for mine, other in zip(many, few, strict=True)]
        what = f"from a start to its first epoch, {scale.many:,} keys, {backend}"
        lines += [
            Line(
                job=what,
                unit="s",
                penstock=many,
                against=f"{FEW:,} keys",
                other=few,
                lower_is_better=True,
            ),
            Line(
                job=f"{what}: how much longer than with {FEW:,} keys",
                unit="s",
                penstock=more,
                target=3,
                lower_is_better=True,
            ),
        ]
    return lines


@contextlib.contextmanager
def opened_session(*, cluster: bool) -> Iterator[SparkSession]:
    """Yield the session to measure in."""
    if not cluster:
        spark = shared_session()
        yield spark
        spark.stop()
        return
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.getenv("PYTHONPATH")]))
    with (
        TemporaryDirectory(prefix="cluster-") as folder,
        contextlib.closing(SparkCluster(Path(folder), workers=3)) as it,
    ):
        configuration = Configuration().set_string("spark.master", it.master)
        configuration.set_string("spark.executor.memory", "512m")
        spark = session(None, configuration)
        yield spark
        spark.stop()


PARTS = (small_changes, throughput, restarts)


def main() -> None:
    arguments = parser().parse_args()
    warnings.simplefilter("ignore", NoCheckpointLocationWarning)
    scale = QUICK if arguments.quick else Scale()
    scale = replace(scale, rounds=arguments.rounds or scale.rounds)
    with opened_session(cluster=arguments.cluster) as spark:
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", 2 * scale.epochs)
        script.run(__file__, arguments, [partial(part, spark, scale) for part in PARTS])


def parser() -> argparse.ArgumentParser:
    made = script.parser(__doc__, len(PARTS))
    made.add_argument("--rounds", type=int, help="how often each side runs")
    made.add_argument("--cluster", action="store_true", help="on a cluster of three workers")
    return made


if __name__ == "__main__":
    main()
