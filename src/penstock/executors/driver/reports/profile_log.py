"""Adds up where the time of epochs went: that of tasks by their samples, the rest by what lies between."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from penstock.common.cost import Cost
from penstock.common.job_profile import EpochProfile, JobProfile, ProfileRow
from penstock.runtime.program import Program
from penstock.runtime.task.profiling.sampler import TaskProfile

_BUSY: Final = (Cost.USER, Cost.FRAMEWORK, Cost.STATE, Cost.SERIALIZATION, Cost.SNAPSHOT)
_MOST_EPOCHS: Final = 10_000

_Key = tuple[int, str, Cost]
"""A level, the id of an operator, and a cost."""
_T = TypeVar("_T")


class _Sums(defaultdict[_T, float]):
    """Seconds, which begin at 0, for each of some things."""

    def __init__(self, known: Mapping[_T, float] | None = None) -> None:
        super().__init__(float, known or {})

    def add(self, others: Mapping[_T, float]) -> None:
        for key, seconds in others.items():
            self[key] += seconds


@dataclass(frozen=True)
class _Epoch:
    """Where the time of an epoch went, in seconds.

    Attributes:
        number: Its number.
        took: How long it took.
        costs: What costs took.
        unseen: What tasks of a level took, where no sample says for what.
    """

    number: int
    took: float
    costs: _Sums[Cost]
    unseen: _Sums[int]


class ProfileLog:
    """Adds up where the time of epochs went.

    Args:
        program: The program.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._lock = threading.Lock()
        self._epochs: deque[_Epoch] = deque(maxlen=_MOST_EPOCHS)
        self._seen: _Sums[_Key] = _Sums()
        self._unseen: _Sums[int] = _Sums()
        self._driver: _Sums[Cost] = _Sums()
        self._triggers: dict[int, float] = {}
        self._epoch_count = self._tasks = self._samples = 0

    def add(
        self, number: int, started: float, ran: float, took: float, tasks: Sequence[TaskProfile]
    ) -> None:
        """Add an epoch.

        Args:
            number: Its number.
            started: When it began, in seconds since 1970.
            ran: After how many seconds the driver had heard from its tasks.
            took: After how many seconds it was committed and published.
            tasks: Where the time of its tasks went.
        """
        covered, driver = _around(started, ran, tasks)
        driver[Cost.COMMIT] = took - ran
        seen, unseen = _in_tasks(covered, tasks)
        costs = _Sums(driver)
        for (_, _, cost), seconds in seen.items():
            costs[cost] += seconds
        with self._lock:
            self._epochs.append(_Epoch(number, took, costs, unseen))
            self._seen.add(seen)
            self._unseen.add(unseen)
            self._driver.add(driver)
            self._epoch_count += 1
            self._tasks += len(tasks)
            self._samples += sum(task.count for task in tasks)

    def add_triggers(self, durations: Iterable[tuple[int, float]]) -> None:
        """Add how long Spark took for each micro-batch with the epoch in it.

        Args:
            durations: Pairs of the number of an epoch and seconds; one that is known is not added again.
        """
        with self._lock:
            took = {epoch.number: epoch.took for epoch in self._epochs}
            for number, seconds in durations:
                if number in took and number not in self._triggers:
                    self._triggers[number] = max(0.0, seconds - took[number])
                    self._driver[Cost.TRIGGER] += self._triggers[number]
            for number in self._triggers.keys() - took.keys():
                del self._triggers[number]

    def busy(self) -> dict[str, float]:
        """Return for how many milliseconds operators were busy, by their ids: waiting does not count."""
        with self._lock:
            rows = tuple(self._operators(self._times(self._all_shares())))
        return {row.operator_id: sum(row.times.get(cost, 0.0) for cost in _BUSY) for row in rows}

    def profile(self) -> JobProfile:
        """Return the profile of the epochs so far."""
        with self._lock:
            shares = self._all_shares()
            times = self._times(shares)
            return JobProfile(
                tuple(self._operators(times)),
                tuple(self._levels(times)),
                {cost: 1000 * self._driver[cost] for cost in Cost if cost in self._driver},
                tuple(self._epoch(epoch, shares) for epoch in self._epochs),
                self._epoch_count,
                self._tasks,
                self._samples,
            )

    def _all_shares(self) -> dict[int, dict[tuple[str, Cost], float]]:
        return {level: self._shares(level) for level in range(self._program.levels)}

    def _times(self, shares: Mapping[int, Mapping[tuple[str, Cost], float]]) -> _Sums[_Key]:
        times = _Sums(self._seen)
        for level, seconds in self._unseen.items():
            for (operator, cost), share in shares[level].items():
                times[level, operator, cost] += seconds * share
        return times

    def _shares(self, level: int) -> dict[tuple[str, Cost], float]:
        """Return what of a level's time went to what, by all samples: what no sample saw went so too."""
        found = {key[1:]: seconds for key, seconds in self._seen.items() if key[0] == level}
        total = sum(found.values())
        if not total:
            return {("", Cost.FRAMEWORK): 1.0}
        return {key: seconds / total for key, seconds in found.items()}

    def _operators(self, times: Mapping[_Key, float]) -> Iterable[ProfileRow]:
        for vertex in self._program.vertices:
            for spec in vertex.operators:
                found = _row(times, [key for key in times if key[1] == spec.operator_id])
                yield ProfileRow(spec.name, found, spec.operator_id, vertex.index + 1)

    def _levels(self, times: Mapping[_Key, float]) -> Iterable[ProfileRow]:
        known = {spec.operator_id for it in self._program.vertices for spec in it.operators}
        for number in range(self._program.levels):
            here = [key for key in times if key[0] == number and key[1] not in known]
            if here:
                yield ProfileRow(f"tasks of level {number}", _row(times, here))

    def _epoch(
        self, epoch: _Epoch, shares: Mapping[int, Mapping[tuple[str, Cost], float]]
    ) -> EpochProfile:
        costs = _Sums(epoch.costs)
        for level, seconds in epoch.unseen.items():
            for (_, cost), share in shares[level].items():
                costs[cost] += seconds * share
        if epoch.number in self._triggers:
            costs[Cost.TRIGGER] = self._triggers[epoch.number]
        return EpochProfile(
            epoch.number, {cost: 1000 * costs[cost] for cost in Cost if cost in costs}
        )


