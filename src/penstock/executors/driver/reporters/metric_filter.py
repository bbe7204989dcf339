"""Which metrics a reporter reports: patterns of Flink's form `scope:name,name:kind,kind`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from penstock.metrics import MetricKind, ReportedMetric

_KINDS: Final = {
    "counter": MetricKind.COUNTER,
    "gauge": MetricKind.GAUGE,
    "meter": MetricKind.METER,
    "histogram": MetricKind.DISTRIBUTION,
    "distribution": MetricKind.DISTRIBUTION,
}


@dataclass(frozen=True)
class Pattern:
    """A pattern: a metric has to match each of its parts.

    Attributes:
        scope: Matches logical scopes.
        names: Match names: one of them has to.
        kinds: The kinds.
    """

    scope: re.Pattern[str]
    names: tuple[re.Pattern[str], ...]
    kinds: frozenset[MetricKind]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read a pattern, such as `*job.task*:numRecords*:counter,meter`; a part that is left out is `*`.

        Raises:
            ValueError: If it has more than three parts, or an unknown kind.
        """
        scope, names, kinds = ([part.strip() or "*" for part in text.split(":")] + ["*", "*"])[:3]
        if text.count(":") > 2:
            raise ValueError(text)
        return cls(
            _wildcards(scope),
            tuple(_wildcards(name) for name in names.split(",")),
            frozenset(MetricKind) if kinds == "*" else frozenset(map(_kind, kinds.split(","))),
        )

    def matches(self, metric: ReportedMetric) -> bool:
        """Whether a metric matches."""
        return (
            metric.kind in self.kinds
            and self.scope.fullmatch(metric.logical_scope) is not None
            and any(name.fullmatch(metric.name) for name in self.names)
        )


def _wildcards(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, text.strip().split("*"))))


def _kind(text: str) -> MetricKind:
    if text.strip().lower() not in _KINDS:
        raise ValueError(text)
    return _KINDS[text.strip().lower()]


@dataclass(frozen=True)
class MetricFilter:
    """Which metrics are reported: those that match an included pattern, and no excluded one.

    Attributes:
        includes: The patterns that are included.
        excludes: Those that are excluded.

    Example:
        >>> only = MetricFilter((Pattern.parse("*:numRecords*"),), (Pattern.parse("*:*:meter"),))
        >>> in_rate = ReportedMetric("numRecordsInPerSecond", MetricKind.METER, {}, "", "jobmanager.job", {})
        >>> only.lets_pass(in_rate)
        False
    """

    includes: tuple[Pattern, ...]
    excludes: tuple[Pattern, ...] = ()

    def lets_pass(self, metric: ReportedMetric) -> bool:
        """Whether a metric is reported."""
        included = any(pattern.matches(metric) for pattern in self.includes)
        return included and not any(pattern.matches(metric) for pattern in self.excludes)
