"""What a metric is about is said as Flink says it."""

from __future__ import annotations

import socket

import pytest
from tests.executors.driver.reporters.metrics import reported
from tests.executors.driver.reports import views

from penstock.common import Configuration
from penstock.errors import InvalidConfigurationValueError
from penstock.executors.driver.reporters.scopes import Naming, ScopeFormats
from penstock.executors.driver.reports.flink_metrics import JobMetric, Scope, metrics_of
from penstock.metrics import MetricKind, ReportedMetric
from penstock.runtime.metrics import MetricGroup, MetricName

HOST = socket.gethostname()


def named(naming: Naming, name: str, level: str) -> ReportedMetric:
    found = naming.reported(metrics_of(views.view()))
    return next(one for one in found if one.name == name and one.logical_scope.endswith(level))


def naming(**settings: str) -> Naming:
    configuration = Configuration()
    for key, text in settings.items():
        configuration.set_string(f"metrics.scope.{key}", text)
    return Naming(ScopeFormats.read(configuration))


def test_identifiers_are_flinks() -> None:
    before = f"{HOST}.taskmanager.driver.fares"

    assert named(naming(), "uptime", "job").identifier == f"{HOST}.jobmanager.fares.uptime"
    assert (
        named(naming(), "numBytesIn", "task").identifier == f"{before}.Source: fares.0.numBytesIn"
    )
    assert (
        named(naming(), "numTimers", "operator").identifier == f"{before}.Source: fares.0.numTimers"
    )


def test_variables_are_flinks() -> None:
    metric = named(naming(), "numTimers", "operator")

    assert metric.logical_scope == "taskmanager.job.task.operator"
    assert metric.variables == {
        "host": HOST,
        "job_id": views.JOB_ID,
        "job_name": "fares",
        "tm_id": "driver",
        "task_id": views.SOURCE_ID,
        "task_name": "Source: fares",
        "subtask_index": "0",
        "operator_id": views.SOURCE_ID,
        "operator_name": "Source: fares",
    }
    assert named(naming(), "uptime", "job").variables.keys() == {"host", "job_id", "job_name"}


def test_formats_can_be_set_and_take_up_others() -> None:
    found = naming(jm="<host>.jm", operator="*.<operator_name>", task="<job_name>.x<subtask_index>")

    assert named(found, "numTimers", "operator").identifier == "fares.x0.Source: fares.numTimers"
    assert named(naming(**{"jm-job": "*.<job_name>", "jm": "jm"}), "uptime", "job").identifier == (
        "jm.fares.uptime"
    )
    deep = naming(operator="*.<operator_id>", task="*.t", tm="tm", **{"tm-job": "*.<job_id>"})
    assert named(deep, "numTimers", "operator").identifier == (
        f"tm.{views.JOB_ID}.t.{views.SOURCE_ID}.numTimers"
    )


@pytest.mark.parametrize(
    ("key", "text"), [("operator", "<operater_name>"), ("jm-job", "<host>.<task_name>")]
)
def test_a_variable_that_there_is_not_is_refused(key: str, text: str) -> None:
    with pytest.raises(InvalidConfigurationValueError, match=f"metrics.scope.{key}") as caught:
        naming(**{key: text})

    assert "<job_name>" in str(caught.value)


def test_the_groups_of_users_are_parts_of_the_scope_and_their_values_variables() -> None:
    rows = next(one for one in reported() if one.name == "rows")
    assert rows.identifier.endswith("Sum.0.parser.user.7.rows")
    assert rows.is_user

    group = MetricGroup().add_group("parser").add_group("user", "7.1")
    group.counter("rows.read").inc(3)
    figures = views.figures(1, 1, user=group.take())
    view = views.view(vertices=(views.with_figures(figures),))
    (metric,) = [one for one in reported(view) if one.is_user]

    assert (metric.name, metric.value) == ("rows.read", 3)
    assert metric.identifier.endswith(".parser.user.7.1.rows.read")
    assert metric.logical_scope == "taskmanager.job.task.operator.parser.user"
    assert metric.variables["user"] == "7.1"


def test_variables_can_be_left_out_and_added() -> None:
    found = Naming(
        ScopeFormats.read(Configuration()),
        delimiter="/",
        excluded=frozenset({"job_id", "host"}),
        additional=(("region", "eu"),),
    )

    metric = named(found, "uptime", "job")

    assert metric.variables == {"job_name": "fares", "region": "eu"}
    assert metric.identifier == f"{HOST}/jobmanager/fares/uptime"


def test_what_utf_8_cannot_hold_is_in_no_name() -> None:
    half = "\ud800"
    group = MetricGroup().add_group(half, half)
    scope = Scope("id", half, "vertex", half, 0, "operator", half)
    name = MetricName.of(group.full_name(half))
    found = JobMetric(
        name.name, MetricKind.COUNTER, 1, scope, name.groups, name.logical_groups, name.variables
    )

    (metric,) = naming().reported([found])

    for text in (metric.name, metric.identifier, metric.logical_scope, str(metric.variables)):
        assert "?" in text
        assert half not in text
        text.encode()
