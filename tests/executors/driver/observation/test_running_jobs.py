from __future__ import annotations

import gc
import weakref

import pytest
from tests.executors.driver.observation.virtual import SINCE_1970, VirtualJob

from penstock import uncaught
from penstock.common import Configuration, JobStatus
from penstock.errors import PenstockError
from penstock.executors.driver.observation.epoch_log import Clocks
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.driver.observation.running_jobs import JobRegistry, observed
from penstock.executors.port import JobRequest
from penstock.graph.stream_graph import StreamGraph


def request(name: str = "job", **settings: str) -> JobRequest:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key.replace("__", "."), value)
    return JobRequest(name, StreamGraph(job_name=name), configuration)


def test_a_job_that_is_being_started_is_seen_with_what_it_does() -> None:
    with observed(request(my__token="pst")) as job:
        assert job.view().phase == "starting"
        with job.doing("starting Spark"):
            view = job.view()
        assert (view.status, view.phase) == (JobStatus.CREATED, "starting Spark")
        assert view.configuration == {"my.token": "******"}
        job.ended(JobStatus.FINISHED)
    job.line.end()


@pytest.mark.parametrize("wish", ["on", "off"])
def test_ctrl_c_before_it_runs_is_told_in_one_line(
    wish: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        pytest.raises(KeyboardInterrupt) as raised,
        observed(request(execution__progress=wish)) as job,
    ):
        raise KeyboardInterrupt
    assert job.view().status is JobStatus.CANCELED
    uncaught.BriefHook(None)(KeyboardInterrupt, raised.value, None)
    (line,) = capsys.readouterr().err.splitlines()
    assert "job: cancelled after 0.0 s · 0 records" in line


def test_what_a_start_failed_with_is_seen() -> None:
    with pytest.raises(PenstockError), observed(request()) as job:
        raise PenstockError("No Spark here.")
    view = job.view()
    assert (view.status, view.phase) == (JobStatus.FAILED, "failed")
    assert [found.message for found in view.exceptions] == ["No Spark here."]


def test_all_that_run_and_the_last_ten_that_ended_are_known() -> None:
    registry = JobRegistry()
    running = ObservedJob("running", request())
    registry.add(running)
    for number in range(1000):
        job = ObservedJob(str(number), request())
        registry.add(job)
        job.ended(JobStatus.FINISHED)
    assert [job.job_id for job in registry.jobs()] == [*map(str, range(990, 1000)), "running"]
    assert registry.job("running") is running
    assert registry.job("3") is None


def test_nothing_is_left_of_jobs_that_were_forgotten_but_never_asked_for() -> None:
    registry = JobRegistry()
    first = ObservedJob("first", request())
    registry.add(first)
    first.ended(JobStatus.FINISHED)
    found = weakref.ref(first)
    del first
    for number in range(20):
        job = ObservedJob(str(number), request())
        registry.add(job)
        job.ended(JobStatus.FINISHED)
    gc.collect()
    assert found() is None


def test_an_epoch_that_failed_took_until_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    job = VirtualJob()
    seen = ObservedJob("failing", request(), Clocks(lambda: job.now, lambda: SINCE_1970 + job.now))
    monkeypatch.setattr(seen, "_log", job.log)
    job.log.begin(0)
    job.now += 2.0
    job.log.fail(KeyError())
    job.now += 60.0
    (epoch,) = seen.view().epochs
    assert (epoch.duration, epoch.running) == (2000, 2000)
