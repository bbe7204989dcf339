"""Metrics in the text form of Prometheus, under the names that Flink's reporter gives them.

As in Flink a counter is a gauge there, since it can go down; a meter is its rate, and a distribution a summary. What is
no number is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import MetricsLibraryNotFoundError
from penstock.metrics import MetricKind, ReportedMetric

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_UNALLOWED: Final = re.compile("[^a-zA-Z0-9:_]")
_MOST: Final = 2**63
_QUANTILES: Final = {"p50": "0.5", "p95": "0.95", "p99": "0.99", "max": "1.0"}


def check_library() -> None:
    """Make sure that Prometheus' library is there.

    Raises:
        MetricsLibraryNotFoundError: If it is not.
    """
    try:
        import prometheus_client  # noqa: F401
    except ImportError as error:
        raise MetricsLibraryNotFoundError(
            "Metrics for Prometheus take the package prometheus_client, which is not installed.",
            hint="Install it, with: pip install 'penstock[metrics]'",
        ) from error


def registry_of(
    metrics: Callable[[], Iterable[ReportedMetric]], *, filters_values: bool = True
) -> CollectorRegistry:
    """Return what Prometheus' library asks for metrics.

    Args:
        metrics: Returns them, whenever they are asked for.
        filters_values: Whether characters of labels' values are replaced that are not those of names.
    """
    from prometheus_client import CollectorRegistry
    from prometheus_client.registry import Collector

    class Metrics(Collector):
        def collect(self) -> Iterator[Metric]:
            return _families(metrics(), _filtered if filters_values else str)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Metrics())
    return registry


def prometheus_page(metrics: Iterable[ReportedMetric]) -> bytes:
    """Return the page for Prometheus.

    Raises:
        MetricsLibraryNotFoundError: If its library is not installed.
    """
    check_library()
    from prometheus_client import generate_latest

    return generate_latest(registry_of(lambda: metrics))


def _families(metrics: Iterable[ReportedMetric], shown: Callable[[str], str]) -> Iterator[Metric]:
    from prometheus_client.metrics_core import Metric

    found: dict[str, Metric] = {}
    known: set[tuple[str, frozenset[tuple[str, str]]]] = set()
    labels_of = _Labels(shown)
    for metric in metrics:
        scope = metric.logical_scope.replace(".", "_")
        name = _filtered(f"flink_{scope}_{metric.name}")
        labels, known_by = labels_of(metric.variables)
        series = name, known_by
        samples = list(_samples(metric))
        if not samples or series in known:  # of two that look the same, only one can be told
            continue
        known.add(series)
        if name not in found:
            kind = "summary" if metric.kind is MetricKind.DISTRIBUTION else "gauge"
            found[name] = Metric(name, f"{metric.name} (scope: {scope})", kind)
        for more, value in samples:
            found[name].add_sample(name, {**labels, **more} if more else labels, value)
    yield from found.values()


class _Labels:
    """Makes labels of variables, once of those that many metrics share.

    Args:
        shown: Makes the value of a label.
    """

    def __init__(self, shown: Callable[[str], str]) -> None:
        self._shown = shown
        self._made: dict[int, tuple[object, dict[str, str], frozenset[tuple[str, str]]]] = {}

    def __call__(
        self, variables: Mapping[str, str]
    ) -> tuple[dict[str, str], frozenset[tuple[str, str]]]:
        """Return labels, and what tells them from others."""
        made = self._made.get(id(variables))
        if made is None:
            labels = {_label(key): self._shown(text) for key, text in variables.items()}
            # With the variables themselves, so that no others have their id.
            made = self._made[id(variables)] = (variables, labels, frozenset(labels.items()))
        return made[1], made[2]


def _samples(metric: ReportedMetric) -> Iterator[tuple[dict[str, str], float]]:
    """Yield the numbers of a metric, each with the labels that it has beside the others."""
    if metric.kind is MetricKind.METER:
        yield {}, metric.value["rate"]
    elif metric.kind is MetricKind.DISTRIBUTION:
        for name, value in metric.value.items():
            yield {"quantile": _QUANTILES[name]}, value
    elif (number := as_number(metric.value)) is not None:
        yield {}, number


def as_number(value: Any) -> float | int | None:
    """Return a value as a number that 64 bits can hold: a truth as 0 or 1; None if it is none."""
    if isinstance(value, int) and -_MOST <= value < _MOST:
        return int(value)
    try:
        number = float(value) if hasattr(value, "__float__") else math.nan
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


@lru_cache(maxsize=4_096)
def _filtered(text: str) -> str:
    return _UNALLOWED.sub("_", text)


def _label(key: str) -> str:
    """Return the name of a label: without colons, a digit at the beginning, or two lines, which are Prometheus' own."""
    name = _filtered(key).replace(":", "_")
    return name if name[:1].isalpha() else f"_{name.lstrip('_')}"
