"""The client's side of a job: reads its epochs as they are committed, and waits for its end."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from penstock.checkpoint.epoch_store import EpochRecord, EpochStore
from penstock.common.job_status import JobStatus
from penstock.executors.base import JobProgress, JobRequest
from penstock.executors.progress_line import ProgressLine
from penstock.runtime.epoch_outcome import add_user_metrics
from penstock.runtime.metrics import Distribution, Reading
from penstock.runtime.program import Program

_POLL_SECONDS = 0.02


class Job:
    """A job that runs in a thread of its own, and tells the client of each epoch.

    Args:
        job_id: The job's id.
        request: What was asked for.
        program: The compiled program.
        store: Where the job's epochs are committed.
        run: Runs the whole job; returns when it has ended, raises what it failed with. It is given an
            event that is set when it should stop.
        interrupt: Interrupts what the engine is doing for the job now.
        clean_up: Removes what nobody needs once the job has ended.
    """

    def __init__(
        self,
        job_id: str,
        request: JobRequest,
        program: Program,
        store: EpochStore,
        run: Callable[[threading.Event], None],
        interrupt: Callable[[], None] = lambda: None,
        clean_up: Callable[[], None] = lambda: None,
    ) -> None:
        self.job_id = job_id
        self._request = request
        self._store = store
        self._run = run
        self._interrupt = interrupt
        self._clean_up = clean_up
        self._stop = threading.Event()
        self._is_cancelled = False
        self._is_told = False
        self._ended = threading.Event()
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._next = 0
        self._lock = threading.Lock()
        self._progress = JobProgress(JobStatus.RUNNING)
        self._sources = {
            vertex.operators[0].operator_id
            for vertex in program.vertices
            if vertex.source is not None
        }
        self._line = ProgressLine(request.name, request.configuration)
        self._engine = threading.Thread(target=self._work, name=f"job-{job_id}", daemon=True)
        self._reader = threading.Thread(target=self._read, name=f"epochs-{job_id}", daemon=True)
        self._engine.start()
        self._reader.start()

    def _work(self) -> None:
        try:
            self._run(self._stop)
        except BaseException as error:  # noqa: BLE001 - the waiting client raises it
            self._error = error
        finally:
            self._ended.set()

    def _read(self) -> None:
        """Hand on what epochs gave, until the job has ended and all its epochs are read."""
        try:
            while True:
                ended = self._ended.wait(_POLL_SECONDS)
                while (record := self._store.get(self._next)) is not None:
                    self._consume(record)
                if ended:
                    break
                self._line.turn(self._progress)
        except BaseException as error:  # noqa: BLE001 - the waiting client raises it
            self._error = self._error or error
            self._stop.set()
            self._interrupt()
            self._ended.wait()
        finally:
            self._finish()
            self._done.set()

    def _consume(self, record: EpochRecord) -> None:
        self._line.clear()
        sys.stdout.writelines(f"{text}\n" for text in record.printed)
        sys.stdout.flush()
        for collect_id, values in record.collected:
            self._request.collectors[collect_id](values)
        with self._lock:
            self._add(record)
            self._next += 1
        self._line.show(self._progress)
        # The epoch after this one still reads this record; older ones nobody does.
        self._store.forget(record.number - 2)

    def _add(self, record: EpochRecord) -> None:
        progress = self._progress
        progress.epochs += 1
        for operator_id, report in record.operators.items():
            if operator_id in self._sources:
                progress.records_in += report["records_out"]
            known = progress.operators.get(operator_id)
            progress.operators[operator_id] = report if known is None else _sum(known, report)

    def _finish(self) -> None:
        try:
            self._line.finish(self._progress)
            self._clean_up()
        except BaseException as error:  # noqa: BLE001 - the waiting client raises it
            self._error = self._error or error
        with self._lock:
            if self._is_cancelled:
                self._end_cancelled()
            elif self._error is not None:
                self._progress.status = JobStatus.FAILED
            else:
                self._progress.status = JobStatus.FINISHED

    def _end_cancelled(self) -> None:
        # What the engine raises as it is stopped is no news to whoever stopped it.
        self._error = None
        self._progress.status = JobStatus.CANCELED

    def progress(self) -> JobProgress:
        """Return how far the job has come."""
        with self._lock:
            found = self._progress
            operators = {key: _plain(report) for key, report in found.operators.items()}
            return JobProgress(found.status, found.epochs, found.records_in, operators)

    def wait(self) -> JobProgress:
        """Wait until the job has ended.

        Raises:
            PenstockError: What the job failed with.
        """
        # An event and not the thread: a join that Ctrl-C interrupts takes the thread for ended. The
        # wait is bounded, so that Ctrl-C is heard in between.
        while not self._done.wait(0.1):
            pass
        if self._error is not None:
            self._is_told = True
            raise self._error
        return self.progress()

    def cancel(self) -> None:
        """Stop the job; what is not committed is given up.

        A job that has finished stays finished. One that has just failed counts as cancelled: Ctrl-C
        reaches the engine too, which then fails what it was doing.
        """
        with self._lock:
            self._is_cancelled = True
            self._stop.set()
            if self._progress.status is JobStatus.FAILED and not self._is_told:
                self._end_cancelled()
            is_running = self._progress.status is JobStatus.RUNNING
        if is_running:
            self._interrupt()


def _sum(known: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {
        **new,
        "records_in": known["records_in"] + new["records_in"],
        "records_out": known["records_out"] + new["records_out"],
        "user": add_user_metrics(known["user"], new["user"]),
    }


def _plain(report: dict[str, Any]) -> dict[str, Any]:
    """Return what an operator did, with gauges as they are and distributions as a few numbers."""
    return {**report, "user": {name: _shown(value) for name, value in report["user"].items()}}


def _shown(value: Any) -> Any:
    if isinstance(value, Distribution):
        return value.summary()
    return value.value if isinstance(value, Reading) else value
