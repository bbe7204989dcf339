"""What happens to a job of the long crash test: planned by chance, from what was asked for."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from tests.crash.changes import next_version
from tests.crash.killer import Trial
from tests.crash.lives import End, Kill, Plan

_STEPS: Final = (
    *("generations", "eras", "state", "prepared", "epochs", "delete"),
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

FAULTS: Final = (
    *("kill", "task", "stop", "savepoint", "drain", "back", "change"),
    *("supersede", "store", "disk", "network", "clock", "speculation"),
)
"""What can be asked for. `kill`: processes are killed. `task`: something raises or ends in the middle.
`stop`, `savepoint` and `drain`: the job is stopped in these ways, and goes on. `back`: a job that went on goes
back to a savepoint. `change`: its program is changed. `supersede`: a driver stands still until another has its
place, where there are no locks. `store`: checkpoints are in an object store. `disk`: the power goes, and the
disk has only what was synced. `network`: servers cannot be reached, or do not answer. `clock`: it jumps.
`speculation`: tasks are slow, and Spark runs others in their place."""
TARGETS: Final = {
    "local": ["all"],
    "local[": ["all", "all", "driver", "python", "jvm", "worker", "workers", "zombie"],
    "spark:": ["driver", "python", "jvm", "worker", "workers", "executor", "executor", "zombie"],
}
"""Who is killed, by what the master begins with."""
_KINDS: Final = {
    "task": ["raise", "raise", "exit"],
    "disk": ["power"] * 4,
    "supersede": ["suspend"] * 3,
    "network": ["network"] * 2,
    "clock": ["clock"],
    "speculation": ["slow"] * 3,
}
"""What may happen besides, by what was asked for, as often as it is to be chosen."""
_AT_POINTS: Final = ("raise", "exit", "slow")
_ANY_TIME: Final = ("all", "driver", "python", "jvm", "workers", "executor", "power", "suspend")


@dataclass
class ByChance:
    """Plans each life of a job by chance.

    Args:
        chance: Decides.
        masters: One of these in each life.
        parallelisms: One of these in each life.
        targets: Who is killed.
        faults: What happens besides: of `FAULTS`, what this job has.
    """

    chance: random.Random
    masters: Sequence[str]
    parallelisms: Sequence[int]
    targets: Sequence[str]
    faults: Collection[str] = ("kill",)

    def __call__(self, trial: Trial) -> Plan:
        master = self.chance.choice(self.masters)
        if trial.lives:
            self._move(trial)
        version = trial.version
        if version.drains != trial.drains:
            version = version._replace(number=len(trial.lives), drains=trial.drains)
        plan = Plan(master, self.chance.choice(self.parallelisms), version=version)
        may_change = "change" in self.faults and trial.lives and not trial.lives[-1].is_refused
        if may_change and self.chance.random() < 0.5:
            version = next_version(self.chance, version, len(trial.lives))
            plan = plan._replace(version=version)
        ways = {
            "stop": "stop",
            "savepoint": "stop-with-savepoint",
            "drain": "drain",
            "back": "savepoint",
        }
        ends = [way for fault, way in ways.items() if fault in self.faults]
        if trial.lives and trial.lives[-1].outcome == "stopped" and trial.lives[-1].first is None:
            return plan  # perhaps there is nothing left
        if ends and self.chance.random() < 0.6:
            way = self.chance.choice(ends)
            plan = plan._replace(end=End(way, self.chance.randint(1, 8)))
            if self.chance.random() < 0.6:
                return plan
        kind = self.chance.choice(self._kinds())
        return plan._replace(kill=self._kill(master, kind))

    def _move(self, trial: Trial) -> None:
        """Let the next life start from a savepoint, if there is one to start from."""
        last = trial.lives[-1]
        if last.savepoint is None or last.outcome not in {"stopped", "drained", ""}:
            return
        goes_back = last.end.how == "savepoint"
        if goes_back or self.chance.random() < 0.8:
            trial.move(last.savepoint, repeats=goes_back)

    def _kinds(self) -> list[str]:
        kinds = list(self.targets) * (4 if len(self.targets) == 1 else 1)
        kinds = kinds if "kill" in self.faults else []
        for fault, more in _KINDS.items():
            kinds += more if fault in self.faults else ()
        return kinds or list(self.targets)

    def _kill(self, master: str, target: str) -> Kill:
        chance = self.chance
        if target in {"network", "clock"} or (target in _ANY_TIME and chance.random() < 0.3):
            return Kill(target, None, chance.randint(0, 3), chance.random())
        points = [one for one in self._points(master) if self._fits(target, one)]
        return Kill(target, chance.choice(points), chance.randint(0, 3), skip=chance.randint(0, 2))

    def _points(self, master: str) -> Sequence[str]:
        return COMMON_POINTS if master == "local" else COMMON_POINTS + SPARK_POINTS

    def _fits(self, target: str, point: str) -> bool:
        """Whether somebody can be killed at a point."""
        is_in_worker = point.startswith(IN_WORKERS)
        if target == "slow":
            return point in {"record", "level.before", "level.after", "state.before"}
        if target in {"worker", "executor", "zombie"} and not is_in_worker:
            return False
        if target in _AT_POINTS and point.startswith("spark."):
            return False  # it is seen from another thread
        if point.startswith("generations"):  # there are no workers yet
            return target != "workers"
        # It is not the task's own thread.
        return point != "call" or target != "zombie"
