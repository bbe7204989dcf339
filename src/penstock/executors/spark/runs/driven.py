"""Runs a program whose epochs the driver begins, as it reads no stream of Spark's: each is one Spark action."""

from __future__ import annotations

import threading
from contextlib import ExitStack

from penstock.executors.driver.epoch_loop import EpochLoop
from penstock.executors.driver.epoch_runner import EpochRunner
from penstock.executors.spark.interruption import note_of
from penstock.executors.spark.prepared_job import PreparedJob
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer


class DrivenRun:
    """One run of a program without a stream of Spark's; most are bounded, and have one epoch.

    Args:
        job: The program, and what Spark needs to run it.
        runner: Runs and commits its epochs.
        at_end: What to call once nobody needs it any more.

    Attributes:
        leaves_functions_open: Whether functions may live in workers when it ends: a single epoch, which is
            the last, closes them.
    """

    def __init__(self, job: PreparedJob, runner: EpochRunner, at_end: ExitStack) -> None:
        self._job = job
        self._runner = runner
        self._loop = EpochLoop(
            runner,
            job.request.configuration,
            job.compiled.run_end,
            has_streams=job.compiled.has_streams,
            name=job.request.name,
        )
        self._groups = job.groups()
        at_end.callback(self._groups.close)
        self._read_here: frozenset[int] = frozenset()
        self.leaves_functions_open = job.compiled.has_epochs

    def __call__(self, stop: threading.Event) -> None:
        """Run all epochs, or until `stop` is set."""
        frames = self._job.frames()
        note = note_of(self._job.job_id)

        def run_epoch(epoch: Epoch) -> list[Buffer]:
            self._tell_groups()
            unread = frozenset[int]() if epoch.ends else self._runner.unread
            self._read_here |= unread
            rows = frames.rows(source for source in self._job.sources if source.number in unread)
            return frames.run(epoch, rows, note)

        self._loop(run_epoch, stop)
        self._tell_groups()

    def _tell_groups(self) -> None:
        """Let consumer groups know of the bounded sources that were read to their end in committed epochs."""
        self._groups.tell_ends(self._read_here - self._runner.unread)
