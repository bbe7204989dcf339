"""Prometheus' own parser reads the page, and finds Flink's names and labels on it."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tests.executors.driver.reporters.metrics import OF_EACH_KIND, metric, reported
from tests.executors.driver.reports import views

from penstock.errors import MetricsLibraryNotFoundError
from penstock.executors.driver.reporters.prometheus_page import as_number, prometheus_page
from penstock.metrics import MetricKind, ReportedMetric

OPERATOR = "flink_taskmanager_job_task_operator_"


def samples(metrics: list[ReportedMetric] | tuple[ReportedMetric, ...]) -> list[Sample]:
    text = prometheus_page(metrics).decode()
    return [one for family in text_string_to_metric_families(text) for one in family.samples]


def test_a_job_is_read_under_flinks_names() -> None:
    found = {sample.name: sample for sample in samples(reported())}

    assert found["flink_jobmanager_job_uptime"].value == 50_000
    assert found["flink_jobmanager_job_uptime"].labels["job_name"] == "fares"
    assert found["flink_jobmanager_job_numRecordsInPerSecond"].value == 4.0
    busy = found["flink_taskmanager_job_task_busyTimeMsPerSecond"]
    assert busy.labels["task_name"] == "Sum____Sink:_out"
    assert busy.labels["subtask_index"] == "1"
    late = found[f"{OPERATOR}numLateRecordsDropped"]
    assert late.labels["operator_id"] == views.SINK_ID
    assert late.labels["operator_name"] == "Sink:_out"


def test_each_kind_is_shown_as_flink_shows_it() -> None:
    text = prometheus_page(OF_EACH_KIND).decode()
    found = {family.name: family for family in text_string_to_metric_families(text)}

    assert found[f"{OPERATOR}numRecordsIn"].type == "gauge"
    assert found[f"{OPERATOR}isBackPressured"].samples[0].value == 1
    assert found[f"{OPERATOR}lag"].samples[0].value == -5
    assert f"{OPERATOR}mood" not in found
    assert found[f"{OPERATOR}parser_rowsPerSecond"].samples[0].value == 1.5
    summary = found[f"{OPERATOR}parser_size"]
    assert summary.type == "summary"
    assert {one.labels["quantile"]: one.value for one in summary.samples} == {
        "0.5": 1.0,
        "0.95": 2.0,
        "0.99": 3.0,
        "1.0": 4.0,
    }
    assert summary.samples[0].labels["shard"] == "7"


def test_of_two_that_look_the_same_one_is_told() -> None:
    (found,) = samples([metric("a", MetricKind.COUNTER, 1), metric("a", MetricKind.COUNTER, 2)])

    assert found.value == 1


NUMBERS = st.integers() | st.floats() | st.just(10**400)


@given(st.text(), st.text(), st.text(), st.text(), NUMBERS | st.booleans() | st.text())
def test_whatever_the_user_names_and_measures_the_page_can_be_read(
    name: str, job: str, label: str, other: str, value: object
) -> None:
    user = metric(name, MetricKind.GAUGE, value, "group.", job_name=job)
    user = replace(user, variables={**user.variables, label: "1", other: "2"})

    found = samples([user, metric("fine", MetricKind.COUNTER, 1)])

    assert found[-1].name == f"{OPERATOR}fine"
    assert len(found) == 1 + (as_number(value) is not None)
    for one in found:
        assert all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", key) for key in one.labels)


def test_labels_whose_names_begin_with_other_digits_stay_apart() -> None:
    hits = metric("hits", MetricKind.COUNTER, 1)

    (found,) = samples([replace(hits, variables={"1st": "a", "2st": "b", "": "c"})])

    assert {"_1st": "a", "_2st": "b", "_": "c"}.items() <= found.labels.items()


@pytest.mark.parametrize(
    ("value", "number"),
    [(2**63 - 1, 2**63 - 1), (2**63, 2.0**63), (10**400, None), (True, 1)],
)
def test_a_number_is_one_that_64_bits_can_hold(value: object, number: float | None) -> None:
    found = as_number(value)

    assert found == number
    assert type(found) is type(number)


@pytest.mark.parametrize(
    ("value", "number"),
    [(True, 1), (3, 3), (0.5, 0.5), ("3", None), (None, None), (math.nan, None), (math.inf, None)],
)
def test_what_is_a_number(value: object, number: float | None) -> None:
    assert as_number(value) == number


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    with pytest.raises(MetricsLibraryNotFoundError, match=r"penstock\[metrics\]"):
        prometheus_page([])
