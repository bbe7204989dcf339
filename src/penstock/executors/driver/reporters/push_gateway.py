"""The reporter for jobs that Prometheus cannot reach: it pushes their metrics to a push gateway."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from http.client import HTTPException
from typing import Final

from penstock.common.plain_text import without_logins
from penstock.errors import MetricsNotReportedError
from penstock.executors.driver.reporters.prometheus_page import check_library, registry_of
from penstock.metrics import MetricConfig, MetricReporter, ReportedMetric

_SECONDS: Final = 10.0
_Handler = Callable[[str, str, float | None, list[tuple[str, str]], bytes], Callable[[], None]]


class PrometheusPushGatewayReporter(MetricReporter):
    """Pushes metrics to Prometheus' push gateway.

    Its settings are `hostUrl`, which has to be set, `jobName`, `randomJobNameSuffix`, `deleteOnShutdown`,
    `groupingKey`, `filterLabelValueCharacters`, and `username` with `password`.
    """

    def open(self, config: MetricConfig) -> None:
        check_library()
        self._url = config.get_string("hostUrl", "").strip()
        if not self._url.startswith(("http://", "https://")):
            raise config.invalid(
                "hostUrl", "Give the push gateway's URL, such as http://gateway:9091."
            )
        suffix = config.get_boolean("randomJobNameSuffix", default_value=True)
        self._job = config.get_string("jobName", "") + (secrets.token_hex(16) if suffix else "")
        if not self._job:
            raise config.invalid("jobName", "Give a name, or let randomJobNameSuffix be true.")
        self._deletes = config.get_boolean("deleteOnShutdown", default_value=True)
        nothing: dict[str, str] = {}
        self._grouping = config.read(
            "groupingKey", nothing, _pairs, "names and values, such as k1=v1;k2=v2"
        )
        self._filters = config.get_boolean("filterLabelValueCharacters", default_value=True)
        self._handler = _handler(config)

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        from prometheus_client import push_to_gateway

        registry = registry_of(lambda: metrics, filters_values=self._filters)
        try:
            push_to_gateway(
                self._url, self._job, registry, self._grouping, _SECONDS, handler=self._handler
            )
        except (OSError, HTTPException) as error:
            raise self._failed(error) from error

    def close(self) -> None:
        from prometheus_client import delete_from_gateway

        if not self._deletes:
            return
        try:
            delete_from_gateway(self._url, self._job, self._grouping, _SECONDS, self._handler)
        except (OSError, HTTPException) as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> MetricsNotReportedError:
        return MetricsNotReportedError(
            f"The push gateway {without_logins(self._url)} does not take metrics: {type(error).__name__}: {error}",
            hint="Look at metrics.reporter.<name>.hostUrl, and whether it can be reached from the driver.",
        )


def _pairs(text: str) -> dict[str, str]:
    found = {}
    for pair in filter(None, text.split(";")):
        key, _, value = pair.partition("=")
        if not key.strip() or not value.strip():
            raise ValueError(text)
        found[key.strip()] = value.strip()
    return found


def _handler(config: MetricConfig) -> _Handler:
    from prometheus_client.exposition import basic_auth_handler, default_handler

    username, password = config.get("username"), config.get("password")
    if username is None and password is None:
        return default_handler
    if username is None or password is None:
        missing = "username" if username is None else "password"
        raise config.invalid(missing, "Set both username and password, or none of them.")

    def handle(
        url: str, method: str, timeout: float | None, headers: list[tuple[str, str]], data: bytes
    ) -> Callable[[], None]:
        return basic_auth_handler(url, method, timeout, headers, data, username, password)

    return handle
