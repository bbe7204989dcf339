"""A view of a job is plain data: what JSON cannot hold becomes what it can."""

from __future__ import annotations

import json

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.job_view import (
    Figures,
    JobView,
    OperatorView,
    TaskTimes,
    VertexView,
    job_view_json,
)


def test_a_view_is_json() -> None:
    operator = OperatorView("a" * 32, "Map", None, (), Figures(records_in=3, user={"fares": 2.5}))
    vertex = VertexView(
        "a" * 32, "Map", 2, 128, (operator,), (), (), TaskTimes(busy=0.25, idle=0.75)
    )
    view = JobView(
        "b" * 32,
        "fares",
        JobStatus.RUNNING,
        "running",
        at=2_000,
        started=1_000,
        status_times={JobStatus.RUNNING: 1_000},
        vertices=(vertex,),
    )

    found = json.loads(json.dumps(job_view_json(view)))

    assert found["status"] == "RUNNING"
    assert found["status_times"] == {"RUNNING": 1_000}
    assert found["vertices"][0]["times"]["busy"] == 0.25
    assert found["vertices"][0]["operators"][0]["figures"]["user"] == {"fares": 2.5}
    assert vertex.is_source
