"""What the configuration says of reporters is read as Flink reads it, and refused by name where it is wrong."""

from __future__ import annotations

import pytest
from tests.executors.driver.reporters.metrics import configuration

from penstock.common import Configuration
from penstock.errors import InvalidConfigurationValueError
from penstock.executors.driver.reporters.settings import ReporterSettings, reporter_settings
from penstock.metrics import MetricKind, ReportedMetric

FACTORY = "org.apache.flink.metrics.statsd.StatsDReporterFactory"


def only(found: Configuration) -> ReporterSettings:
    (settings,) = reporter_settings(found)
    return settings


def test_without_a_word_of_reporters_there_are_none() -> None:
    assert reporter_settings(Configuration()) == []
    assert reporter_settings(configuration(port="9249")) == []


def test_a_reporter_has_flinks_defaults() -> None:
    settings = only(configuration(factory__class=FACTORY, host="h"))

    assert (settings.name, settings.factory, settings.interval) == ("mine", FACTORY, 10.0)
    assert settings.naming.delimiter == "."
    assert settings.config == {"factory.class": FACTORY, "host": "h"}
    assert settings.config.prefix == "metrics.reporter.mine."


def test_those_that_are_listed_are_taken_and_others_are_not() -> None:
    found = configuration(factory__class=FACTORY)
    found.set_string("metrics.reporter.other.factory.class", FACTORY)
    assert [one.name for one in reporter_settings(found)] == ["mine", "other"]

    found.set_string("metrics.reporters", " other , other")

    assert [one.name for one in reporter_settings(found)] == ["other"]


def test_each_setting_is_read() -> None:
    settings = only(
        configuration(
            factory__class=FACTORY,
            interval="500 ms",
            scope__delimiter="_",
            scope__variables__excludes="job_id;task_id",
            scope__variables__additional="region:eu,stage:test",
            filter__includes="*:numRecords*;jobmanager.job:uptime",
            filter__excludes="*:*:meter",
        )
    )

    assert settings.interval == 0.5
    assert settings.naming.delimiter == "_"
    assert settings.naming.excluded == {"job_id", "task_id"}
    assert settings.naming.additional == (("region", "eu"), ("stage", "test"))

    def passes(name: str, kind: MetricKind) -> bool:
        return settings.passing.lets_pass(ReportedMetric(name, kind, 1, "", "jobmanager.job", {}))

    assert passes("numRecordsIn", MetricKind.COUNTER)
    assert not passes("numRecordsInPerSecond", MetricKind.METER)
    assert passes("uptime", MetricKind.GAUGE)
    assert not passes("downtime", MetricKind.GAUGE)


def test_a_reporter_without_a_delimiter_has_that_of_all() -> None:
    found = configuration(factory__class=FACTORY).set_string("metrics.scope.delimiter", "-")

    assert only(found).naming.delimiter == "-"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("interval", "soon"),
        ("interval", "0 ms"),
        ("filter__includes", "a:b:c:d"),
        ("filter__excludes", "*:*:number"),
        ("scope__variables__additional", "region"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(key: str, text: str) -> None:
    with pytest.raises(InvalidConfigurationValueError) as caught:
        reporter_settings(configuration(factory__class=FACTORY, **{key: text}))

    assert f"{text!r} is no value of the configuration key" in str(caught.value)
    assert f"'metrics.reporter.mine.{key.replace('__', '.')}'" in str(caught.value)


def test_a_listed_reporter_without_a_class_is_refused() -> None:
    with pytest.raises(
        InvalidConfigurationValueError, match=r"'metrics.reporter.prom.factory.class' is not set"
    ):
        reporter_settings(Configuration().set_string("metrics.reporters", "prom"))


def test_equal_settings_are_the_same_and_others_are_not() -> None:
    settings = {only(configuration(factory__class=FACTORY, host="h")) for _ in range(2)}
    others = {only(configuration(factory__class=FACTORY, host="other"))}

    assert len(settings) == 1
    assert len(settings | others) == 2
