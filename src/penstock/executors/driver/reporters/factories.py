"""From the name of a reporter's class to the reporter."""

from __future__ import annotations

import logging
import pkgutil
from typing import Final

from penstock.errors import InvalidConfigurationValueError
from penstock.executors.driver.reporters.log_reporter import LogReporter
from penstock.executors.driver.reporters.open_telemetry import OpenTelemetryReporter
from penstock.executors.driver.reporters.prometheus import PrometheusReporter
from penstock.executors.driver.reporters.push_gateway import PrometheusPushGatewayReporter
from penstock.executors.driver.reporters.settings import COMMON_KEYS, FACTORY, ReporterSettings
from penstock.executors.driver.reporters.statsd import StatsDReporter
from penstock.metrics import MetricReporter

_LOG: Final = logging.getLogger("penstock")
_FLINK: Final = "org.apache.flink.metrics."
_OTEL: Final = (
    *("exporter.endpoint", "exporter.protocol", "exporter.timeout", "exporter.compression"),
    *("service.name", "service.version"),
    *("batch.size", "export-completion-timeout-millis"),  # without effect: the exporter does that
)
_PUSH: Final = (
    *("hostUrl", "jobName", "randomJobNameSuffix", "deleteOnShutdown", "groupingKey"),
    *("filterLabelValueCharacters", "username", "password"),
)
_FACTORIES: Final[dict[str, tuple[type[MetricReporter], tuple[str, ...]]]] = {
    f"{_FLINK}prometheus.PrometheusReporterFactory": (
        PrometheusReporter,
        ("port", "host", "filterLabelValueCharacters"),
    ),
    f"{_FLINK}prometheus.PrometheusPushGatewayReporterFactory": (
        PrometheusPushGatewayReporter,
        _PUSH,
    ),
    f"{_FLINK}otel.OpenTelemetryMetricReporterFactory": (OpenTelemetryReporter, _OTEL),
    f"{_FLINK}statsd.StatsDReporterFactory": (StatsDReporter, ("host", "port")),
    f"{_FLINK}slf4j.Slf4jReporterFactory": (LogReporter, ()),
}
"""Flink's factories, what does their work here, and the keys that it reads."""


def reporter_of(settings: ReporterSettings) -> MetricReporter:
    """Return a new reporter, which is not open yet.

    Raises:
        InvalidConfigurationValueError: If there is no such class, or it is no reporter.
    """
    if settings.factory in _FACTORIES:
        made, keys = _FACTORIES[settings.factory]
        _warn_of_unknown(settings, keys)
        return made()
    return _own(settings)()


def _warn_of_unknown(settings: ReporterSettings, keys: tuple[str, ...]) -> None:
    for key in sorted(settings.config.keys() - COMMON_KEYS - set(keys)):
        _LOG.warning(
            "The configuration key %r changes nothing: %s reads %s.",
            f"{settings.config.prefix}{key}",
            settings.factory.rpartition(".")[2],
            ", ".join(keys) or "no keys of its own",
        )


def _own(settings: ReporterSettings) -> type[MetricReporter]:
    try:
        found = pkgutil.resolve_name(settings.factory)
    except (ImportError, AttributeError, ValueError) as error:
        raise _refused(settings, f"there is no such class ({error})") from error
    if not (isinstance(found, type) and issubclass(found, MetricReporter)):
        raise _refused(settings, "it is not derived from penstock.metrics.MetricReporter")
    return found


def _refused(settings: ReporterSettings, why: str) -> InvalidConfigurationValueError:
    names = ", ".join(_FACTORIES)
    return InvalidConfigurationValueError(
        f"{settings.factory!r} is no value of the configuration key {settings.config.prefix}{FACTORY}: {why}.",
        hint=f"Give one of {names}, or a class of your own as module:Class.",
    )
