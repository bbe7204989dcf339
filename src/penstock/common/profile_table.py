"""A profile as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.common.cost import Cost
from penstock.common.job_profile import JobProfile, ProfileRow
from penstock.common.plain_text import counted, in_columns

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
