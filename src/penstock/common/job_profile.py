"""Where the time of a job went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.common.cost import Cost
from penstock.common.plain_text import counted, in_columns

__all__ = ["EpochProfile", "JobProfile", "ProfileRow"]


@dataclass(frozen=True)
class ProfileRow:
    """What an operator, or what belongs to none, took of a job's time.

    Attributes:
        name: The name of the operator, or of the level whose tasks worked for none.
        times: Milliseconds by cost.
        operator_id: The id of the operator; empty for none.
        chain: The number of its chain, as plans show it; 0 for none.
    """

    name: str
    times: Mapping[Cost, float]
    operator_id: str = ""
    chain: int = 0

    @property
    def total(self) -> float:
        """All of it, in milliseconds."""
        return sum(self.times.values())


@dataclass(frozen=True)
class EpochProfile:
    """Where the time of one epoch went.

    Attributes:
        number: The number of the epoch.
        times: Milliseconds by cost.
    """

    number: int
    times: Mapping[Cost, float]

    @property
    def total(self) -> float:
        """All of it, in milliseconds."""
        return sum(self.times.values())


@dataclass(frozen=True)
class JobProfile:
    """Where the time of a job went: see `JobExecutionResult.get_profile`.

    Times are those on the wall, in milliseconds. While several tasks run at once, each takes its part of
    them: so all rows together are the time of all epochs. What a task does is found by samples; what is
    below one in a hundred samples is not to be relied on.

    Printed it is a table, in a notebook a picture.

    Attributes:
        operators: What each operator took, in the order of the plan.
        levels: What the tasks of each level took for no operator: mostly waiting for Spark.
        driver: What the driver and Spark took while no task ran, by cost.
        epochs: Where the time of each epoch went; of a long job, of the last 10,000.
        epoch_count: How many epochs there were.
        tasks: How many tasks ran.
        samples: How many samples were taken of them.
    """

    operators: tuple[ProfileRow, ...]
    levels: tuple[ProfileRow, ...] = ()
    driver: Mapping[Cost, float] = field(default_factory=dict)
    epochs: tuple[EpochProfile, ...] = ()
    epoch_count: int = 0
    tasks: int = 0
    samples: int = 0

    @property
    def total(self) -> float:
        """The time of all epochs, in milliseconds."""
        return sum(self.by_cost().values())

    def by_cost(self) -> dict[Cost, float]:
        """Return the milliseconds that went to each cost, over all rows; costs of 0 are left out."""
        found: dict[Cost, float] = {}
        for times in (*(row.times for row in (*self.operators, *self.levels)), self.driver):
            for cost, time in times.items():
                found[cost] = found.get(cost, 0.0) + time
        return {cost: found[cost] for cost in Cost if found.get(cost)}

    @property
    def epoch_median(self) -> float:
        """The median of the epochs' times, in milliseconds; 0 without epochs."""
        totals = sorted(epoch.total for epoch in self.epochs)
        middle = len(totals) // 2
        return (totals[middle] + totals[~middle]) / 2 if totals else 0.0

    @property
    def epoch_p99(self) -> float:
        """What 99 of 100 epochs took at most, in milliseconds; 0 without epochs."""
        totals = sorted(epoch.total for epoch in self.epochs)
        return totals[-(-99 * len(totals) // 100) - 1] if totals else 0.0

    @property
    def slowest_epoch(self) -> EpochProfile | None:
        """The epoch that took longest; None without epochs."""
        return max(self.epochs, key=lambda epoch: epoch.total, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as data that JSON can hold, with costs by their names in lower case."""
        return {
            "total": self.total,
            "samples": self.samples,
            "tasks": self.tasks,
            "epoch_count": self.epoch_count,
            "operators": [_plain(row) for row in self.operators],
            "levels": [_plain(row) for row in self.levels],
            "driver": _named(self.driver),
            "epochs": [
                {"number": epoch.number, "total": epoch.total, "times": _named(epoch.times)}
                for epoch in self.epochs
            ],
        }

    def __str__(self) -> str:
        return profile_table(self)

    def _repr_html_(self) -> str:
        return self.to_svg()

    def to_svg(self) -> str:
        """Return a picture of the profile: a bar for each row, in parts by cost."""
        from penstock.common.profile_svg import profile_svg

        return profile_svg(self)


def _plain(row: ProfileRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "operator_id": row.operator_id,
        "chain": row.chain,
        "total": row.total,
        "times": _named(row.times),
    }


def _named(times: Mapping[Cost, float]) -> dict[str, float]:
    return {cost.name.lower(): time for cost, time in times.items()}


_LONGEST_NAME: Final = 40


def profile_table(profile: JobProfile) -> str:
    """Return a profile as a table: a row for each operator, and the costs that occur as columns."""
    costs = [cost for cost in profile.by_cost() if cost.is_in_tasks]
    header = ["", "ms", "%", *(cost.value for cost in costs)]
    total = profile.total
    rows = [
        *(_cells(label(row), row.times, total, costs) for row in profile.operators),
        *(_cells(row.name, row.times, total, costs) for row in profile.levels),
        *(
            _cells(cost.value, {cost: time}, total, costs)
            for cost, time in profile.driver.items()
            if time
        ),
        _cells("total", profile.by_cost(), total, costs),
    ]
    return "\n".join([_title(profile), "", *_aligned([header, *rows]), *_epochs(profile)])


def label(row: ProfileRow) -> str:
    """Return what stands before the times of an operator: its chain and its name."""
    name = " ".join(row.name.split())
    if len(name) > _LONGEST_NAME:
        name = name[: _LONGEST_NAME - 1] + "…"
    return f"[{row.chain}] {name}" if row.chain else name


def _title(profile: JobProfile) -> str:
    epochs = counted(profile.epoch_count, "epoch")
    samples = f"{profile.samples:,} samples of {profile.tasks:,} tasks"
    return f"Where {profile.total:,.0f} ms went: {epochs}, {samples}"


def _cells(name: str, times: Mapping[Cost, float], total: float, costs: list[Cost]) -> list[str]:
    sum_ = sum(times.values())
    percent = 100 * sum_ / total if total else 0.0
    shown = (_milliseconds(times.get(cost, 0.0)) for cost in costs)
    return [name, _milliseconds(sum_), f"{percent:.1f}", *shown]


def _milliseconds(time: float) -> str:
    if time == 0:
        return ""
    return f"{time:,.0f}" if time >= 100 else f"{time:.1f}"


def _aligned(rows: list[list[str]]) -> list[str]:
    lines = in_columns(rows, [False, *(True for _ in rows[0][1:])])
    return [*lines[:-1], "─" * max(map(len, lines)), lines[-1]]


def _epochs(profile: JobProfile) -> Iterator[str]:
    slowest = profile.slowest_epoch
    if slowest is None or profile.epoch_count < 2:
        return
    yield ""
    yield (
        f"An epoch: median {_milliseconds(profile.epoch_median)} ms, "
        f"99 % within {_milliseconds(profile.epoch_p99)} ms"
    )
    parts = sorted(slowest.times.items(), key=lambda part: -part[1])
    shown = ", ".join(f"{cost.value} {_milliseconds(time)}" for cost, time in parts if time)
    yield f"The slowest, epoch {slowest.number}: {_milliseconds(slowest.total)} ms ({shown})"
