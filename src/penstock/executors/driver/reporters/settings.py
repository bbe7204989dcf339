"""What the configuration says of reporters: which there are, and what each is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from penstock.common.configuration.config_option import ConfigOption
from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.metric_options import (
    METRIC_REPORTERS,
    REPORTER_PREFIX,
    SCOPE_DELIMITER,
)
from penstock.common.time import Duration
from penstock.executors.driver.reporters.metric_filter import MetricFilter, Pattern
from penstock.executors.driver.reporters.scopes import Naming, ScopeFormats
from penstock.metrics import MetricConfig

FACTORY: Final = "factory.class"
_LIST: Final[ConfigOption[Any]] = ConfigOption("", list, [], "")
_MAP: Final[ConfigOption[Any]] = ConfigOption("", dict, {}, "")
_INTERVAL: Final[ConfigOption[Any]] = ConfigOption("", Duration, None, "", minimum=1)
_DEFAULT_INTERVAL: Final = Duration.of_seconds(10)
COMMON_KEYS: Final = frozenset(
    {
        FACTORY,
        "interval",
        "filter.includes",
        "filter.excludes",
        "scope.delimiter",
        "scope.variables.additional",
        "scope.variables.excludes",
    }
)
"""The keys that every reporter has."""


@dataclass(frozen=True)
class ReporterSettings:
    """What one reporter is told.

    Attributes:
        name: The name that the configuration gives it.
        factory: The class of the reporter: Flink's name of a factory, or the name of a class in Python.
        interval: How often it reports, in seconds.
        naming: How it names things.
        passing: Which metrics it reports.
        texts: All settings that its name is in, as they are written.
    """

    name: str
    factory: str
    interval: float
    naming: Naming
    passing: MetricFilter
    texts: tuple[tuple[str, str], ...]

    @property
    def config(self) -> MetricConfig:
        """The settings, for the reporter."""
        return MetricConfig(dict(self.texts), prefix=f"{REPORTER_PREFIX}{self.name}.")


def reporter_settings(configuration: Configuration) -> list[ReporterSettings]:
    """Return the settings of each reporter that a job has.

    Raises:
        InvalidConfigurationValueError: If a value is none of its key.
    """
    by_name: dict[str, dict[str, str]] = {}
    for key, text in configuration.to_dict().items():
        if key.startswith(REPORTER_PREFIX):
            name, _, rest = key.removeprefix(REPORTER_PREFIX).partition(".")
            by_name.setdefault(name, {})[rest] = text
    listed = configuration.get(METRIC_REPORTERS)
    if listed is None:
        names = [name for name, texts in by_name.items() if FACTORY in texts]
    else:
        names = list(dict.fromkeys(filter(None, map(str.strip, listed.split(",")))))
    return [_read(name, by_name.get(name, {}), configuration) for name in names]


def _read(name: str, texts: dict[str, str], configuration: Configuration) -> ReporterSettings:
    config = MetricConfig(texts, prefix=f"{REPORTER_PREFIX}{name}.")
    if not config.get_string(FACTORY, "").strip():
        raise config.invalid(
            FACTORY,
            "Name the reporter's class, such as org.apache.flink.metrics.prometheus.PrometheusReporterFactory, or "
            f"take {name!r} out of metrics.reporters.",
        )
    delimiter = config.get_string("scope.delimiter", configuration.get(SCOPE_DELIMITER))
    duration = _read_as(
        config, "interval", _INTERVAL, _DEFAULT_INTERVAL, "a duration above 0, such as '10 s'"
    )
    naming = Naming(
        ScopeFormats.read(configuration),
        delimiter,
        frozenset(_items(config, "scope.variables.excludes")),
        tuple(
            _read_as(
                config,
                "scope.variables.additional",
                _MAP,
                {},
                "pairs such as 'region:eu,stage:test'",
            ).items()
        ),
    )
    return ReporterSettings(
        name,
        texts[FACTORY].strip(),
        duration.to_millis() / 1000,
        naming,
        MetricFilter(
            tuple(_patterns(config, "filter.includes", ["*:*:*"])),
            tuple(_patterns(config, "filter.excludes", [])),
        ),
        tuple(sorted(texts.items())),
    )


def _read_as(
    config: MetricConfig, key: str, option: ConfigOption[Any], default: Any, expected: str
) -> Any:
    return config.read(key, default, option.parse, expected)


def _items(config: MetricConfig, key: str) -> list[str]:
    found: list[str] = _read_as(config, key, _LIST, [], "a list such as 'a;b'")
    return found


def _patterns(config: MetricConfig, key: str, default: list[str]) -> Iterator[Pattern]:
    for text in _items(config, key) or default:
        try:
            yield Pattern.parse(text)
        except ValueError:
            raise config.invalid(
                key,
                "Give patterns such as '*job.task*:numRecords*:counter,meter', with semicolons between several; the kinds "
                "are counter, gauge, meter and histogram.",
            ) from None
