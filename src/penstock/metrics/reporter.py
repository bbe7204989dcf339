"""Where metrics go to: the base class of reporters, and what a reporter is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeVar

from penstock.errors import InvalidConfigurationValueError

__all__ = ["MetricConfig", "MetricKind", "MetricReporter", "ReportedMetric"]

T = TypeVar("T")


class MetricKind(Enum):
    """What a metric is, which says what its value is.

    Attributes:
        COUNTER: A whole number, the count since the job began.
        GAUGE: Whatever it is now: a number, a text, a boolean.
        METER: `{"count": ..., "rate": ...}`, the rate in events per second.
        DISTRIBUTION: `{"p50": ..., "p95": ..., "p99": ..., "max": ...}`.
    """

    COUNTER = "counter"
    GAUGE = "gauge"
    METER = "meter"
    DISTRIBUTION = "distribution"


@dataclass(frozen=True, slots=True)
class ReportedMetric:
    """A metric as a reporter is given it.

    Attributes:
        name: Its name, such as `numRecordsIn`.
        kind: What it is.
        value: Its value, in the form that its kind says.
        identifier: Its scope and its name as one text: what `metrics.scope.*` makes of its variables, with the
            reporter's delimiter between the parts.
        logical_scope: What it is about, without saying which: `jobmanager.job`, `taskmanager.job.task` or
            `taskmanager.job.task.operator`, and the groups of a user's metric after that.
        variables: What says which: `host`, `job_id`, `job_name` and so on, as in Flink; of
            `add_group(key, value)` the value by its key.
        is_user: Whether a function has registered it.
    """

    name: str
    kind: MetricKind
    value: Any
    identifier: str
    logical_scope: str
    variables: Mapping[str, str]
    is_user: bool = False


class MetricConfig(dict[str, str]):
    """The settings of a reporter: the texts of `metrics.reporter.<name>.*`, by what follows the name.

    Args:
        settings: The texts.
        prefix: What stands before the keys in the job's configuration.

    Example:
        >>> config = MetricConfig({"port": "8125"}, prefix="metrics.reporter.mine.")
        >>> config.get_integer("port", 0), config.get_boolean("verbose", False)
        (8125, False)
        >>> config.get_boolean("port", False)
        Traceback (most recent call last):
        ...
        penstock.errors.InvalidConfigurationValueError: '8125' is no value of the configuration key 'metrics.reporter.mine.port'.
        <BLANKLINE>
        Hint: Give true or false.
    """

    def __init__(self, settings: Mapping[str, str] | None = None, *, prefix: str = "") -> None:
        super().__init__(settings or {})
        self.prefix = prefix

    def get_string(self, key: str, default_value: str) -> str:
        """Read a value as text.

        Args:
            key: The key, without what stands before it.
            default_value: What to return if the key is not set.
        """
        return self.get(key, default_value)

    def get_integer(self, key: str, default_value: int) -> int:
        """Read a value as a whole number.

        Args:
            key: The key, without what stands before it.
            default_value: What to return if the key is not set.

        Raises:
            InvalidConfigurationValueError: If it is none.
        """
        return self.read(key, default_value, int, "a whole number")

    def get_float(self, key: str, default_value: float) -> float:
        """Read a value as a number.

        Args:
            key: The key, without what stands before it.
            default_value: What to return if the key is not set.

        Raises:
            InvalidConfigurationValueError: If it is none.
        """
        return self.read(key, default_value, float, "a number")

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """Read a value as true or false.

        Args:
            key: The key, without what stands before it.
            default_value: What to return if the key is not set.

        Raises:
            InvalidConfigurationValueError: If it is neither.
        """
        return self.read(key, default_value, _boolean, "true or false")

    def read(self, key: str, default_value: T, parse: Callable[[str], T], expected: str) -> T:
        """Read a value of any other form.

        Args:
            key: The key, without what stands before it.
            default_value: What to return if the key is not set.
            parse: Makes the value of the text; raises ValueError if the text is none.
            expected: What the text has to be, for the hint of the error.

        Raises:
            InvalidConfigurationValueError: If the text is no value.
        """
        text = self.get(key)
        if text is None:
            return default_value
        try:
            return parse(text.strip())
        except ValueError:
            raise self.invalid(key, f"Give {expected}.") from None

    def invalid(self, key: str, hint: str) -> InvalidConfigurationValueError:
        """Return the error that says that a value, or its absence, is wrong.

        Args:
            key: The key, without what stands before it.
            hint: What to do.
        """
        whole, text = f"{self.prefix}{key}", self.get(key)
        if text is None:
            return InvalidConfigurationValueError(
                f"The configuration key {whole!r} is not set.", hint=hint
            )
        return InvalidConfigurationValueError(
            f"{text!r} is no value of the configuration key {whole!r}.", hint=hint
        )


def _boolean(text: str) -> bool:
    if text.lower() not in _BOOLEANS:
        raise ValueError(text)
    return _BOOLEANS[text.lower()]


_BOOLEANS: Final = {"true": True, "false": False}


class MetricReporter:
    """Base class of reporters, which take metrics to where they are looked at.

    A reporter of one's own is named by `metrics.reporter.<name>.factory.class`, as `module:Class` or
    `module.Class`, and made without arguments. It lives in the driver, and jobs of a process share it if their
    settings for it are the same. It is called by a thread of its own: what it raises is logged, and harms no
    job. If opening fails for a reason that may pass, as a network's, it is tried again at each interval.

    There are two ways to be one. What sends metrics somewhere overrides `report`. What is asked for them, as by
    Prometheus, leaves `report` as it is, and calls `metrics` when it is asked.

    Attributes:
        metrics: Returns the metrics as they are now, of all jobs that have the reporter. Set before it is opened;
            any thread may call it.

    Example:
        >>> from penstock.metrics import MetricConfig, MetricKind, MetricReporter, ReportedMetric
        >>> class Printing(MetricReporter):
        ...     def open(self, config):
        ...         self.wanted = config.get_string("metric", "numRecordsOut")
        ...
        ...     def report(self, metrics):
        ...         for metric in metrics:
        ...             if metric.name == self.wanted:
        ...                 print(metric.identifier, metric.value)
        >>> reporter = Printing()
        >>> reporter.open(MetricConfig({"metric": "orders"}))
        >>> orders = ReportedMetric("orders", MetricKind.COUNTER, 3, "shop.Map.0.orders", "", {})
        >>> reporter.report([orders])
        shop.Map.0.orders 3
    """

    metrics: Callable[[], Sequence[ReportedMetric]] = staticmethod(list)

    def open(self, config: MetricConfig) -> None:
        """Get ready to report. Called before all else, when the first job that has it is started.

        Args:
            config: The settings below `metrics.reporter.<name>`.

        Raises:
            PenstockError: If a setting is wrong: then the job does not start. Other errors are logged, and
                it is opened again at the next interval.
        """

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        """Report metrics: at each `metrics.reporter.<name>.interval`, and when a job ends.

        Args:
            metrics: Those of all jobs that have the reporter, as they are now.
        """

    def close(self) -> None:
        """Let go of what was opened. Called when the last job that has the reporter has ended."""
