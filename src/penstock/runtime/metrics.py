"""What operators count, and what the user's functions count beside it."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.errors import InvalidArgumentError
from penstock.metrics import metricbase
from penstock.runtime.gauges import Gauge, Reading
from penstock.runtime.samples import Samples
from penstock.runtime.timestamp import MIN_TIMESTAMP

LATE_RECORDS: Final = "num_late_records_dropped"
"""The counter of the records that came too late for windows, or for a join, and went nowhere."""

FAILED_RECORDS: Final = "num_failed_records"
"""The counter of the records that failed, and were passed over or went to a side output."""


class Counter(metricbase.Counter):
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


class Distribution(metricbase.Distribution):
    """How what was measured is distributed: a few numbers, however much was measured.

    Values are counted by their order of magnitude, in steps of a tenth, so that a percentile is right
    to within five percent. Distributions of several subtasks and epochs add up.

    Example:
        >>> measured = Distribution()
        >>> for value in range(1, 101):
        ...     measured.update(value)
        >>> (measured + measured).summary()
        {'p50': 51.935, 'p95': 94.632, 'p99': 94.632, 'max': 100}
    """

    __slots__ = ("_counts", "_most")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._most = 0.0

    def update(self, value: float) -> None:
        """Count a value; below 0.001 it counts as that, and infinity as the largest number."""
        value = min(value, sys.float_info.max)
        step = math.floor(math.log(value) * _STEPS) if value > _LEAST else _FIRST_STEP
        self._counts[step] = self._counts.get(step, 0) + 1
        self._most = max(self._most, value)

    def __add__(self, other: Distribution) -> Distribution:
        found = Distribution()
        found._counts = dict(self._counts)
        for step, count in other._counts.items():
            found._counts[step] = found._counts.get(step, 0) + count
        found._most = max(self._most, other._most)
        return found

    def percentile(self, share: float) -> float:
        """Return the value that this share of the values (0 to 1) does not exceed; 0 of none."""
        left = share * sum(self._counts.values())
        for step in sorted(self._counts):
            left -= self._counts[step]
            if left <= 0:
                return min(math.exp((step + 0.5) / _STEPS), self._most)
        return self._most

    def summary(self) -> dict[str, float]:
        """Return some percentiles and the greatest value."""
        shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
        found = {name: self.percentile(share) for name, share in shares.items()}
        return {name: round(value, 3) for name, value in {**found, "max": self._most}.items()}

    def take(self) -> Distribution:
        """Return what was measured since the last call."""
        taken = Distribution()
        taken._counts, self._counts = self._counts, {}
        taken._most, self._most = self._most, 0.0
        return taken


_STEPS: Final = 10
_LEAST: Final = 0.001
_FIRST_STEP: Final = math.floor(math.log(_LEAST) * _STEPS)


class Rate:
    """How many events a meter marked, and how many a second in its last time span.

    Events are counted in twelve equal parts of the time span, and those that are older are forgotten.
    Rates of several subtasks and epochs add up: the time span is the last one of all of them.

    Args:
        time_span: The time span, in seconds.

    Example:
        >>> rate = Rate(time_span=60)
        >>> rate.mark(30, at=0.0)
        >>> rate.mark(30, at=50.0)
        >>> rate.until = 60.0
        >>> rate.summary()
        {'count': 60, 'rate': 1.0}
        >>> rate.until = 100.0
        >>> (rate + rate).summary()
        {'count': 120, 'rate': 1.0}
    """

    __slots__ = ("_counts", "_width", "count", "until")

    def __init__(self, time_span: float) -> None:
        self.count = 0
        self.until = 0.0
        self._width = time_span / _PARTS
        self._counts: dict[int, int] = {}

    def mark(self, value: int, at: float) -> None:
        """Count events that happened at a time (seconds)."""
        part = int(at // self._width)
        if part not in self._counts:
            self._counts = {one: n for one, n in self._counts.items() if one >= part - _PARTS}
        self._counts[part] = self._counts.get(part, 0) + value
        self.count += value

    def __add__(self, other: Rate) -> Rate:
        found = Rate(self._width * _PARTS)
        found.count = self.count + other.count
        found.until = max(self.until, other.until)
        oldest = int(found.until // self._width) - _PARTS
        for counts in (self._counts, other._counts):
            for part, count in counts.items():
                if part >= oldest:
                    found._counts[part] = found._counts.get(part, 0) + count
        return found

    def summary(self) -> dict[str, float]:
        """Return how many events there were, and how many a second at the end."""
        last, over = divmod(self.until, self._width)
        # Of the oldest part only the end is in the time span.
        shares = {last - _PARTS: 1 - over / self._width}
        events = sum(
            count * shares.get(part, 1)
            for part, count in self._counts.items()
            if last - _PARTS <= part
        )
        return {"count": self.count, "rate": round(events / (self._width * _PARTS), 3)}


_PARTS: Final = 12


class Meter(metricbase.Meter):
    """Marks events as they happen.

    Args:
        time_span: The time span of its rate, in seconds.
        clock: Tells the time, in seconds.

    Example:
        >>> meter = Meter(60)
        >>> meter.mark_event(3)
        >>> meter.get_count(), meter.take().summary()["count"], meter.take().summary()["count"]
        (3, 3, 0)
    """

    def __init__(self, time_span: float, clock: Callable[[], float] = time.time) -> None:
        if time_span <= 0:
            raise InvalidArgumentError(
                f"A meter's rate cannot be that of {time_span!r} seconds.",
                hint="Give a time span above 0, as in meter(name, time_span_in_seconds=60).",
            )
        self._time_span = time_span
        self._clock = clock
        self._count = 0
        self._rate = Rate(time_span)

    def mark_event(self, value: int = 1) -> None:
        """Mark that many events, which happen now."""
        self._count += value
        self._rate.mark(value, self._clock())

    def get_count(self) -> int:
        """Return how many events were marked."""
        return self._count

    def take(self) -> Rate:
        """Return what was marked since the last call."""
        taken, self._rate = self._rate, Rate(self._time_span)
        taken.until = self._clock()
        return taken


class MetricName(str):
    """The full name of a metric, which knows the groups that it is made of.

    Attributes:
        name: The last part of it, its own.
        groups: The names of its groups, outermost first.
        values: The places among them of the values of variables; before each is the name of its variable.

    Example:
        >>> name = MetricGroup().add_group("cache").add_group("shard", "7.1").full_name("hits")
        >>> name, name.groups, name.logical_groups, name.variables
        ('cache.shard.7.1.hits', ('cache', 'shard', '7.1'), ('cache', 'shard'), (('shard', '7.1'),))
    """

    __slots__ = ("groups", "name", "values")

    name: str
    groups: tuple[str, ...]
    values: frozenset[int]

    def __new__(cls, name: str, groups: tuple[str, ...], values: frozenset[int]) -> MetricName:
        """Make one of its own name, the groups, and the places of those that are values."""
        found = super().__new__(cls, ".".join((*groups, name)))
        found.name, found.groups, found.values = name, groups, values
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return MetricName, (self.name, self.groups, self.values)

    @classmethod
    def of(cls, full_name: str) -> MetricName:
        """Return a full name that knows its groups; of one that does not know them, each part is one."""
        if isinstance(full_name, cls):
            return full_name
        *groups, name = full_name.split(".")
        return cls(name, tuple(groups), frozenset())

    @property
    def logical_groups(self) -> tuple[str, ...]:
        """The groups that are not values of a variable."""
        return tuple(group for place, group in enumerate(self.groups) if place not in self.values)

    @property
    def variables(self) -> tuple[tuple[str, str], ...]:
        """The variables that its groups give values to, with these."""
        return tuple((self.groups[place - 1], self.groups[place]) for place in sorted(self.values))


class MetricGroup(metricbase.MetricGroup):
    """The metrics of one user's function, reported with the result of the job.

    Args:
        groups: The names of this group and of those above it, outermost first.
        values: The places among them of the values of variables.

    Attributes:
        samples: Keeps a few of the records that went nowhere.

    Example:
        >>> group = MetricGroup()
        >>> group.add_group("cache").counter("hits").inc()
        >>> group.take()
        {'cache.hits': 1}
    """

    def __init__(self, groups: tuple[str, ...] = (), values: frozenset[int] = frozenset()) -> None:
        self._path = groups
        self._values = values
        self._counters: dict[str, Counter] = {}
        self._distributions: dict[str, Distribution] = {}
        self._meters: dict[str, Meter] = {}
        self._gauges: dict[str, Gauge] = {}
        self._groups: dict[str, MetricGroup] = {}
        self.samples = Samples()

    def fail(self, record: Any, reason: str) -> None:
        """Count a record that failed and is passed over, or goes to a side output. PyFlink has no such method."""
        self.counter(FAILED_RECORDS).inc()
        self.samples.failed(record, reason)

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the group below this one with that name (and then that value), made if new."""
        group = self._below(name, self._values)
        if extra is None:
            return group
        return group._below(extra, self._values | {len(self._path) + 1})  # noqa: SLF001 - of the same class

    def _below(self, name: str, values: frozenset[int]) -> MetricGroup:
        if name not in self._groups:
            self._groups[name] = MetricGroup((*self._path, name), values)
        return self._groups[name]

    def full_name(self, name: str) -> str:
        """Return the full name of a metric of this group: a plain one, if it has no dots."""
        return MetricName(name, self._path, self._values) if self._path or "." in name else name

    def counter(self, name: str) -> Counter:
        """Return the counter with that name, made if new."""
        return self._counters.setdefault(name, Counter())

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter with that name, made if new."""
        if name not in self._meters:
            self._meters[name] = Meter(time_span_in_seconds)
        return self._meters[name]

    def distribution(self, name: str) -> Distribution:
        """Return the distribution with that name, made if new; `update` measures a value."""
        return self._distributions.setdefault(name, Distribution())

    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """Report what `obj` returns when an epoch ends, under that name."""
        self._gauges[name] = Gauge(self.full_name(name), obj)

    def take(self) -> dict[str, Any]:
        """Return what was counted since the last call, and readings of the gauges, by full name."""
        return {**self.take_counts(), **self._readings()}

    def take_counts(self) -> dict[str, Any]:
        """Return what was counted since the last call, by full name."""
        measured: dict[str, Counter | Distribution | Meter] = {
            **self._counters,
            **self._distributions,
            **self._meters,
        }
        found: dict[str, Any] = {
            self.full_name(name): taken.take() for name, taken in measured.items()
        }
        for group in self._groups.values():
            found.update(group.take_counts())
        return found

    def _readings(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            self.full_name(name): gauge.read() for name, gauge in self._gauges.items()
        }
        for group in self._groups.values():
            found.update(group._readings())  # noqa: SLF001 - of the same class
        return found


def shown_metric(value: Any) -> Any:
    """Return what a function counted as people read it: a meter and a distribution as a few numbers."""
    if isinstance(value, Distribution | Rate):
        return value.summary()
    return value.value if isinstance(value, Reading) else value


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
