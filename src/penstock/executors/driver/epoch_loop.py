"""Runs the epochs of a program in which none of the engine's streams says when they begin."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import Final

from penstock.common.configuration import options
from penstock.common.configuration.configuration import Configuration
from penstock.common.plain_text import shown_name
from penstock.errors import JobCancelledError
from penstock.executors.driver.epoch_runner import EpochRunner, RunEpoch
from penstock.executors.driver.planning import Plans
from penstock.executors.driver.run_end import RunEnd
from penstock.runtime.async_io.async_wait import LONGEST_LOOK

_LOG: Final = logging.getLogger("penstock")
_POLL_SECONDS = 0.02


class EpochLoop:
    """Runs one epoch after the other, each as soon as there is something to do in it.

    Args:
        runner: Runs and commits the epochs.
        configuration: The job's configuration.
        run_end: Where a run of it ends, if it has streams.
        has_streams: Whether a source does not end.
        name: The job's name, for messages.
    """

    def __init__(
        self,
        runner: EpochRunner,
        configuration: Configuration,
        run_end: RunEnd,
        *,
        has_streams: bool,
        name: str,
    ) -> None:
        self._runner = runner
        self._name = name
        self._has_streams = has_streams
        self._ends = has_streams and run_end.is_present
        self._ends_input = run_end.ends_input
        interval = configuration.get(options.EPOCH_INTERVAL).to_millis()
        self._seconds = interval / 1000 if has_streams and not self._ends else 0.0

    def __call__(self, run_epoch: RunEpoch, stop: threading.Event) -> None:
        """Run what is left of the epochs, or until `stop` is set.

        Raises:
            PenstockError: If the program cannot go on from the last epoch, or what a task failed with.
        """
        runner = self._runner
        last = runner.resume()
        runner.republish()
        if last is not None and last.is_last:
            if self._has_streams:
                warn_of_end(self._name)
            return
        with suppress(JobCancelledError):
            self._run_all(run_epoch, stop)
        if runner.wants_end:
            runner.run(runner.next, runner.every, run_epoch, is_last=False, ends=True)

    def _run_all(self, run_epoch: RunEpoch, stop: threading.Event) -> None:
        runner = self._runner
        while not stop.is_set() and not runner.wants_end:
            plans = runner.plans()
            is_last = runner.ending | plans.over == runner.every
            if not (is_last or self._is_due(plans)):
                if self._ends:
                    self._end_run(run_epoch)
                    return
                stop.wait(_POLL_SECONDS)
                continue
            begun = time.monotonic()
            runner.run(runner.next, runner.ending, run_epoch, is_last=is_last, plans=plans)
            if is_last:
                return
            self._rest(begun + self._seconds, stop)

    def _is_due(self, plans: Plans) -> bool:
        """Whether there is something to do in an epoch that begins now."""
        runner = self._runner
        if runner.unread or runner.is_news(plans):
            return True
        due = runner.next_wake_up
        return due is not None and due <= time.time() * 1000

    def _rest(self, until: float, stop: threading.Event) -> None:
        while not self._runner.wants_end and (seconds := until - time.monotonic()) > 0:
            if stop.wait(min(seconds, _POLL_SECONDS)):
                return

    def _end_run(self, run_epoch: RunEpoch) -> None:
        """Do what is left to do when all that was there is read, though no input comes any more."""
        runner = self._runner
        if self._ends_input:
            runner.run(runner.next, runner.every, run_epoch, is_last=True)
        elif is_soon(runner.next_wake_up):
            runner.run(runner.next, runner.ending, run_epoch, is_last=False, settles=True)


def is_soon(due: int | None) -> bool:
    """Whether a time (milliseconds) comes so soon that it may be that of a look after calls under way."""
    return due is not None and due <= (time.time() + LONGEST_LOOK) * 1000


def warn_of_end(name: str) -> None:
    """Say that a stream is not read on, as an earlier start has ended it."""
    _LOG.warning(
        "%s: all input was read by an earlier start, so there is nothing left to do; "
        "execution.trigger: available-now lets a job go on with what comes later",
        shown_name(name),
    )
