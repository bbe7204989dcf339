"""Runs a bounded program: one epoch, one Spark action; more only if a test's source asks for them."""

from __future__ import annotations

import threading

from penstock.executors.driver.epoch_runner import EpochRunner
from penstock.executors.spark.interruption import note_of
from penstock.executors.spark.prepared_job import PreparedJob
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer


class BoundedRun:
    """One run of a bounded program.

    Args:
        job: The program, and what Spark needs to run it.
        runner: Runs and commits its epochs.

    Attributes:
        leaves_functions_open: Whether functions may live in workers when it ends: a single epoch, which is
            the last, closes them.
    """

    def __init__(self, job: PreparedJob, runner: EpochRunner) -> None:
        self._job = job
        self._runner = runner
        self.leaves_functions_open = job.compiled.has_epochs

    def __call__(self, stop: threading.Event) -> None:
        """Run all epochs, or until `stop` is set."""
        frames = self._job.frames()
        note = note_of(self._job.job_id)

        def run_epoch(epoch: Epoch) -> list[Buffer]:
            unread = frozenset[int]() if epoch.ends else self._runner.unread
            rows = frames.rows(source for source in self._job.sources if source.number in unread)
            return frames.run(epoch, rows, note)

        self._runner.run_bounded(run_epoch, stop)
