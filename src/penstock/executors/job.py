"""What both executors do on the driver's side of a job: epochs begin, are run, and are committed."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
import uuid
from collections.abc import Callable, Iterable

from penstock.checkpoint.epoch_store import EpochRecord, EpochStore
from penstock.errors import InconsistentEpochError, LostBufferError
from penstock.runtime.buffer import Buffer
from penstock.runtime.epoch import Epoch
from penstock.runtime.epoch_outcome import EpochOutcome
from penstock.runtime.program import Program

RunEpoch = Callable[[Epoch], Iterable[Buffer]]
"""Runs an epoch and returns what its tasks told the driver."""

Publish = Callable[[list[tuple[str, str]]], None]
"""Makes the files that sinks prepared visible, given pairs of a sink's id and a path."""

_MOST_ATTEMPTS = 3


class EpochRunner:
    """Runs one epoch after the other, and commits each.

    Remembers nothing between epochs but what the store holds.

    Args:
        program: The program.
        job_id: Tells the runs of jobs apart.
        store: Where epochs are committed.
        folder: The job's folder; None if the job needs none.
        publish: Publishes what sinks prepared.
    """

    def __init__(
        self,
        program: Program,
        job_id: str,
        store: EpochStore,
        folder: str | None,
        publish: Publish,
    ) -> None:
        self._program = program
        self._job_id = job_id
        self._store = store
        self._folder = folder
        self._publish = publish

    def run(
        self, number: int, finishing: frozenset[int], run_epoch: RunEpoch, *, is_last: bool
    ) -> EpochRecord:
        """Run an epoch and commit it; one that is committed already is only published again.

        Args:
            number: The number of the epoch.
            finishing: The sources whose last records are in this epoch.
            run_epoch: Runs it.
            is_last: Whether no epoch follows.

        Raises:
            PenstockError: What a task failed with.
        """
        known = self._store.get(number)
        if known is not None:
            self._publish(known.prepared)
            return known
        before = self._store.get(number - 1) or EpochRecord(number - 1)
        epoch = Epoch(
            job_id=self._job_id,
            number=number,
            finishing=finishing - before.finished,
            finished=before.finished,
            is_last=is_last,
            folder=self._folder,
            state=before.handles,
            progress=before.progress,
        )
        started = time.perf_counter()
        outcome = self._attempt(epoch, run_epoch)
        record = EpochRecord(
            number,
            handles={**before.handles, **outcome.handles},
            progress={**before.progress, **outcome.progress},
            finished=before.finished | finishing,
            printed=outcome.printed,
            collected=outcome.collected,
            prepared=outcome.prepared,
            operators={
                key: dataclasses.asdict(report) for key, report in outcome.operators.items()
            },
            duration=round((time.perf_counter() - started) * 1000),
        )
        self._store.commit(record)
        self._publish(record.prepared)
        _drop_state(before, record)
        return record

    def _attempt(self, epoch: Epoch, run_epoch: RunEpoch) -> EpochOutcome:
        """Run an epoch, again if its tasks do not agree on what they read."""
        for attempt in range(_MOST_ATTEMPTS):
            try:
                return EpochOutcome.of(
                    self._program, run_epoch(dataclasses.replace(epoch, attempt=attempt))
                )
            except (InconsistentEpochError, LostBufferError):
                if attempt == _MOST_ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")


def _drop_state(before: EpochRecord, now: EpochRecord) -> None:
    """Delete the state files that the epoch before needed and this one does not."""
    needed = {handle.path for handles in now.handles.values() for handle in handles}
    for handles in before.handles.values():
        for handle in handles:
            if handle.path not in needed:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(handle.path)


def new_job_id() -> str:
    """Return a new job id: 32 hexadecimal digits, as Flink's."""
    return uuid.uuid4().hex
