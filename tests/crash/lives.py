"""What a life of a job is to be, what it was, and the line of the log that says so."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tests.crash.changes import Version

if TYPE_CHECKING:
    from tests.crash.killer import Trial


@dataclass(frozen=True)
class Kill:
    """A kill that is planned.

    Attributes:
        target: Who: one of `points.TARGETS`, or what is told there.
        point: Where; None for some instant.
        ahead: In which epoch of those that are still to come, from 0.
        instant: Without a point: how long after that epoch has begun, in epochs.
        skip: How often the process passes the point before.
        every: Once in how many epochs it happens again; 0 for never.
    """

    target: str
    point: str | None = None
    ahead: int = 0
    instant: float = 0.0
    skip: int = 0
    every: int = 0

    @property
    def where(self) -> str:
        return self.point or f"{self.instant:.2f} of an epoch"


class End(NamedTuple):
    """What is asked of a job.

    Attributes:
        how: One of `job.ENDS`.
        after: After how many epochs.
    """

    how: str = "finish"
    after: int = 1


class Plan(NamedTuple):
    """A life that is planned.

    Attributes:
        master: Where it runs.
        parallelism: The parallelism.
        kill: What is to be killed; None for nothing.
        end: What is asked of it.
        version: The version of its program.
    """

    master: str
    parallelism: int
    kill: Kill | None = None
    end: End = End()
    version: Version = Version()


@dataclass
class Life:
    """What became of a driver, from its start to its end.

    Attributes:
        options: What it was started with.
        kill: What was to be killed.
        end: What was asked of it.
        version: The version of its program.
        killed_at: The epoch that was the last to be committed when it was; None if it was not.
        restart: The seconds from its start to the first epoch that it committed; None for none.
        code: What it returned; None if it was killed.
        first: The first epoch that it committed.
        last: The last epoch that was committed when it ended.
        outcome: What it said at its end: `finished`, `stopped` or `drained`; empty if it could not.
        error: The class of the error that it failed with; empty for none.
        savepoint: The savepoint that it wrote; None for none.
        is_refused: Whether its program must not go on from what was there, and did not.
    """

    options: str
    kill: Kill | None
    end: End = field(default_factory=End)
    version: Version = field(default_factory=Version)
    killed_at: int | None = None
    restart: float | None = None
    code: int | None = None
    first: int | None = None
    last: int = -1
    outcome: str = ""
    error: str = ""
    savepoint: str | None = None
    is_refused: bool = False

    def read(self, log: str) -> None:
        """Take from what it wrote how it ended."""
        for line in log.splitlines():
            if line in {"finished", "stopped", "drained"}:
                self.outcome = line
            elif line.startswith("savepoint "):
                self.savepoint = line.removeprefix("savepoint ")
            elif found := re.match(r"penstock\.errors\.(\w+): ", line):
                self.error = found[1]


def log_line(number: int, trial: Trial, killed: Life, after: Life) -> str:
    """Return the line of a fault in the log."""
    options = re.sub(r"spark://\S+", "cluster", killed.options)
    where, what = "-", "-"
    if killed.killed_at is not None:
        assert killed.kill is not None
        where, what = killed.kill.where, killed.kill.target
    if killed.end.how != "finish":
        what = killed.end.how if what == "-" else f"{what} at {killed.end.how}"
    if killed.is_refused:
        what = "changed"
    epoch = killed.last if killed.killed_at is None else killed.killed_at
    restart = "-" if after is killed or after.restart is None else f"{after.restart:.2f}"
    around = trial.around.name + (f" {killed.version.text}" if trial.versions[1:] else "")
    return (
        f"{number:4d} | {trial.seed} | {trial.backend} {options} | {around} | {where} | {what} | {epoch} | "
        f"{restart} | {_outcome(killed, after)}"
    )


def _outcome(killed: Life, after: Life) -> str:
    if killed.is_refused:
        return f"refused with {killed.error}"
    if killed.outcome == "finished":
        return "the job went on"
    if killed.outcome in {"stopped", "drained"}:
        ended = killed.outcome
    elif killed.kill is not None and killed.kill.target == "suspend":
        ended = "stands still"
    else:
        ended = "killed" if killed.code is None else f"failed with {killed.error or killed.code}"
    if after.first is not None:
        following = f"went on with epoch {after.first}"
    elif after.code == 0:
        following = "had nothing left to do"
    else:
        following = f"failed with {after.error}" if after.error else "was killed before an epoch"
    return f"driver {ended}, the next {following}"
