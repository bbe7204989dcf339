from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.common import JobStatus
from penstock.common.job_client import JobClient
from penstock.common.running_job import JobProgress
from penstock.datastream.streams.closeable_iterator import CloseableIterator, Results
from penstock.errors import JobFailedError


class FakeJob:
    """A job that ends when it is told to."""

    job_id = "0" * 32
    name = "job"

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.error: Exception | None = None
        self.status = JobStatus.RUNNING
        self.cancelled = 0

    def progress(self) -> JobProgress:
        return JobProgress(self.status)

    def view(self) -> Any:
        raise NotImplementedError

    def where_it_stands(self) -> str:
        return "job"

    def tell_end(self) -> None:
        raise NotImplementedError

    def wait(self) -> JobProgress:
        self.ended.wait()
        if self.error is not None:
            raise self.error
        return self.progress()

    def cancel(self) -> None:
        self.cancelled += 1
        self.end(JobStatus.CANCELED)

    def end(self, status: JobStatus = JobStatus.FINISHED, error: Exception | None = None) -> None:
        self.status = status
        self.error = error
        self.ended.set()

    def check_may_wait(self) -> None:
        pass

    def tell_failure(self) -> None:
        pass

    def turn(self, *, after_first: bool = False) -> Any:
        raise NotImplementedError

    def checkpoint(self, turn: Any) -> int:
        raise NotImplementedError

    def stop(self, turn: Any = None) -> None:
        raise NotImplementedError

    def savepoint(self, path: str | None = None, **options: object) -> str:
        raise NotImplementedError


def iterator_of(job: FakeJob) -> tuple[CloseableIterator, Results]:
    results = Results()
    return CloseableIterator(JobClient(job), results), results


def test_results_come_while_the_job_runs() -> None:
    job = FakeJob()
    iterator, results = iterator_of(job)
    results.put([1, 2])
    results.put([])
    assert [next(iterator), iterator.next()] == [1, 2]
    results.put([None])
    assert next(iterator) is None
    job.end()
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(StopIteration):
        iterator.next()


def test_an_error_comes_after_all_results_and_once() -> None:
    job = FakeJob()
    iterator, results = iterator_of(job)
    results.put([1])
    job.end(JobStatus.FAILED, JobFailedError("no"))
    assert next(iterator) == 1
    with pytest.raises(JobFailedError, match="no"):
        next(iterator)
    assert list(iterator) == []


def test_leaving_a_with_cancels_and_drops_what_is_waiting() -> None:
    job = FakeJob()
    iterator, results = iterator_of(job)
    results.put([1, 2])
    results.put([3])
    with iterator as same:
        assert same is iterator
        assert next(iterator) == 1
    assert job.cancelled == 1
    assert list(iterator) == []
    results.put([4])
    assert list(iterator) == []


def test_a_job_that_has_ended_is_not_cancelled() -> None:
    job = FakeJob()
    iterator, _ = iterator_of(job)
    job.end()
    assert list(iterator) == []
    iterator.close()
    iterator.close()
    assert job.cancelled == 0


def test_what_the_job_fails_with_while_it_is_closed_is_not_raised() -> None:
    class Stubborn(FakeJob):
        def cancel(self) -> None:
            self.end(JobStatus.FAILED, JobFailedError("no"))

    job = Stubborn()
    iterator, _ = iterator_of(job)
    iterator.close()
    assert list(iterator) == []


def test_the_reader_waits_until_results_are_taken() -> None:
    job = FakeJob()
    iterator, results = iterator_of(job)
    put = 0

    def read() -> None:
        nonlocal put
        for value in range(1000):
            results.put([value])
            put += 1
        job.end()

    reader = threading.Thread(target=read)
    reader.start()
    for value in range(1000):
        assert next(iterator) == value
        assert put - value <= 65
    reader.join()
    assert list(iterator) == []


def test_a_reader_that_waits_is_let_go_by_close() -> None:
    job = FakeJob()
    iterator, results = iterator_of(job)

    def read() -> None:
        for value in range(1000):
            results.put([value])

    reader = threading.Thread(target=read)
    reader.start()
    assert next(iterator) == 0
    iterator.close()
    reader.join()
