"""Metrics have the ids that Flink's have, and values that were asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.executors.driver.reports import views
from tests.executors.driver.rest.client import ShownJob, served

from penstock.executors.driver.rest.answers.metrics import (
    aggregated,
    chosen_subtasks,
    selected,
    vertex_metrics,
)
from penstock.executors.driver.rest.answers.vertices import subtask_accumulators
from penstock.executors.driver.rest.exchange import RequestRefusedError

VERTEX = f"/jobs/{views.JOB_ID}/vertices/{views.SUM_ID}"


def test_ids_say_subtask_operator_and_groups() -> None:
    found = vertex_metrics(views.view(), views.SUM_ID)

    assert found["0.numRecordsIn"] == 18
    assert found["1.Sink__out.numRecordsIn"] == 2
    assert found["0.Sum.parser.user.7.rows"] == 3
    assert found["0.Sum.speed"] == 1.5
    assert found["1.numRecordsInPerSecond"] == 2.0


def test_names_of_users_have_no_signs_that_a_request_could_not_name() -> None:
    user = {"rows, bad: 1": 2}
    view = views.view(vertices=(views.with_figures(views.figures(1, 1, user=user)),))

    found = vertex_metrics(view, views.SOURCE_ID)

    assert selected(found, {"get": "0.Source__fares.rows__bad__1"}) == [
        {"id": "0.Source__fares.rows__bad__1", "value": "2"}
    ]


def test_accumulators_say_what_they_are_and_have_values_that_can_be_read() -> None:
    size = {"p50": 1.0, "p95": 2.0, "p99": 2.0, "max": 3}
    user = {"rows": 2, "last": 7, "size": size, "speed": {"count": 2, "rate": 0.5}, "word": "a"}
    figures = views.figures(1, 1, user=user, gauges=frozenset({"last", "word"}))

    answer = subtask_accumulators(views.with_figures(figures), views.view())
    found = answer["subtasks"][0]["user-accumulators"]

    assert [(one["name"], one["type"]) for one in found] == [
        ("rows", "Counter"),
        ("last", "Gauge"),
        ("size", "Distribution"),
        ("speed", "Meter"),
        ("word", "Gauge"),
    ]
    values = [one["value"] for one in found]
    assert (values[0], values[-1]) == ("2", "a")
    assert json.loads(values[2]) == size


def test_a_distribution_is_several_metrics() -> None:
    user = {"latency": {"p50": 1, "p95": 2, "p99": 3, "max": 4}}
    first = views.source()
    subtask = type(first.subtasks[0])(0, first.times, (views.figures(1, 1, user=user),))
    vertex = type(first)(
        first.vertex_id, first.name, 1, 128, first.operators, (), (subtask,), first.times
    )
    found = vertex_metrics(views.view(vertices=(vertex,)), views.SOURCE_ID)

    name = "0.Source__fares.latency"
    assert [found[f"{name}_{part}"] for part in ("median", "p95", "p99", "max")] == [1, 2, 3, 4]


def test_values_are_texts_and_what_is_unknown_is_left_out() -> None:
    metrics = {"a": 1, "b": True, "c": "word"}
    assert selected(metrics, {}) == [{"id": "a"}, {"id": "b"}, {"id": "c"}]
    assert selected(metrics, {"get": "c,b,none"}) == [
        {"id": "c", "value": "word"},
        {"id": "b", "value": "true"},
    ]


def test_metrics_of_several_subtasks_come_to_something() -> None:
    metrics: list[dict[str, Any]] = [{"a": 1, "b": "word"}, {"a": 4}]
    assert aggregated(metrics, {}) == [{"id": "a"}, {"id": "b"}]
    assert aggregated(metrics, {"get": "a,b", "agg": "sum,MAX"}) == [
        {"id": "a", "sum": 5.0, "max": 4.0}
    ]
    with pytest.raises(RequestRefusedError, match="agg"):
        aggregated(metrics, {"get": "a", "agg": "median"})


def test_subtasks_are_chosen_by_number_and_range() -> None:
    assert list(chosen_subtasks("1,5-7")) == [range(1, 2), range(5, 8)]
    assert list(chosen_subtasks(None)) == []
    with pytest.raises(RequestRefusedError, match="subtasks"):
        list(chosen_subtasks("1,x"))


def test_only_the_subtasks_asked_for_are_summed() -> None:
    with served(ShownJob()) as client:
        path = f"{VERTEX}/subtasks/metrics?get=numRecordsIn&agg=sum"
        assert client(path).body == [{"id": "numRecordsIn", "sum": 30.0}]
        assert client(f"{path}&subtasks=1").body == [{"id": "numRecordsIn", "sum": 12.0}]
