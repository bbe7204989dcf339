"""What operators count, and what the user's functions count beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.runtime.elements import MIN_TIMESTAMP


class Counter:
    """A number that a user's function counts up and down.

    Example:
        >>> counter = Counter()
        >>> counter.inc(2)
        >>> counter.get_count()
        2
    """

    def __init__(self) -> None:
        self._count = 0
        self._taken = 0

    def inc(self, n: int = 1) -> None:
        """Add `n`."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Take off `n`."""
        self._count -= n

    def get_count(self) -> int:
        """Return the count."""
        return self._count

    def take(self) -> int:
        """Return what was counted since the last call."""
        gained, self._taken = self._count - self._taken, self._count
        return gained


class Reading(NamedTuple):
    """What a gauge showed: a later reading takes its place, where counts are summed."""

    value: Any


class MetricGroup:
    """The metrics of one user's function, reported with the result of the job.

    Args:
        prefix: What stands before the names of this group's metrics.

    Example:
        >>> group = MetricGroup()
        >>> group.add_group("cache").counter("hits").inc()
        >>> group.take()
        {'cache.hits': 1}
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, Callable[[], Any]] = {}
        self._groups: dict[str, MetricGroup] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the group below this one with that name (and then that value), made if new."""
        path = name if extra is None else f"{name}.{extra}"
        if path not in self._groups:
            self._groups[path] = MetricGroup(f"{self._prefix}{path}.")
        return self._groups[path]

    def counter(self, name: str) -> Counter:
        """Return the counter with that name, made if new."""
        return self._counters.setdefault(name, Counter())

    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """Report what `obj` returns when an epoch ends, under that name."""
        self._gauges[name] = obj

    def take(self) -> dict[str, Any]:
        """Return what was counted since the last call, and readings of the gauges, by full name."""
        return {**self.take_counts(), **self._readings()}

    def take_counts(self) -> dict[str, Any]:
        """Return what was counted since the last call, by full name."""
        found: dict[str, Any] = {
            self._prefix + name: counter.take() for name, counter in self._counters.items()
        }
        for group in self._groups.values():
            found.update(group.take_counts())
        return found

    def _readings(self) -> dict[str, Any]:
        found = {self._prefix + name: Reading(gauge()) for name, gauge in self._gauges.items()}
        for group in self._groups.values():
            found.update(group._readings())  # noqa: SLF001 - of the same class
        return found


@dataclass(slots=True)
class OperatorMetrics:
    """What one operator of one subtask did in the running epoch.

    Attributes:
        records_in: Records received.
        records_out: Records emitted, side outputs included.
        input_watermark: The last watermark received, in milliseconds.
        output_watermark: The last watermark emitted, in milliseconds.
        user: What the user's function counted since its `open`.
    """

    records_in: int = 0
    records_out: int = 0
    input_watermark: int = MIN_TIMESTAMP
    output_watermark: int = MIN_TIMESTAMP
    user: MetricGroup = field(default_factory=MetricGroup)

    def report(self) -> tuple[int, int, int, int, dict[str, Any]]:
        """Return records in and out, input and output watermark, and what the function counted."""
        return (
            self.records_in,
            self.records_out,
            self.input_watermark,
            self.output_watermark,
            self.user.take(),
        )

    def begin_epoch(self) -> None:
        """Begin to count anew; watermarks stay."""
        self.records_in = 0
        self.records_out = 0
