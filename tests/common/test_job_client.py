from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.common import JobID, JobStatus
from penstock.common.job_client import JobClient
from penstock.common.running_job import JobProgress
from penstock.errors import JobCancelledError, JobFailedError


class Turn:
    """A turn, which knows whether it was given back."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True


class FakeJob:
    job_id = "ab" * 16
    name = "clicks"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.status = JobStatus.RUNNING
        self.ended = threading.Event()

    def progress(self) -> JobProgress:
        return JobProgress(self.status, 2, 10, {"id": {"name": "Map"}})

    def view(self) -> Any:
        raise NotImplementedError

    def where_it_stands(self) -> str:
        return f"job: {self.status.name}"

    def tell_end(self) -> None:
        raise NotImplementedError

    def wait(self) -> JobProgress:
        self.ended.wait()
        if self.error is not None:
            raise self.error
        return self.progress()

    def cancel(self) -> None:
        self.status = JobStatus.CANCELED
        self.ended.set()

    def check_may_wait(self) -> None:
        pass

    def tell_failure(self) -> None:
        pass

    def turn(self, *, after_first: bool = False) -> Turn:
        assert after_first
        return Turn()

    def checkpoint(self, turn: Any) -> int:
        if self.error is not None:
            raise self.error
        assert not turn.is_closed
        self.turn_taken = turn
        return 7

    def stop(self, turn: Any = None) -> None:
        raise NotImplementedError

    def savepoint(self, path: str | None = None, **options: object) -> str:
        raise NotImplementedError


def test_a_running_job() -> None:
    client = JobClient(FakeJob())
    assert client.get_job_id() == JobID("ab" * 16)
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert client.progress().records_in == 10
    assert not client.get_job_execution_result().done()


def test_a_finished_job() -> None:
    job = FakeJob()
    client = JobClient(job)
    future = client.get_job_execution_result()
    job.ended.set()
    result = future.result()
    assert result.get_job_id() == client.get_job_id()
    assert result.get_net_runtime() >= 0
    assert result.metrics == {
        "epochs": 2,
        "records_in": 10,
        "restarts": 0,
        "operators": {"id": {"name": "Map"}},
    }


def test_a_cancelled_job() -> None:
    client = JobClient(FakeJob())
    assert client.cancel().result() is None
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError, match=r"was cancelled\. job: CANCELED"):
        client.get_job_execution_result().result()


def test_a_failed_job() -> None:
    job = FakeJob(JobFailedError("no"))
    job.ended.set()
    client = JobClient(job)
    with pytest.raises(JobFailedError, match="no"):
        client.get_job_execution_result().result()
    with pytest.raises(JobFailedError, match="no"):
        client.wait()


def test_a_client_knows_the_name() -> None:
    assert JobClient(FakeJob()).name == "clicks"


def test_a_checkpoint_is_waited_for_in_a_turn_that_is_given_back() -> None:
    job = FakeJob()
    assert JobClient(job).checkpoint().result() == 7
    assert job.turn_taken.is_closed
    with pytest.raises(JobFailedError):
        JobClient(FakeJob(JobFailedError("no"))).checkpoint().result()