def _row(times: Mapping[_Key, float], keys: Iterable[_Key]) -> dict[Cost, float]:
    """Return the milliseconds of some of the keys by cost, in the order of the costs."""
    found = _Sums[Cost]()
    for key in keys:
        found[key[2]] += 1000 * times[key]
    return {cost: found[cost] for cost in Cost if cost in found}


def _around(started: float, ran: float, tasks: Sequence[TaskProfile]) -> tuple[float, _Sums[Cost]]:
    """Return for how long a task ran, and what was before, between and after tasks."""
    found: _Sums[Cost] = _Sums()
    reached, covered = 0.0, 0.0
    spans = sorted((task.started - started, task.seconds) for task in tasks)
    for index, (start, seconds) in enumerate(spans):
        # The clocks of machines differ a little.
        begin = min(max(start, 0.0), ran)
        end = min(begin + seconds, ran)
        if begin > reached:
            found[Cost.SCHEDULING if index else Cost.PLANNING] += begin - reached
        if end > reached:
            covered += end - max(begin, reached)
            reached = end
        reached = max(reached, begin)
    found[Cost.RESULTS if spans else Cost.PLANNING] += ran - reached
    return covered, found


def _in_tasks(covered: float, tasks: Sequence[TaskProfile]) -> tuple[_Sums[_Key], _Sums[int]]:
    """Divide the time in which tasks ran: among them by how long they took, then by their samples."""
    seen: _Sums[_Key] = _Sums()
    unseen: _Sums[int] = _Sums()
    total = sum(task.seconds for task in tasks)
    for level in {task.level for task in tasks}:
        here = [task for task in tasks if task.level == level]
        seconds = covered * sum(task.seconds for task in here) / total if total else 0.0
        sampled = sum(sum(task.samples.values()) for task in here)
        if not sampled:
            unseen[level] += seconds
        for task in here:
            for (operator, cost), stands_for in task.samples.items():
                seen[level, operator, cost] += seconds * stands_for / sampled
    return seen, unseen
