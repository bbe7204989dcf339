"""The picture of a job, as it is made of what was noted of it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.common import Configuration
from penstock.executors.driver.epoch_outcome import EpochOutcome
from penstock.executors.driver.observation.epoch_log import Clocks
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.driver.observation.watermarks import EventTime
from penstock.executors.driver.reports.job_view import RestoreView
from penstock.executors.port import JobRequest
from penstock.graph.stream_graph import StreamGraph
from penstock.runtime.timestamp import MAX_TIMESTAMP

NOW = 1_700_000_000_000


def observed() -> ObservedJob:
    request = JobRequest("fares", StreamGraph(job_name="fares"), Configuration())
    return ObservedJob("a1" * 16, request, Clocks(wall=lambda: NOW / 1000))


def test_a_job_that_runs_elsewhere_is_seen_as_long_ago_as_its_last_word() -> None:
    now = [100.0]
    request = JobRequest("fares", StreamGraph(job_name="fares"), Configuration())
    job = ObservedJob("a1" * 16, request, Clocks(lambda: now[0], lambda: 5.0))
    # The clock there is another one.
    job.seen_there(replace(observed().view(), at=NOW))
    now[0] += 7.5
    assert job.view().at == NOW + 7500


@pytest.mark.parametrize(
    ("watermark", "lag"),
    [(None, None), (NOW - 5000, 5000), (NOW + 3000, -3000), (MAX_TIMESTAMP, None)],
)
def test_event_time_may_be_ahead_of_the_clock_and_at_its_end_has_no_distance(
    watermark: int | None, lag: int | None
) -> None:
    job = observed()
    seen: Any = SimpleNamespace(seen=lambda noted: EventTime(watermark))
    job._watermarks = seen
    view = job.view()
    assert (view.watermark, view.watermark_lag) == (watermark, lag)


def test_the_last_epoch_that_a_job_went_on_from_is_known_also_after_a_restart() -> None:
    job = observed()
    assert (job.view().restores, job.view().last_restored) == (0, None)
    job._location, job._restored_from = "/checkpoints", "/savepoints/one"
    log = job._log

    for _ in range(2):  # the first epoch fails, and is run again from the same savepoint
        log.resumed(EpochRecord(5), {}, {})
    begun = job.view()
    with log.epoch(6):
        log.committed(EpochRecord(6), EpochOutcome(), {})
    log.resumed(EpochRecord(6), {}, {})
    again = job.view()

    assert begun.last_restored == RestoreView(5, NOW, "/savepoints/one", is_savepoint=True)
    assert again.last_restored == RestoreView(6, NOW, "/checkpoints")
    assert (begun.restores, again.restores) == (2, 3)
    assert (again.restored_epoch, again.restored_from) == (5, "/savepoints/one")
