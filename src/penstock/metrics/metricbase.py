"""What functions count and measure, as they see it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]


class MetricGroup(ABC):
    """A place for metrics, and for groups below it: `get_metrics_group()` of a runtime context has one.

    A metric is reported by the names of its groups and its own, with dots between them: with the result
    of the job, and while the job runs in its progress. What the subtasks of an operator count is put
    together there. Of metrics of different kinds with one name only one is reported.

    Example:
        >>> from penstock.datastream import MapFunction
        >>> from penstock.testing import local_environment
        >>> class Parse(MapFunction):
        ...     def open(self, runtime_context):
        ...         group = runtime_context.get_metrics_group().add_group("parser")
        ...         self.parsed = group.meter("parsed")
        ...
        ...     def map(self, value):
        ...         self.parsed.mark_event()
        ...         return int(value)
        >>> env = local_environment()
        >>> end = env.from_collection(["1", "2", "3"]).map(Parse()).add_sink(lambda value: None)
        >>> env.execute().get_accumulator_result("parser.parsed")
        {'count': 3, 'rate': 0.05}
    """

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return the group of a name below this one, made if new.

        Args:
            name: Its name.
            extra: A value, if the name is what it is a value of: the group returned is one more below, of
                this name, and reporters that know labels give its metrics the label `name="extra"`. Default:
                None, for a plain group.
        """

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Return the counter of a name, made if new: a number, which all subtasks add to.

        Args:
            name: Its name.
        """

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """Report what a function returns. It is asked when an epoch ends; what it said last is reported.

        Args:
            name: The name of the metric.
            obj: The function. If it raises, the metric has no value, and the log says why, once; the job goes on.
        """

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return the meter of a name, made if new: how many events there were, and how many a second.

        It is reported as `{"count": ..., "rate": ...}`. The rate is that of the last time span before the
        last epoch ended, and of all subtasks together; what is younger than the span counts as if it had
        lasted that long. Time is that of the machines' clocks.

        Args:
            name: Its name.
            time_span_in_seconds: The time span. Default: 60. Of a meter that is there already, it stays as
                it was.

        Raises:
            InvalidArgumentError: If the time span is not above 0.
        """

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Return the distribution of a name, made if new: percentiles of what all subtasks measure.

        It is reported as `{"p50": ..., "p95": ..., "p99": ..., "max": ...}`.

        Args:
            name: Its name.
        """


class Metric(ABC):  # noqa: B024 - it is what counters, meters and distributions have in common
    """Base class of metrics."""


class Counter(Metric):
    """A number that a function counts up and down."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Count up.

        Args:
            n: By how much. Default: 1.
        """

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Count down.

        Args:
            n: By how much. Default: 1.
        """

    @abstractmethod
    def get_count(self) -> int:
        """Return what this subtask has counted, in this process."""


class Meter(Metric):
    """How many events there were, and how many a second."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Say that events happened, just now.

        Args:
            value: How many. Default: 1.
        """

    @abstractmethod
    def get_count(self) -> int:
        """Return how many events this subtask has marked, in this process."""


class Distribution(Metric):
    """How what a function measures is distributed."""

    @abstractmethod
    def update(self, value: float) -> None:
        """Take a value.

        Args:
            value: What was measured; below 0.001 it counts as that.
        """
