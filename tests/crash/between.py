"""Kills executors between two tasks of a level: `python -m tests.crash.between --kills 40`.

One task has read what the executor sent; the other reads what is sent again, by another attempt. On a standalone cluster of
two workers, one job after the other, whose random stamps show when results come of two attempts. For another Spark, run it
by the Python of that.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, NamedTuple

import pyspark
from examples.postgres_server import PostgresServer
from tests.crash.killer import Trial
from tests.crash.lives import Kill
from tests.crash.points import MIXED
from tests.servers.spark_cluster import SparkCluster

_CHECKSUM: Final = "spark.sql.shuffle.orderIndependentChecksum"
_SWITCHES: Final = ("enabled", "enableFullRetryOnMismatch", "enableQueryLevelRollbackOnMismatch")
"""Each alone has Spark reckon the checksum, and do something about a wrong one."""


class Counts(NamedTuple):
    """What happened in a job.

    Attributes:
        kills: How many executors were killed.
        mixed: How often penstock found that tasks read different attempts, and ran the epoch again.
    """

    kills: int
    mixed: int


def run_job(
    place: Path, seed: int, files: int, postgres: str, cluster: SparkCluster, checksum: str
) -> Counts:
    """Run a job, and kill an executor in every second epoch but the first.

    Raises:
        CrashTestFailed: If the job did not go on by itself, or anything is lost or double.
    """
    place.mkdir()
    settings = tuple(f"{_CHECKSUM}.{switch}={checksum}" for switch in _SWITCHES)
    trial = Trial(place, seed, files, postgres=postgres, cluster=cluster, settings=settings)
    try:
        kill = Kill("executor", "level.between", ahead=1, every=2)
        life = trial.live(cluster.master, 2, kill)
        assert life.killed_at is not None, "no executor was killed"
        assert life.code == 0, "the job did not go on by itself"
        trial.check()
    finally:
        trial.close()
    mixed = (place / "life-0.log").read_text(errors="replace").splitlines().count(MIXED)
    return Counts(len(list(place.glob("mark-0.done-*"))), mixed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40, help="how many there are to be")
    parser.add_argument("--minutes", type=float, default=1e9, help="no further job after these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=20, help="the files of one job's input")
    parser.add_argument(
        "--checksum", action="append", choices=("true", "false"), help="Spark's, from 4.2 on"
    )
    options = parser.parse_args()
    # Workers import what is in here, as under pytest.
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    began = time.monotonic()
    jobs: list[Counts] = []
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="between-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        postgres = stack.enter_context(closing(PostgresServer())).uri
        cluster = stack.enter_context(closing(SparkCluster(folder)))
        checksums = options.checksum or ["false"]
        while (
            sum(job.kills for job in jobs) < options.kills
            and time.monotonic() < began + options.minutes * 60
        ):
            place, seed = folder / str(len(jobs)), options.seed * 1_000 + len(jobs)
            checksum = checksums[len(jobs) % len(checksums)]
            jobs.append(run_job(place, seed, options.files, postgres, cluster, checksum))
            print(f"checksum {checksum}: {jobs[-1]}", flush=True)
            shutil.rmtree(place)
    kills, mixed = map(sum, zip(*jobs, strict=True))
    print(
        f"Spark {pyspark.__version__}: {kills} kills in {len(jobs)} jobs, {(time.monotonic() - began) / 60:.1f} min; "
        f"{mixed} times penstock found two attempts mixed and ran the epoch again. Nothing lost, nothing double."
    )


if __name__ == "__main__":
    main()
