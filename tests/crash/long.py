"""The long crash test: `python -m tests.crash.long --kills 200 --seed 1 --master local[2]`.

Runs one job after the other, and does to each what `--faults` names, until there were as many faults as
asked for; compares what came out each time. Each fault is a line of the log. What happens in a job depends on
the seed and the job's number: `--first 17 --kills 1` repeats job 17. Started again with `--resume`, it goes
on after the last job of the log that is complete.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final, TextIO

from examples.postgres_server import PostgresServer
from tests.crash.killer import CrashTestFailed, Trial, killed_until_done
from tests.crash.lives import Life, log_line
from tests.crash.plan import FAULTS, TARGETS, ByChance
from tests.crash.surroundings.clock import Clock, can_jump
from tests.crash.surroundings.disk import Disk
from tests.crash.surroundings.network import Relay
from tests.crash.surroundings.surroundings import Surroundings
from tests.servers.namespaces import Bridge, Namespace, can_be_made
from tests.servers.spark_cluster import SparkCluster

HEAD: Final = (
    "number | input | backend, master and parallelism | around it | where | what | epoch | restart took | "
    "outcome"
)
_DONE: Final = "the outcome is the oracle's"
_FAILED: Final = "FAILED in job"
_PLACES: Final = ("supersede", "store", "disk")
"""Of these a job has one at most, but for a store, which may be superseded too."""
_NOT_ON: Final = {
    "local": {"speculation"},
    "local[": {"speculation"},
    "spark:": {"disk", "clock"},  # executors are not the driver's, and would not have them
}
_SPECULATION: Final = (
    "spark.speculation=true",
    "spark.speculation.interval=50ms",
    "spark.speculation.quantile=0.4",
    "spark.speculation.multiplier=1.2",
    "spark.speculation.minTaskRuntime=50ms",
)
_IMPATIENCE: Final = (
    "spark.network.timeout=10s",
    "spark.network.timeoutInterval=5s",
    "spark.executor.heartbeatInterval=2s",
)
_RESTARTS: Final = (
    "restart-strategy.type=fixed-delay",
    "restart-strategy.fixed-delay.delay=20 ms",
    "restart-strategy.fixed-delay.attempts=3",
)


class Log:
    """The log of a run, a line for each fault."""

    def __init__(self, file: TextIO, kills: int, wanted: int) -> None:
        self._file = file
        self._wanted = wanted
        self.kills = kills
        self._began = time.monotonic()

    @property
    def minutes(self) -> float:
        """How long the run takes already."""
        return (time.monotonic() - self._began) / 60

    def write(self, line: str) -> None:
        print(line, file=self._file, flush=True)

    def tell(self, trial: Trial, killed: Life, after: Life) -> None:
        self.kills += 1
        line = log_line(self.kills, trial, killed, after)
        self.write(line)
        text = f"{self.minutes:5.1f} min  {self.kills} of {self._wanted}  {line}"
        if sys.stdout.isatty():
            print(f"\r\033[K{text}"[: shutil.get_terminal_size().columns], end="", flush=True)
        elif self.kills % 20 == 0:
            print(text, flush=True)


class Around:
    """The servers of a run, and what each job has around it.

    Args:
        stack: Ends the servers with the run.
        folder: Where jobs have their folders.
        master: What `--master` says.
        faults: What `--faults` says.
    """

    def __init__(self, stack: ExitStack, folder: Path, master: str, faults: set[str]) -> None:
        self.postgres = stack.enter_context(closing(PostgresServer())).uri
        self.cables: tuple[Namespace, ...] = ()
        if master == "cluster" and "network" in faults and can_be_made():
            bridge = stack.enter_context(closing(Bridge()))
            self.cables = (bridge.add(), bridge.add())
        self._host = self.cables[0].host if self.cables else "127.0.0.1"
        self.cluster = None
        if master == "cluster":
            self.cluster = stack.enter_context(
                closing(SparkCluster(folder, cores=2, namespaces=self.cables))
            )
        self.masters = [self.cluster.master] if self.cluster else [master]
        if master.startswith("local["):
            self.masters = ["local[2, 4]", "local[2, 4]", "local[1, 4]", "local[4, 4]"]
        self.kind = next(kind for kind in reversed(TARGETS) if self.masters[0].startswith(kind))
        if not can_jump():
            faults.discard("clock")
        self.faults = faults - _NOT_ON[self.kind]
        self._clock: Clock | None = None
        if "clock" in self.faults:
            self._clock = Clock(folder)
        self._relays: list[Relay] = []
        if "network" in self.faults:
            self._relays.append(
                stack.enter_context(closing(Relay(_port(self.postgres), self._host)))
            )
        if "store" in self.faults:
            self._start_store(stack)

    def _start_store(self, stack: ExitStack) -> None:
        from tests.servers.s3_server import S3Server

        server = stack.enter_context(closing(S3Server()))
        self._bucket = server.make_bucket()
        os.environ.update(server.environment)
        self._store_environment = dict(server.environment)
        if "network" in self.faults:
            port = _port(server.environment["AWS_ENDPOINT_URL"])
            relay = stack.enter_context(closing(Relay(port, self._host)))
            self._store_relay = relay
            self._store_environment["AWS_ENDPOINT_URL"] = f"http://{relay.host}:{relay.port}"

    def choose(self, chance: random.Random) -> set[str]:
        """Return what is to happen in one job."""
        others = sorted(self.faults - {"kill", *_PLACES})
        found = set(chance.sample(others, min(len(others), chance.randint(1, 3))))
        places = [fault for fault in _PLACES if fault in self.faults]
        if places and (not others or chance.random() < 0.75):
            found.add(chance.choice(places))
            if "store" in found and "supersede" in places and chance.random() < 0.5:
                found.add("supersede")
        if "back" in found:  # what comes again is told from what was changed by nobody
            found -= {"change", "drain"}
        return (found | {"kill"}) & self.faults or set(self.faults)

    def of(self, faults: set[str], place: Path) -> Surroundings:
        """Return what a job has around it."""
        store = None
        # Workers behind a cable reach servers by relays alone.
        relays = list(self._relays) if "network" in faults or self.cables else []
        if "store" in faults:
            store = f"{self._bucket}/{uuid.uuid4().hex}", self._store_environment
            relays += [self._store_relay] if relays else []
        if self._clock is not None:
            self._clock.jump(0)
        return Surroundings(
            has_locks="supersede" not in faults,
            store=store,
            disk=Disk(place / "synced", [place / "disk"]) if "disk" in faults else None,
            clock=self._clock if "clock" in faults else None,
            relays=tuple(relays),
            cables=self.cables if "network" in faults else (),
        )


def _port(address: str) -> int:
    found = re.search(r":(\d+)(/|$)", address)
    assert found is not None
    return int(found[1])


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="how many faults there are to be")
    parser.add_argument("--minutes", type=float, default=1e9, help="no further job after these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first job")
    parser.add_argument("--master", default="local", help="local: without Spark; local[2]; cluster")
    parser.add_argument("--faults", default=",".join(FAULTS), help="of these some in each job")
    parser.add_argument("--files", type=int, default=30, help="the files of one job's input")
    parser.add_argument("--backend", action="append", choices=("hashmap", "rocksdb"))
    parser.add_argument("--parallelism", default="1,2,3,5", help="one of these in each life")
    parser.add_argument("--log", type=Path, default=Path("crash.log"))
    parser.add_argument("--resume", action="store_true", help="go on with the log")
    parser.add_argument("--keep-going", action="store_true", help="go on after a job that failed")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args(given)


def run_job(
    number: int, options: argparse.Namespace, around: Around, place: Path, log: Log
) -> None:
    """Run one job, and do to it what its number says."""
    chance = random.Random(f"{options.seed} {number}")
    faults = around.choose(chance)
    settings = [*options.set]
    settings += _SPECULATION if "speculation" in faults else ()
    if around.cables:
        host = around.cables[0].host
        settings += [f"spark.driver.host={host}", f"spark.driver.bindAddress={host}", *_IMPATIENCE]
    settings += _RESTARTS if "task" in faults and chance.random() < 0.5 else ()
    trial = Trial(
        place,
        options.seed * 1_000 + number,
        options.files,
        backend=chance.choice(options.backend or ["hashmap", "rocksdb"]),
        postgres=around.postgres,
        cluster=around.cluster,
        rolling=chance.choice(("size", "epoch")),
        settings=tuple(settings),
        around=around.of(faults, place),
    )
    parallelisms = list(map(int, options.parallelism.split(",")))
    plan = ByChance(chance, around.masters, parallelisms, TARGETS[around.kind], faults)
    try:
        killed_until_done(trial, plan, lambda *lives: log.tell(trial, *lives))
    except CrashTestFailed as error:
        log.write(f"     | {trial.seed} | {_FAILED} {number}, {' '.join(sorted(faults))}")
        raise CrashTestFailed(f"Job {number}, {' '.join(sorted(faults))}: {error}") from None
    log.write(
        f"     | {trial.seed} | {' '.join(sorted(faults))}: after {len(trial.lives)} lives {_DONE}"
    )


def resumed(path: Path) -> tuple[int, int]:
    """Cut a log after its last job that is complete, and return how many faults and jobs it has."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    ends = [place for place, line in enumerate(lines) if _DONE in line or _FAILED in line]
    complete = ends[-1] + 1 if ends else 0
    path.write_text("".join(lines[:complete]))
    kills = sum(bool(re.match(r" *\d+ \|", line)) for line in lines[:complete])
    return kills, len(ends)


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all it started ends with it
    faults = set(filter(None, options.faults.split(",")))
    if unknown := faults - {*FAULTS}:
        raise SystemExit(f"No such faults: {unknown}. There are {', '.join(FAULTS)}.")
    kills, number = resumed(options.log) if options.resume else (0, options.first)
    begun = number
    failed: list[int] = []
    folder = Path(tempfile.mkdtemp(prefix="crash-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        mode = "a" if options.resume else "w"
        log = Log(stack.enter_context(options.log.open(mode)), kills, options.kills)
        if not kills:
            log.write(f"# On {options.master}, seed {options.seed}\n{HEAD}")
        around = Around(stack, folder, options.master, faults)
        while log.kills < options.kills and log.minutes < options.minutes:
            place = folder / str(number)
            place.mkdir()
            try:
                run_job(number, options, around, place, log)
            except CrashTestFailed as error:
                failed.append(number)
                print(f"\n{error}", flush=True)
                shutil.copytree(place, f"{options.log}-{number}", dirs_exist_ok=True)
                if not options.keep_going:
                    return 1
            shutil.rmtree(place)
            number += 1
    what = f"failed in jobs {failed}" if failed else "nothing lost, nothing double"
    print(f"\n{log.kills} faults in {number - begun} jobs, {log.minutes:.1f} min: {what}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
