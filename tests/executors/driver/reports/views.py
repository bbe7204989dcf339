"""A job's view to try things on: a source, and a chain of two operators that it feeds, in two subtasks each."""

from __future__ import annotations

import dataclasses
from typing import Any

from penstock.common.job_status import JobStatus
from penstock.executors.driver.reports.job_view import (
    EpochView,
    ExceptionView,
    Figures,
    InputView,
    JobView,
    OperatorView,
    SubtaskView,
    TaskTimes,
    VertexView,
)

JOB_ID = "b" * 32
SOURCE_ID = "a" * 32
SUM_ID = "c" * 32
SINK_ID = "d" * 32
STARTED = 1_700_000_000_000


def figures(records_in: int, records_out: int, **others: Any) -> Figures:
    """Return what an operator did."""
    return Figures(records_in, records_out, **others)


def source() -> VertexView:
    """Return a source that has read 30 records, 20 of them in its first subtask."""
    parts = [figures(count, count, output_watermark=STARTED) for count in (20, 10)]
    times = TaskTimes(0.25, 0.5, 0.25, 2.0, 2.0, 0, 300)
    operator = OperatorView(SOURCE_ID, "Source: fares", "fares", (), figures(30, 30), 4.0)
    return VertexView(
        SOURCE_ID,
        "Source: fares",
        2,
        128,
        (operator,),
        (),
        tuple(SubtaskView(index, times, (part,)) for index, part in enumerate(parts)),
        dataclasses.replace(times, records_in_per_second=4.0, records_out_per_second=4.0),
        STARTED,
    )


def summing() -> VertexView:
    """Return a chain of a sum, which the user counts something in, and a sink."""
    user = {"parser.user.7.rows": 3, "mood": "good", "speed": {"count": 9, "rate": 1.5}}
    parts = [
        (figures(count, 2, late_records=1, user=user, gauges=frozenset({"mood"})), figures(2, 0))
        for count in (18, 12)
    ]
    operators = (
        OperatorView(SUM_ID, "Sum", None, (1,), figures(30, 4, late_records=2), 4.0, 0.75),
        OperatorView(SINK_ID, "Sink: out", None, (), figures(4, 0), 1.0, 0.25),
    )
    times = TaskTimes(0.1, 0.0, 0.9, 2.0, 0.0, 150, 0)
    return VertexView(
        SUM_ID,
        "Sum -> Sink: out",
        2,
        128,
        operators,
        (InputView(SOURCE_ID, "HASH", SOURCE_ID),),
        tuple(SubtaskView(index, times, part, 40) for index, part in enumerate(parts)),
        dataclasses.replace(times, records_in_per_second=4.0, bytes_in=300),
        None,
        80,
    )


def view(**others: Any) -> JobView:
    """Return a job that runs, with other values of some attributes."""
    known: dict[str, Any] = {
        "name": "fares",
        "status": JobStatus.RUNNING,
        "phase": "running",
        "at": STARTED + 60_000,
        "started": STARTED,
        "status_times": {JobStatus.CREATED: STARTED, JobStatus.RUNNING: STARTED + 10_000},
        "parallelism": 2,
        "vertices": (source(), summing()),
        "configuration": {"parallelism.default": "2", "rest.token": "******"},
        "checkpoint_location": "file:/checkpoints/fares",
        "checkpoint_interval": 1_000,
        "epochs": (
            EpochView(1, STARTED + 10_000, 500, 10, 400, 90, 5, 20, 60, 60, "file:/c/1"),
            EpochView(2, STARTED + 11_000, 300, failure="ValueError: no"),
            EpochView(3, STARTED + 12_000, 700, 10, 600, 90, None, 10, 80, 20, "file:/c/3"),
        ),
        "epochs_completed": 2,
        "epochs_failed": 1,
        "restarts": 1,
        "exceptions": (
            ExceptionView(STARTED + 11_300, "ValueError", "no", "Traceback: no", "Sum", SUM_ID),
        ),
        "records_in": 30,
        "records_per_second": 4.0,
        "watermark": STARTED,
        "watermark_lag": 60_000,
        "holding_back": ("Source: fares",),
        "watermark_origins": {SOURCE_ID: True},
        "late_records": 2,
        "state_size": 80,
        "checkpoint_size": 20,
        "checkpoint_duration": 700,
    }
    return JobView(**{"job_id": JOB_ID, **known, **others})


def with_figures(figures: Figures) -> VertexView:
    """Return a chain of one operator, which did that in its only subtask."""
    first = source()
    subtask = SubtaskView(0, first.times, (figures,))
    return dataclasses.replace(first, parallelism=1, subtasks=(subtask,))
