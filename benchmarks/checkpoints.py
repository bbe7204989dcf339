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
import json
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

from benchmarks.epochs import Stop, epoch_seconds, rate
from benchmarks.keyed_state import BACKENDS, CountRecords, Nowhere
from benchmarks.measure import Row as Line
from benchmarks.measure import Run, alternate, table
from benchmarks.session import ROOT, shared_session
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
MANY, FEW = 1_000_000, 1_000
STEP = 7919
"""Prime to the numbers of keys, so that it leads from any key to all others."""
CHANGED_BYTES = len(pickle.dumps([*range(MANY - CHANGES, MANY), *[1] * CHANGES]))


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    rounds: int = 3
    epochs: int = 200


QUICK = Scale(rounds=1, epochs=60)


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
    """Part 1."""
    lines: list[Line] = []
    for backend in BACKENDS:
        medians: dict[int, list[float]] = {MANY: [], FEW: []}
        late: dict[int, list[float]] = {MANY: [], FEW: []}
        written: list[float] = []
        for number in range(scale.rounds):
            for keys in (MANY, FEW) if number % 2 == 0 else (FEW, MANY):
                took, sizes = timed(Counting(spark, keys, backend), scale.epochs)
                medians[keys].append(statistics.median(took))
                late[keys].append(statistics.quantiles(took, n=100)[98])
                if keys == MANY:
                    written.append(statistics.mean(sizes) / CHANGED_BYTES)
                print(
                    f"  {backend}, {keys:,} keys: {medians[keys][-1]:.0f} ms, p99 {late[keys][-1]:.0f} ms"
                )
        what = f"an epoch that changes {CHANGES:,} of {MANY:,} keys, {backend}"
        few = f"{FEW:,} keys in all"
        lines += [
            Line(what, "ms, median", medians[MANY], "at most 2", few, medians[FEW]),
            Line(what, "ms, p99", late[MANY], "", few, late[FEW]),
            Line(what, "bytes written for each that changed", written, "below 5"),
        ]
    return lines


def throughput(spark: SparkSession, scale: Scale) -> list[Line]:
    """Part 2."""
    lines: list[Line] = []
    for backend in BACKENDS:
        job = Counting(spark, 50_000, backend, 100_000)
        sides: dict[str, Run] = {
            "with": partial(records_per_second, job, is_durable=True),
            "without": partial(records_per_second, job, is_durable=False),
        }
        figures = alternate(sides, scale.rounds)
        what = f"counting 100,000 records an epoch over 50,000 keys, {backend}"
        lines.append(
            Line(
                what,
                "records/s",
                figures["with"],
                "at least 0.7",
                "no checkpoint location",
                figures["without"],
            )
        )
    return lines


def records_per_second(job: Counting, *, is_durable: bool) -> float:
    """Return the rate of a job's median epoch."""
    with TemporaryDirectory(prefix="checkpoints-") as folder:
        placed = replace(job, location=folder if is_durable else None)
        seconds = epoch_seconds(job.spark, lambda: stopped_by(placed.start()), 10)
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
    """Part 3."""
    lines: list[Line] = []
    for backend in BACKENDS:
        with TemporaryDirectory(prefix="checkpoints-") as folder:
            jobs = {
                keys: Counting(spark, keys, backend, CHANGES, os.path.join(folder, str(keys)))
                for keys in (MANY, FEW)
            }
            for job in jobs.values():
                epoch_seconds(spark, lambda job=job: stopped_by(job.start()), 3)  # type: ignore[misc]
            sides: dict[str, Run] = {
                str(keys): partial(first_epoch_after, job) for keys, job in jobs.items()
            }
            figures = alternate(sides, max(scale.rounds, 3))
        more = [many - few for many, few in zip(figures[str(MANY)], figures[str(FEW)], strict=True)]
        what = f"from a start to its first epoch, {MANY:,} keys, {backend}"
        lines += [
            Line(what, "s", figures[str(MANY)], "", f"{FEW:,} keys", figures[str(FEW)]),
            Line(f"{what}: how much longer than with {FEW:,} keys", "s", more, "below 3"),
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
        SparkCluster(Path(folder), workers=3) as it,
    ):
        configuration = Configuration().set_string("spark.master", it.master)
        configuration.set_string("spark.executor.memory", "512m")
        spark = session(None, configuration)
        yield spark
        spark.stop()


PARTS = {1: small_changes, 2: throughput, 3: restarts}


def main() -> None:
    arguments = _arguments()
    warnings.simplefilter("ignore", NoCheckpointLocationWarning)
    scale = QUICK if arguments.quick else Scale()
    scale = replace(scale, rounds=arguments.rounds or scale.rounds)
    lines: list[Line] = []
    with opened_session(cluster=arguments.cluster) as spark:
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", 2 * scale.epochs)
        for number, part in PARTS.items():
            if arguments.part in (None, number):
                print(f"\npart {number}", flush=True)
                lines += part(spark, scale)
    print(table(lines))
    if arguments.json:
        rows = [line.as_json() for line in lines]
        arguments.json.write_text(json.dumps({"rows": rows}, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="time fewer epochs")
    parser.add_argument("--rounds", type=int, help="how often each side runs")
    parser.add_argument("--part", type=int, choices=PARTS, help="one part")
    parser.add_argument("--cluster", action="store_true", help="on a cluster of three workers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
