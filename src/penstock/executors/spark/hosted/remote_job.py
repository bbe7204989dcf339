"""The client's side of a job whose driver's side is on a server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.common.running_job import JobProgress
from penstock.executors.driver.epoch_gate import GateTurn
from penstock.executors.driver.job import Job
from penstock.executors.driver.recovery.restart_strategy import RestartStrategy
from penstock.executors.spark.hosted.remote_run import RemoteRun
from penstock.executors.spark.hosted.requests import CHECKPOINT


class RestartOfLost:
    """Restarts a job whose driver's side has died. What else it fails with, that has already restarted it for.

    Args:
        strategy: The job's strategy.
        run: Knows whether it has died.
    """

    def __init__(self, strategy: RestartStrategy, run: RemoteRun) -> None:
        self._strategy = strategy
        self._run = run

    def delay_after_failure(self) -> int | None:
        """Return after how many milliseconds the job is restarted; None to give up."""
        return self._strategy.delay_after_failure() if self._run.is_lost else None


class RemoteJob(Job):
    """A job whose driver's side is on a server: epochs, restarts and savepoints are its, and are told here.

    Args:
        run: Follows it.
        arguments: Those of `Job`, but for `run` and `interrupt`.
    """

    def __init__(self, run: RemoteRun, **arguments: Any) -> None:
        self._remote = run
        super().__init__(run=run, interrupt=run.interrupt, **arguments)

    def _strategy_of(self) -> RestartStrategy:
        return RestartOfLost(super()._strategy_of(), self._remote)

    def progress(self) -> JobProgress:
        """Return how far the job has come."""
        here, there = super().progress(), self._remote.progress
        if there is None:
            return here
        has_ended = here.status.is_terminal_state()
        return replace(
            there,
            status=here.status if has_ended else there.status,
            last_error=here.last_error or there.last_error,
        )

    def checkpoint(self, turn: GateTurn) -> int:
        """Wait for an epoch that holds all the job has done: see `RunningJob`."""
        with self._gate.between(turn):
            self._check_running()
            found: int = self._remote.ask(CHECKPOINT)
            return found

    def _savepoint(
        self,
        path: str | None,
        directory: str | None,
        stops: bool,
        ends_event_time: bool,
        turn: GateTurn,
    ) -> str:
        # What is wrong with the place is said at once.
        self._savepoints.place(path, directory)
        with self._gate.between(turn):
            self._check_running()
            found = self._remote.savepoint(
                path, directory, stops=stops, ends_event_time=ends_event_time
            )
        if stops:
            self._observed.stops()
            self.wait()
        return found
