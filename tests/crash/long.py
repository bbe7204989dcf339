"""The long crash test: `python -m tests.crash.long --kills 200 --seed 1 --master local[2]`.

Kills drivers, workers and executors of one job after the other, until there were as many kills as asked
for, and compares what came out each time. Each kill is a line of the log.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

from examples.postgres_server import PostgresServer
from tests.crash.killer import Life, Trial, by_chance, killed_until_done, log_line

TARGETS = {
    "local": ["all"],
    "local[": ["all", "all", "driver", "python", "jvm", "worker", "workers", "zombie"],
    "spark:": ["driver", "python", "jvm", "worker", "workers", "executor", "executor", "zombie"],
}
HEAD = "number | input | backend, master and parallelism | where | what | epoch | restart took | outcome"


class Log:
    """The log of a run, a line for each kill."""

    def __init__(self, file: TextIO, wanted: int) -> None:
        self._file = file
        self._wanted = wanted
        self.kills = 0
        self._began = time.monotonic()
        self.write(HEAD)

    def write(self, line: str) -> None:
        print(line, file=self._file, flush=True)

    def tell(self, trial: Trial, killed: Life, after: Life) -> None:
        self.kills += 1
        line = log_line(self.kills, trial, killed, after)
        self.write(line)
        seconds = time.monotonic() - self._began
        print(f"\r\033[K{seconds:6.0f} s  {line}"[:150], end="", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--master", default="local", help="local: without Spark; local[2]; cluster")
    parser.add_argument("--files", type=int, default=30, help="the files of one job's input")
    parser.add_argument("--backend", action="append", choices=("hashmap", "rocksdb"))
    parser.add_argument("--parallelism", default="1,2,3,5", help="one of these in each life")
    parser.add_argument("--log", type=Path, default=Path("crash.log"))
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    chance = random.Random(options.seed)
    backends = options.backend or ["hashmap", "rocksdb"]
    folder = Path(tempfile.mkdtemp(prefix="crash-"))
    with contextlib.ExitStack() as stack:
        log = Log(stack.enter_context(options.log.open("w")), options.kills)
        postgres = stack.enter_context(PostgresServer())
        cluster = None
        masters = [options.master]
        if options.master == "cluster":
            from tests.servers.spark_cluster import SparkCluster

            cluster = stack.enter_context(SparkCluster(folder))
            masters = [cluster.master]
        elif options.master != "local":
            masters = ["local[2, 4]", "local[2, 4]", "local[1, 4]", "local[4, 4]"]
        targets = next(
            which for kind, which in reversed(TARGETS.items()) if masters[0].startswith(kind)
        )
        round_number = 0
        while log.kills < options.kills:
            seed = options.seed * 1_000 + round_number
            place = folder / str(round_number)
            place.mkdir()
            trial = Trial(
                place,
                seed,
                options.files,
                backend=backends[round_number % len(backends)],
                postgres=postgres.uri,
                cluster=cluster,
                rolling=("size", "epoch")[round_number // 2 % 2],
                settings=tuple(options.set),
            )
            parallelisms = list(map(int, options.parallelism.split(",")))
            plan = by_chance(chance, masters, parallelisms, targets)
            killed_until_done(trial, plan, lambda *lives: log.tell(trial, *lives))  # noqa: B023
            log.write(f"     | {seed} | after {len(trial.lives)} lives the outcome is the oracle's")
            shutil.rmtree(place)
            round_number += 1
    shutil.rmtree(folder)
    print(f"\n{log.kills} kills in {round_number} jobs: nothing lost, nothing double.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
