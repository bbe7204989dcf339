"""Runs the job of the crash test until its input is done, and kills it on the way, by chance or on purpose."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from tests.crash import job, oracle, records, sinks
from tests.crash.changes import MORE, Version, must_go_on, must_refuse
from tests.crash.lives import Kill, Life, Plan
from tests.crash.points import CLAIMED, TARGETS, VARIABLE, Point, suspend
from tests.crash.surroundings.surroundings import Surroundings
from tests.servers.processes import Session
from tests.servers.processes import kill as end_processes
from tests.servers.spark_cluster import SparkCluster
from tests.servers.zygote import ForkedSession, Zygote

from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import Storage, open_storage


def number_of(name: str) -> int:
    """Return the number of the epoch whose metadata has a name; -1 for what is no metadata."""
    first = name.partition("-")[0]
    return int(first) if first.isdecimal() else -1


_POLL: Final = 0.003
_POLL_FORKED: Final = 0.02
_POLL_STORE: Final = 0.1
_STANDSTILL: Final = 4.0
"""After how many seconds those who stand still go on, even if the one that took their place waits for them."""
_SETTLED: Final = 10.0
_ENOUGH: Final = 3
"""After how many epochs a point that was not reached is given up for a kill at once."""
_PATIENCE: Final = 120.0
REFUSALS: Final = ("UnclaimedStateError", "UnclaimedOutputError")
"""What a driver fails with whose program must not go on from what is there."""
TAKEN: Final = ("LocationInUseError", "EpochTakenError")
"""What a driver fails with that another has superseded."""


Running = Session | ForkedSession


class CrashTestFailed(AssertionError):
    """Raised when a job did not survive, or when what came out is not what had to."""


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
        postgres: Where PostgreSQL is.
        cluster: The cluster that the drivers use; None for none.
        rolling: When files are complete: with their `size`, or with each `epoch`.
        settings: What else drivers are configured with.
        around: What the job has around it.
        zygotes: What drivers without Spark are forked from, one life after the other; None if they begin
            as processes of their own, which takes longer.
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
    around: Surroundings = field(default_factory=Surroundings)
    zygotes: Iterator[Zygote] | None = None
    lives: list[Life] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)
    savepoint: str | None = None
    repeats: int = 0
    drains: int = 0
    dropped: set[int] = field(default_factory=set)
    _was_cut: bool = False
    _moves: int = 0
    _through: int = -1
    _old: list[Running] = field(default_factory=list)
    _suspended: list[tuple[Running, Path]] = field(default_factory=list)
    _resumed: list[Running] = field(default_factory=list)
    _zombies: list[Path] = field(default_factory=list)
    _storage: tuple[str, Storage] | None = None
    _epoch_seconds: float = 0.05
    _start_seconds: float = 0.0

    def __post_init__(self) -> None:
        self.chance = random.Random(f"{self.seed} surroundings")
        self.input = records.generate(self.seed, self.files, self.size)
        records.write(self.folder / "input", self.input)
        (self.folder / "disk").mkdir()
        if self.around.disk is not None:
            self.around.disk.take_all()
        self.table = f"crash_{uuid.uuid4().hex}"
        if self.postgres:
            sinks.create_table(self.postgres, self.table)

    @property
    def version(self) -> Version:
        """The version of the program that committed last."""
        return self.versions[-1] if self.versions else Version()

    @property
    def location(self) -> str:
        """The checkpoint location."""
        name = f"location-{self._moves}" if self._moves else "location"
        return f"{self.around.store[0] if self.around.store else self.disk}/{name}"

    @property
    def disk(self) -> Path:
        """The folder in which everything is that has to last."""
        return self.folder / "disk"

    @property
    def output(self) -> Path:
        """The folder of the FileSink."""
        return self.disk / "output"

    def move(self, savepoint: str, *, repeats: bool = False) -> None:
        """Let the next life start from a savepoint, on a new location.

        Args:
            savepoint: The savepoint.
            repeats: Whether the job went on after it.
        """
        self.savepoint = savepoint
        self._moves += 1
        self.repeats += repeats
        self._through = -1 if repeats else self._through

    def arguments(self, plan: Plan) -> list[str]:
        """Return what the driver of a life is started with."""
        return [
            *("--location", self.location, "--input", str(self.folder / "input")),
            *("--output", str(self.output), "--table", self.table),
            *("--postgres", self._relayed(self.postgres), "--backend", self.backend),
            *("--rolling", self.rolling),
            *("--master", plan.master, "--parallelism", str(plan.parallelism)),
            *("--savepoints", str(self.disk / "savepoints")),
            *("--end", plan.end.how, "--end-after", str(plan.end.after)),
            *(("--from", self.savepoint) if self.savepoint else ()),
            *plan.version.arguments,
            *(part for setting in self.settings for part in ("--set", setting)),
        ]

    def _relayed(self, postgres: str) -> str:
        """Return where PostgreSQL is for drivers: behind a relay, if there is one."""
        for relay in self.around.relays:
            postgres = postgres.replace(f"127.0.0.1:{relay.target}/", f"{relay.host}:{relay.port}/")
        return postgres

    def committed(self) -> int:
        """Return the last epoch that is committed; -1 for none."""
        if self.around.store:
            names = self._opened().names("epochs")
            return max((number_of(name.rpartition("/")[2]) for name in names), default=-1)
        with contextlib.suppress(FileNotFoundError):
            names = os.listdir(f"{self.location}/epochs")
            return max(map(number_of, names), default=-1)
        return -1

    def _opened(self) -> Storage:
        """Return the storage at the location: to open an object store takes longer than to ask it."""
        if self._storage is None or self._storage[0] != self.location:
            self._storage = self.location, open_storage(self.location)
        return self._storage[1]

    def live(self, master: str, parallelism: int, kill: Kill | None = None) -> Life:
        """Start a driver, and see it through to its end; see `run`."""
        return self.run(Plan(master, parallelism, kill))

    def run(self, plan: Plan) -> Life:
        """Start a driver, and see it through to its end.

        Raises:
            CrashTestFailed: If it hangs, or ends with an error that nothing explains.
        """
        number = len(self.lives)
        point = self._point(plan.kill, number)
        environment = {**os.environ, **self.around.environment()}
        environment.pop(VARIABLE, None)
        if point is not None:
            environment[VARIABLE] = json.dumps(point._asdict())
        was_parted = self.around.is_parted
        options = f"{plan.master} x{plan.parallelism}"
        life = Life(options, plan.kill, plan.end, plan.version, last=self.committed())
        self.lives.append(life)
        log = self._log(number)
        with log.open("wb") as output:
            session = self._start(plan, environment, output)
        is_suspended = False
        try:
            is_suspended = self._see_through(session, life, point)
        finally:
            if is_suspended:
                self._suspended.append((session, log))
            else:
                self._old.append(session)
        if self.around.disk is not None and life.killed_at is not None:
            self._end_old()
            assert life.kill is not None
            if life.kill.target == "power":
                self.around.disk.cut(self.chance, self.chance.choice((0.0, 0.0, 0.5, 0.9)))
        life.last = self.committed()
        life.read(log.read_text(errors="replace"))
        if was_parted and life.code and life.killed_at is None:
            life.kill, life.killed_at = Kill("network"), life.last
        self._judge(life, log)
        return life

    def _start(self, plan: Plan, environment: Mapping[str, str], output: IO[bytes]) -> Running:
        arguments = self.arguments(plan)
        if self.zygotes is not None and plan.master == "local":
            return next(self.zygotes).start(arguments, environment, output)
        command = [sys.executable, "-m", "tests.crash.job", *arguments]
        return Session(command, environment, output, output)

    def _judge(self, life: Life, log: Path) -> None:
        """Say what a life means for those that follow.

        Raises:
            CrashTestFailed: If it failed by itself, or did what it should have refused to do.
        """
        old, new = self.version, life.version
        what = f"Life {len(self.lives) - 1} ({life.options}) of {self.folder}"
        told = log.read_text(errors="replace")[-4000:]
        if life.last > self._through:
            if must_refuse(old, new):
                raise CrashTestFailed(f"{what} dropped state of {old} for {new}:\n{told}")
            self._through = life.last
            self.drains += life.end.how == "drain" and self._of_last("is_drained")
            if not self.versions or new != self.version:
                if MORE in old.features - new.features and new.drops and self._was_cut:
                    self.dropped.add(old.number)
                self.versions.append(new)
            self._was_cut = life.outcome not in {"stopped", "drained", "finished"}
        elif life.error in REFUSALS:
            life.is_refused = True
            if must_go_on(old, new):
                raise CrashTestFailed(f"{what} was refused, {old} to {new}:\n{told}")
            return
        if life.error in TAKEN and self._has_others():
            return
        if life.error == "CheckpointMismatchError" and self._of_last("is_last"):
            life.is_refused = (
                True  # the input is done, so that another program has nothing to do here
            )
            return
        if life.code and life.killed_at is None:
            raise CrashTestFailed(f"{what} failed by itself:\n{told}")

    def _of_last(self, name: str) -> bool:
        """Return what the metadata of the last epoch says."""
        epochs = StoredEpochs(open_storage(self.location))
        return bool(getattr(epochs.get(epochs.numbers()[-1]), name))

    def _log(self, number: int) -> Path:
        return self.folder / f"life-{number}.log"

    def _has_others(self) -> bool:
        return bool(self._suspended or self._resumed)

    def _point(self, kill: Kill | None, number: int) -> Point | None:
        if kill is None or kill.point is None:
            return None
        epoch = self.committed() + 1 + kill.ahead
        marker = str(self.folder / f"mark-{number}")
        if kill.point.startswith(("generations", "eras")):  # which come once, before any epoch
            return Point(kill.point, -1, kill.target, marker)
        return Point(kill.point, epoch, kill.target, marker, kill.skip, kill.every)

    def _see_through(self, session: Running, life: Life, point: Point | None) -> bool:
        """See a driver to its end, and return False, or until it stands still, and return True."""
        seen = _Seen(self.committed())
        while session.poll() is None:
            committed = self.committed()
            if committed > seen.epoch:
                self._note_epoch(life, seen, committed)
            if life.killed_at is None:
                if self._has_struck(session, life, seen, point):
                    life.killed_at = committed
                if life.killed_at is not None and life.kill and life.kill.target == "suspend":
                    return True
            if (
                self._suspended
                and time.monotonic() > seen.began + _STANDSTILL
                and _has_claimed(self._log(len(self.lives) - 1))
            ):
                self._resume()
            if seen.is_stuck():
                session.end()
                raise CrashTestFailed(f"{life} of {self.folder} hangs after epoch {committed}.")
            time.sleep(self._pause)
        if self._is_marked(point):
            if life.killed_at is None:
                life.killed_at = self.committed()
            if point is not None and point.target == "zombie":
                self._zombies.append(Path(point.marker))
        if life.restart is not None:
            self._start_seconds = life.restart
        code = session.poll()
        life.code = None if code is None or code < 0 or code > 128 else code
        return False

    @property
    def _pause(self) -> float:
        """How long to wait until a driver is looked at again."""
        if self.around.store:
            return _POLL_STORE
        return _POLL if self.zygotes is None else _POLL_FORKED

    def _has_struck(self, session: Running, life: Life, seen: _Seen, point: Point | None) -> bool:
        """Whether the fault happened; one that is not planned for a point happens here when it is due."""
        if self._is_marked(point):
            return True
        if not self._is_due(life, seen, point):
            return False
        assert life.kill is not None
        return self._kill_now(session, life.kill) > 0

    def _note_epoch(self, life: Life, seen: _Seen, committed: int) -> None:
        now = time.monotonic()
        if life.restart is None:
            life.restart, life.first = now - seen.began, committed
            self._end_old()
            self._resume()
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

    def _kill_now(self, session: Running, kill: Kill) -> int:
        target = kill.target
        if target == "network":
            self.around.part(self.chance)
            return 1
        if target == "clock":
            self.around.jump(self.chance)
            return 1
        if target == "suspend":
            return suspend(session.id)
        if target == "executor" and self.cluster is not None:
            return end_processes([one.pid for one in self.cluster.executors()][:1])
        if target == "workers" and self.cluster is not None:
            return end_processes([one.pid for one in self.cluster.python_workers()])
        return session.kill(TARGETS["all" if target == "power" else target])

    def _resume(self) -> None:
        """Let those who stand still go on, while others do their work.

        Who has not claimed the location yet would be no predecessor, but one more start: it is ended.
        """
        while self._suspended:
            session, log = self._suspended.pop()
            if not _has_claimed(log):
                session.end()
                continue
            end_processes([one.pid for one in session.processes()], signal.SIGCONT)
            self._resumed.append(session)

    def _end_old(self) -> None:
        """A driver has committed: what is left of the ones before may do its worst, and is then ended."""
        for marker in self._zombies:
            marker.unlink(missing_ok=True)
        self._zombies.clear()
        while self._old:
            self._old.pop().end()

    def settle(self) -> None:
        """Let those who were superseded come to their end."""
        self._resume()
        deadline = time.monotonic() + _SETTLED
        for session in self._resumed:
            while session.poll() is None and time.monotonic() < deadline:
                time.sleep(_POLL)

    def close(self) -> None:
        """End everything that still runs."""
        self.around.mend()
        self._end_old()
        for session in [*(one for one, _ in self._suspended), *self._resumed]:
            session.end()
        self._suspended.clear()
        self._resumed.clear()

    def check(self) -> None:
        """Compare what the sinks have with the oracle.

        Raises:
            CrashTestFailed: If it is not the same, byte for byte.
        """
        options = job.arguments(self.arguments(Plan("local", 1)))
        options.postgres = self.postgres
        found = sinks.contents(options)
        history = oracle.History(tuple(self.versions) or (Version(),), self.repeats)
        faults = oracle.faults(self.input, found, history=history)
        more = sinks.lines_below(Path(options.output + sinks.MORE_FILES))
        faults += oracle.faults_of_more(
            self.input, found["files"], more, history.versions, self.dropped
        )
        if faults:
            lives = "\n".join(map(str, self.lives))
            raise CrashTestFailed(f"{self.folder}:\n" + "\n".join(faults) + f"\n{lives}")


def _has_claimed(log: Path) -> bool:
    """Whether the driver that wrote a log has claimed the job's location."""
    return CLAIMED in log.read_text(errors="replace").splitlines()


def killed_until_done(
    trial: Trial,
    plan: Callable[[Trial], Plan],
    tell: Callable[[Life, Life], None] = lambda killed, next_life: None,
) -> None:
    """Start drivers until the input is done, then check what came out.

    Args:
        trial: The job.
        plan: Says for each life what it is started with, and what is to be killed.
        tell: Is told of each life that had a fault, and of the one after it (or itself, if it went on).

    Raises:
        CrashTestFailed: If the job did not survive, or what came out is wrong.
    """
    try:
        told: Life | None = None
        while True:
            life = trial.run(plan(trial))
            if told is not None:
                tell(told, life)
                told = None
            if (
                life.killed_at is not None
                or life.is_refused
                or life.outcome in {"stopped", "drained"}
            ):
                told = life
            if life.code == 0 and life.outcome == "finished":
                break
        if told is not None:
            tell(told, told)
        trial.settle()
        trial.check()
    finally:
        trial.close()
