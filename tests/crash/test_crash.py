"""The crash test in its short form. The long one: `python -m tests.crash.long`."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from tests.crash.between import run_job
from tests.crash.killer import CrashTestFailed, Trial
from tests.crash.lives import Kill
from tests.crash.plan import COMMON_POINTS
from tests.servers.spark_cluster import SparkCluster
from tests.servers.zygote import Zygote

from penstock.executors.spark.versions.features import version_of

if TYPE_CHECKING:
    from examples.postgres_server import PostgresServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

CHECKSUMS = (
    ("true", "false") if (version_of(pyspark.__version__) or (9, 9)) >= (4, 2) else ("false",)
)
"""Spark's checksum of what is shuffled, on and off; none before 4.2."""


def run(trial: Trial, master: str, kills: Iterator[Kill], parallelisms: Iterator[int]) -> None:
    """Start drivers, with one kill each while there are any, until the input is done."""
    try:
        for kill in kills:
            life = trial.live(master, next(parallelisms), kill)
            assert life.killed_at is not None, f"{kill} was not reached"
            assert life.kill is kill, f"{kill} was given up"
        while not trial.lives or trial.lives[-1].code != 0:
            trial.live(master, next(parallelisms))
        trial.check()
    finally:
        trial.close()


@pytest.mark.parametrize(("backend", "rolling"), [("hashmap", "size"), ("rocksdb", "epoch")])
def test_each_point_without_spark(
    tmp_path: Path, postgres: PostgresServer, zygotes: Iterator[Zygote], backend: str, rolling: str
) -> None:
    """Half of the points each, at another parallelism in each life."""
    joins = [point for point in COMMON_POINTS if "join" in point]  # of files of several epochs
    others = [point for point in COMMON_POINTS if point not in joins]
    # Backwards: the first lives commit epochs, so that there is an era to begin when its turn comes.
    points = joins + others[::2] if rolling == "size" else others[1::2][::-1]
    trial = Trial(tmp_path, 11, 20, 20, backend, postgres.uri, rolling=rolling, zygotes=zygotes)

    run(trial, "local", (Kill("all", point) for point in points), itertools.cycle([2, 5, 1, 3]))


@pytest.mark.spark
@pytest.mark.timeout(180)
def test_on_local_cores(tmp_path: Path, postgres: PostgresServer) -> None:
    trial = Trial(tmp_path, 12, 12, postgres=postgres.uri)
    kills = [
        Kill("driver", "epochs.before"),
        Kill("zombie", "prepared.in"),
        Kill("all", "spark.commits.in", ahead=1),
        Kill("worker", "level.after"),
    ]

    run(trial, "local[2, 4]", iter(kills), itertools.cycle([2, 5, 1]))


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_an_executor_between_two_tasks_of_a_level(tmp_path: Path, postgres: PostgresServer) -> None:
    """One task has read what the executor sent; those that come after read what another sends again."""
    with closing(SparkCluster(tmp_path)) as cluster:
        for checksum in CHECKSUMS:
            counts = run_job(tmp_path / checksum, 13, 4, postgres.uri, cluster, checksum)
            assert counts.kills >= 2
            assert counts.mixed == 0 or checksum == "false"


def test_what_is_lost_or_double_is_found(tmp_path: Path, zygotes: Iterator[Zygote]) -> None:
    trial = Trial(tmp_path, 14, 3, zygotes=zygotes)
    run(trial, "local", iter(()), itertools.repeat(1))
    part = next((tmp_path / "disk" / "output" / "kind=count").glob("part-*"))

    part.write_text(part.read_text() + part.read_text().splitlines(keepends=True)[0])
    with pytest.raises(CrashTestFailed, match="1 x too many: count"):
        trial.check()

    part.unlink()
    with pytest.raises(CrashTestFailed, match="1 x lost: count"):
        trial.check()
