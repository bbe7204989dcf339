"""Runs a job as often as its restart strategy has it run, in another session if the first is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Protocol

from penstock.errors import PenstockError
from penstock.executors.driver.interrupts import JOBS
from penstock.executors.spark.failures import spark_errors
from penstock.executors.spark.interruption import Interruption
from penstock.executors.spark.java_process import has_died, java_process
from penstock.executors.spark.prepared_job import PreparedJob
from penstock.executors.spark.session import is_alive, session_lost
from penstock.executors.spark.workers import close_functions


class EpochRun(Protocol):
    """Runs the epochs of a job in one session."""

    leaves_functions_open: bool
    """Whether functions live in workers when it ends."""

    def __call__(self, stop: threading.Event) -> None:
        """Run the job from its last epoch to its end, or until `stop` is set."""


class Attempts:
    """The attempts at running a job, one after the other.

    Args:
        job: The program, and what Spark needs to run it.
        make_run: Makes what runs it in the session that the job has then, given what to call once nobody
            needs that any more.
    """

    # Spark kills the tasks, so it is no function that keeps it waiting.
    patience = 5.0

    def __init__(self, job: PreparedJob, make_run: Callable[[ExitStack], EpochRun]) -> None:
        self._job = job
        self._make_run = make_run
        self._has_lost_session = False
        self._begin()

    def _begin(self) -> None:
        self._process = java_process()
        with ExitStack() as at_end:
            self._run = self._make_run(at_end)
            self._interruption = Interruption(self._job.spark, self._job.job_id)
            at_end.callback(self._interruption.end)
            self._at_end = at_end.pop_all()

    def __call__(self, stop: threading.Event) -> None:
        """Run the job from its last epoch to its end, or until `stop` is set.

        Raises:
            SessionLostError: If the session ends meanwhile.
            PenstockError: What the job failed with.
        """
        what = self._job.title
        is_cut = is_gone = False
        if self._has_lost_session:
            self._take_new_session(what)
        try:
            with spark_errors(what, self._job.chains):
                self._run(stop)
        except PenstockError as error:
            is_cut = stop.is_set()
            is_gone = not (is_cut or is_alive(self._job.spark, error))
            if not is_gone:
                raise
            can_go_on = self._job.can_change_session and has_died(self._process)
            self._has_lost_session = can_go_on
            raise session_lost(what, error, can_go_on=can_go_on) from error
        finally:
            # Tasks that are being killed hold the cores, and take what was open in their processes along.
            is_due = self._run.leaves_functions_open and not (is_cut or is_gone or JOBS.is_over)
            if is_due and is_alive(self._job.spark):
                close_functions(self._job.spark, self._job.job_id, self._job.layout.cores)

    def _take_new_session(self, what: str) -> None:
        with spark_errors(what):
            self._job.take_new_session()
        self.clean_up()
        self._begin()
        self._has_lost_session = False

    def interrupt(self) -> None:
        """Interrupt what Spark is doing for the job, but for a streaming query, which its run stops itself."""
        self._interruption.begin()

    def clean_up(self) -> None:
        """Remove what nobody needs once the job has ended."""
        self._at_end.close()
