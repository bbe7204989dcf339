"""Runs the job of the crash test until its input is done, and kills it on the way, by chance or on purpose."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.crash import job, oracle, records, sinks
from tests.crash.points import TARGETS, VARIABLE, Point
from tests.servers.processes import Session, kill
from tests.servers.spark_cluster import SparkCluster

_STEPS: Final = (
    *("generations", "state", "prepared", "epochs", "delete"),
    *("files.prepare", "files.commit", "table.commit"),
)
COMMON_POINTS: Final = (
    *(f"{step}.{when}" for step in _STEPS for when in ("before", "in", "after")),
    *("publish.before", "publish.after", "files.join.before", "files.join.after"),
    *("files.sweep.before", "files.sweep.after", "epoch.before", "epoch.after"),
    *("level.before", "level.after", "record", "call"),
)
"""The points of a job on either executor."""
SPARK_POINTS: Final = ("spark.offsets.after", "spark.commits.in", "spark.commits.after")
IN_WORKERS: Final = ("state", "prepared", "level", "record", "call", "files.prepare", "files.join")
"""What the names of points begin with that tasks reach, not the driver."""

_POLL: Final = 0.003
_ENOUGH: Final = 3
"""After how many epochs a point that was not reached is given up for a kill at once."""
_PATIENCE: Final = 120.0


class CrashTestFailed(AssertionError):
    """Raised when a job did not survive, or when what came out is not what had to."""


@dataclass(frozen=True)
class Kill:
    """A kill that is planned.

    Attributes:
        target: Who: one of `points.TARGETS`, or what is told there.
        point: Where; None for some instant.
        ahead: In which epoch of those that are still to come, from 0.
        instant: Without a point: how long after that epoch has begun, in epochs.
        skip: How often the process passes the point before.
    """

    target: str
    point: str | None = None
    ahead: int = 0
    instant: float = 0.0
    skip: int = 0

    @property
    def where(self) -> str:
        return self.point or f"{self.instant:.2f} of an epoch"


@dataclass
class Life:
    """What became of a driver, from its start to its end.

    Attributes:
        options: What it was started with.
        kill: What was to be killed.
        killed_at: The epoch that was the last to be committed when it was; None if it was not.
        restart: The seconds from its start to the first epoch that it committed; None for none.
        code: What it returned; None if it was killed.
        first: The first epoch that it committed.
        last: The last epoch that was committed when it ended.
    """

    options: str
    kill: Kill | None
    killed_at: int | None = None
    restart: float | None = None
    code: int | None = None
    first: int | None = None
    last: int = -1


class _Seen:
    """What is seen of a driver.

    Attributes:
        before: The last epoch that was committed before it started.
        epoch: The last one that is committed now.
        began: When it started.
        changed: When it last committed one.
        due: When it is to be killed; None for not yet known.
    """

    def __init__(self, before: int) -> None:
        self.before = self.epoch = before
        self.began = self.changed = time.monotonic()
        self.due: float | None = None

    def is_stuck(self) -> bool:
        return time.monotonic() > self.changed + _PATIENCE


@dataclass
class Trial:
    """One job, with its input and its sinks, from its first life to the last.

    Args:
        folder: Where everything lies; it must be new.
        seed: Makes the input what it is.
        files: The number of files of the input: as many epochs at least.
        size: The most records of a file.
        backend: The state backend.
        environment: What drivers find in their environment.
        postgres: Where PostgreSQL is.
        cluster: The cluster that the drivers use; None for none.
    """

    folder: Path
    seed: int
    files: int = 20
    size: int = 40
    backend: str = "hashmap"
    postgres: str = ""
    cluster: SparkCluster | None = None
    rolling: str = "size"
    settings: tuple[str, ...] = ()
    lives: list[Life] = field(default_factory=list)
    _old: list[Session] = field(default_factory=list)
    _zombies: list[Path] = field(default_factory=list)
    _epoch_seconds: float = 0.05
    _start_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.input = records.generate(self.seed, self.files, self.size)
        records.write(self.folder / "input", self.input)
        self.table = f"crash_{uuid.uuid4().hex}"
        if self.postgres:
            sinks.create_table(self.postgres, self.table)

    def arguments(self, master: str, parallelism: int) -> list[str]:
        return [
            *("--location", str(self.folder / "location"), "--input", str(self.folder / "input")),
            *("--output", str(self.folder / "output"), "--table", self.table),
            *("--postgres", self.postgres, "--backend", self.backend),
            *("--rolling", self.rolling, "--master", master, "--parallelism", str(parallelism)),
            *(part for setting in self.settings for part in ("--set", setting)),
        ]

    def committed(self) -> int:
        """Return the last epoch that is committed; -1 for none."""
        with contextlib.suppress(FileNotFoundError):
            names = os.listdir(self.folder / "location" / "epochs")
            return max((int(name) for name in names if name.isdecimal()), default=-1)
        return -1

    def live(self, master: str, parallelism: int, kill: Kill | None = None) -> Life:
        """Start a driver, and see it through to its end.

        Raises:
            CrashTestFailed: If it hangs, or ends with an error that no kill explains.
        """
        arguments = self.arguments(master, parallelism)
        number = len(self.lives)
        point = self._point(kill, number)
        environment = {**os.environ}
        environment.pop(VARIABLE, None)
        if point is not None:
            environment[VARIABLE] = json.dumps(point._asdict())
        life = Life(f"{master} x{parallelism}", kill, last=self.committed())
        self.lives.append(life)
        log = self.folder / f"life-{number}.log"
        with log.open("wb") as output:
            command = [sys.executable, "-m", "tests.crash.job", *arguments]
            session = Session(command, environment, output, output)
        try:
            self._see_through(session, life, point)
        finally:
            self._old.append(session)
        life.last = self.committed()
        if life.code and life.killed_at is None:
            raise CrashTestFailed(
                f"Life {number} ({life.options}) of {self.folder} failed by itself:\n"
                + log.read_text(errors="replace")[-4000:]
            )
        return life

    def _point(self, kill: Kill | None, number: int) -> Point | None:
        if kill is None or kill.point is None:
            return None
        epoch = self.committed() + 1 + kill.ahead
        marker = str(self.folder / f"mark-{number}")
        if kill.point.startswith("generations"):  # which is claimed once, before any epoch
            return Point(kill.point, -1, kill.target, marker)
        return Point(kill.point, epoch, kill.target, marker, kill.skip)

    def _see_through(self, session: Session, life: Life, point: Point | None) -> None:
        seen = _Seen(self.committed())
        while session.poll() is None:
            committed = self.committed()
            if committed > seen.epoch:
                self._note_epoch(life, seen, committed)
            if life.killed_at is None:
                if self._is_marked(point):
                    life.killed_at = committed
                elif self._is_due(life, seen, point):
                    assert life.kill is not None
                    life.killed_at = (
                        committed if self._kill_now(session, life.kill.target) else None
                    )
            if seen.is_stuck():
                session.end()
                raise CrashTestFailed(f"{life} of {self.folder} hangs after epoch {committed}.")
            time.sleep(_POLL)
        if self._is_marked(point):
            if life.killed_at is None:
                life.killed_at = self.committed()
            if point is not None and point.target == "zombie":
                self._zombies.append(Path(point.marker))
        if life.restart is not None:
            self._start_seconds = life.restart
        code = session.poll()
        life.code = None if code is None or code < 0 or code > 128 else code

    def _note_epoch(self, life: Life, seen: _Seen, committed: int) -> None:
        now = time.monotonic()
        if life.restart is None:
            life.restart, life.first = now - seen.began, committed
            self._end_old()
        else:
            self._epoch_seconds += ((now - seen.changed) - self._epoch_seconds) / 5
        seen.epoch, seen.changed = committed, now

    def _is_due(self, life: Life, seen: _Seen, point: Point | None) -> bool:
        """Whether it is time to kill without a point, or to give the point up and kill at once."""
        kill = life.kill
        if kill is None:
            return False
        if point is not None:
            if seen.epoch <= max(point.epoch, seen.before) + _ENOUGH:
                return False
            # The process does not come there so often, or not any more.
            life.kill = Kill("all")
            return True
        if seen.due is None and (kill.ahead == 0 or seen.epoch >= seen.before + kill.ahead):
            early = 0.0 if kill.ahead else self._start_seconds
            seen.due = time.monotonic() + kill.instant * (self._epoch_seconds + early)
        return seen.due is not None and time.monotonic() >= seen.due

    def _is_marked(self, point: Point | None) -> bool:
        return point is not None and os.path.exists(point.marker + ".done")

    def _kill_now(self, session: Session, target: str) -> int:
        if target == "executor" and self.cluster is not None:
            return kill([one.pid for one in self.cluster.executors()][:1])
        if target == "workers" and self.cluster is not None:
            return kill([one.pid for one in self.cluster.python_workers()])
        return session.kill(TARGETS[target])

    def _end_old(self) -> None:
        """A driver has committed: what is left of the ones before may do its worst, and is then ended."""
        for marker in self._zombies:
            marker.unlink(missing_ok=True)
        self._zombies.clear()
        while self._old:
            self._old.pop().end()

    def close(self) -> None:
        """End everything that still runs."""
        self._end_old()

    def check(self) -> None:
        """Compare what the sinks have with the oracle.

        Raises:
            CrashTestFailed: If it is not the same, byte for byte.
        """
        options = job.arguments(self.arguments("local", 1))
        faults = oracle.faults(self.input, sinks.contents(options))
        if faults:
            lives = "\n".join(map(str, self.lives))
            raise CrashTestFailed(f"{self.folder}:\n" + "\n".join(faults) + f"\n{lives}")


def killed_until_done(
    trial: Trial,
    plan: Callable[[], tuple[str, int, Kill | None]],
    tell: Callable[[Life, Life], None] = lambda killed, next_life: None,
) -> None:
    """Start drivers until the input is done, then check what came out.

    Args:
        trial: The job.
        plan: Says for each life the master, the parallelism, and what is to be killed.
        tell: Is told of each life that had a kill, and of the one after it (or itself, if it went on).

    Raises:
        CrashTestFailed: If the job did not survive, or what came out is wrong.
    """
    try:
        killed: Life | None = None
        while True:
            life = trial.live(*plan())
            if killed is not None:
                tell(killed, life)
                killed = None
            if life.killed_at is not None:
                killed = life
            if life.code == 0:
                break
        if killed is not None:
            tell(killed, killed)
        trial.check()
    finally:
        trial.close()


def log_line(number: int, trial: Trial, killed: Life, after: Life) -> str:
    """Return the line of a kill in the log."""
    assert killed.kill is not None
    if killed.code == 0:
        outcome, restart = "the job went on", "-"
    else:
        died = "killed" if killed.code is None else f"failed with {killed.code}"
        if after.first is not None:
            following = f"went on with epoch {after.first}"
        else:
            following = (
                "had nothing left to do" if after.code == 0 else "was killed before an epoch"
            )
        outcome = f"driver {died}, the next {following}"
        restart = "-" if after.restart is None else f"{after.restart:.2f}"
    options = re.sub(r"spark://\S+", "cluster", killed.options)
    return (
        f"{number:4d} | {trial.seed} | {trial.backend} {options} | {killed.kill.where} | "
        f"{killed.kill.target} | {killed.killed_at} | {restart} | {outcome}"
    )


def by_chance(
    chance: random.Random,
    masters: Sequence[str],
    parallelisms: Sequence[int],
    targets: Sequence[str],
) -> Callable[[], tuple[str, int, Kill | None]]:
    """Return what plans each life by chance: half of the kills at a point, half at some instant."""

    def plan() -> tuple[str, int, Kill | None]:
        master = chance.choice(masters)
        points = COMMON_POINTS if master == "local" else COMMON_POINTS + SPARK_POINTS
        parallelism = chance.choice(parallelisms)
        if chance.random() < 0.3:
            target = chance.choice([one for one in targets if one in {*TARGETS, "executor"}])
            kill = Kill(target, None, chance.randint(0, 3), chance.random())
        else:
            point = chance.choice(points)
            fitting = [
                one
                for one in targets
                if point.startswith(IN_WORKERS) or one not in {"worker", "executor", "zombie"}
            ]
            if point.startswith("generations"):  # there are no workers yet
                fitting = [one for one in fitting if one != "workers"]
            if point == "call":  # it is not the task's own thread
                fitting = [one for one in fitting if one != "zombie"]
            kill = Kill(
                chance.choice(fitting), point, chance.randint(0, 3), skip=chance.randint(0, 2)
            )
        return master, parallelism, kill

    return plan
