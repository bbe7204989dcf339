"""Runs a bounded program: one epoch, one Spark action; more only if a test's source asks for them."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from penstock.errors import JobCancelledError
from penstock.executors.job import EpochRunner
from penstock.executors.spark.interruption import Interruption
from penstock.executors.spark.workers import close_functions

if TYPE_CHECKING:
    from penstock.executors.spark.executor import PreparedJob


class BoundedRun:
    """One run of a bounded program.

    Args:
        job: The program, and what Spark needs to run it.
        runner: Runs and commits its epochs.
        epochs: How many epochs its sources have records for.
    """

    def __init__(self, job: PreparedJob, runner: EpochRunner, epochs: int) -> None:
        self._job = job
        self._runner = runner
        self._epochs = epochs
        self._interruption = Interruption(job.spark, job.job_id)

    def __call__(self, stop: threading.Event) -> None:
        """Run all epochs, or until `stop` is set."""
        frames = self._job.frames()
        runner = self._runner
        every = frozenset(self._job.bounded)
        resumed = runner.resume()
        runner.republish()
        is_last = resumed is not None and resumed.is_last
        with suppress(JobCancelledError):
            while not is_last and not stop.is_set():
                unread = [source for source in self._job.sources if source.number in runner.unread]
                finishing = runner.ending
                is_last = finishing == every
                run = partial(frames.run, rows=frames.rows(unread), note=self._interruption.note)
                runner.run(runner.next, finishing, run, is_last=is_last)
        if runner.wants_end:
            run = partial(frames.run, rows=None, note=self._interruption.note)
            runner.run(runner.next, every, run, is_last=False, ends=True)

    def interrupt(self) -> None:
        """Interrupt what Spark is doing for the job."""
        self._interruption.begin()

    def close_functions(self) -> None:
        """Close the functions that still live in workers; the last epoch has closed them."""
        if self._epochs > 1:
            close_functions(self._job.spark, self._job.job_id, self._job.layout.cores)

    def clean_up(self) -> None:
        """Remove what nobody needs once the job has ended."""
        self._interruption.end()
