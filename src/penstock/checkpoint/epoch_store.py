"""What is known of a job's epochs: one record per epoch, committed whole or not at all."""

from __future__ import annotations

import contextlib
import os
import pickle
import uuid
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.checkpoint.handles import StateHandle


@dataclass(frozen=True)
class EpochRecord:
    """What is known of an epoch that is complete.

    Attributes:
        number: The number of the epoch.
        handles: The state handles after it, by vertex and subtask.
        progress: How far each subtask has come, by vertex and subtask.
        finished: The sources that have ended, by their number.
        printed: The lines that `print` gave.
        collected: The results that the client collects, as pairs of an id and values.
        prepared: The files that sinks prepared, as pairs of the sink's id and a path.
        operators: What each operator did in it, by its id.
        duration: How long it took, in milliseconds.
    """

    number: int
    handles: dict[tuple[int, int], tuple[StateHandle, ...]] = field(default_factory=dict)
    progress: dict[tuple[int, int], Any] = field(default_factory=dict)
    finished: frozenset[int] = frozenset()
    printed: list[str] = field(default_factory=list)
    collected: list[tuple[str, list[Any]]] = field(default_factory=list)
    prepared: list[tuple[str, str]] = field(default_factory=list)
    operators: dict[str, Any] = field(default_factory=dict)
    duration: int = 0

    def next_wake_up(self) -> int | None:
        """Return when an epoch is due even without records (milliseconds); None for never."""
        times = (progress.next_wake_up for progress in self.progress.values())
        return min((time for time in times if time is not None), default=None)


class EpochStore(Protocol):
    """Where the records of epochs are kept. To put a record in is to commit its epoch."""

    def get(self, number: int) -> EpochRecord | None:
        """Return the record of an epoch, or None if it was not committed."""

    def commit(self, record: EpochRecord) -> None:
        """Commit an epoch."""

    def forget(self, number: int) -> None:
        """Drop the record of an epoch that nobody needs any more."""


class MemoryEpochStore:
    """Keeps records in this process: for jobs whose driver and client are one process."""

    def __init__(self) -> None:
        self._records: dict[int, EpochRecord] = {}

    def get(self, number: int) -> EpochRecord | None:
        """Return the record of an epoch, or None if it was not committed."""
        return self._records.get(number)

    def commit(self, record: EpochRecord) -> None:
        """Commit an epoch.

        Raises:
            FileExistsError: If it was committed before.
        """
        if record.number in self._records:
            raise FileExistsError(f"Epoch {record.number} was committed before.")
        self._records[record.number] = record

    def forget(self, number: int) -> None:
        """Drop the record of an epoch that nobody needs any more."""
        self._records.pop(number, None)


class FolderEpochStore:
    """Keeps records in a folder, one file each, where a client in another process finds them.

    A record appears whole or not at all, and none replaces another.
    """

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "epochs")

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"{number:08d}")

    def get(self, number: int) -> EpochRecord | None:
        """Return the record of an epoch, or None if it was not committed."""
        try:
            with open(self._path(number), "rb") as file:
                return pickle.load(file)  # type: ignore[no-any-return]
        except FileNotFoundError:
            return None

    def commit(self, record: EpochRecord) -> None:
        """Commit an epoch.

        Raises:
            FileExistsError: If it was committed before.
        """
        os.makedirs(self._folder, exist_ok=True)
        draft = os.path.join(self._folder, f".{uuid.uuid4().hex}")
        with open(draft, "xb") as file:
            pickle.dump(record, file, pickle.HIGHEST_PROTOCOL)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, self._path(record.number))
        finally:
            os.unlink(draft)

    def forget(self, number: int) -> None:
        """Drop the record of an epoch that nobody needs any more."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(number))
