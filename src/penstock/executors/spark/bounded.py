"""Runs a bounded program: one epoch, one Spark action; more only if a test's source asks for them."""

from __future__ import annotations

import threading

from penstock.executors.job import EpochRunner
from penstock.executors.spark.interruption import Interruption
from penstock.executors.spark.prepared_job import PreparedJob
from penstock.executors.spark.workers import close_functions
from penstock.runtime.buffer import Buffer
from penstock.runtime.epoch import Epoch


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

        def run_epoch(epoch: Epoch) -> list[Buffer]:
            unread = frozenset[int]() if epoch.ends else self._runner.unread
            rows = frames.rows(source for source in self._job.sources if source.number in unread)
            return frames.run(epoch, rows, self._interruption.note)

        self._runner.run_bounded(run_epoch, stop)

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
