"""Where the time of a job went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.common.cost import Cost

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
        from penstock.common.profile_table import profile_table

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
