"""Savepoints: copies of an epoch that stand alone, in a place of their own, and can be moved."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Final

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.handles import verify_state_file
from penstock.checkpoint.storage import Storage
from penstock.errors import CheckpointNotWritableError, ObjectStoreError, SavepointError

_LOGS: Final = ("offsets", "commits")
_PROBE: Final = "probe"
_LOGS_KEPT: Final = 10
"""Of how many epochs Spark's offsets and commits are copied; to go on it reads the last two."""


def write_savepoint(source: Storage, record: EpochRecord, target: Storage) -> None:
    """Copy all that an epoch's state is made of to a place of its own.

    The metadata is written last: a folder without it is no savepoint. All names in it are relative, so
    the folder can be moved. What sinks prepared is not copied: it has been published.

    Args:
        source: The job's storage.
        record: The epoch, whose outputs are published. None may be running.
        target: The place; it must be empty.

    Raises:
        SavepointError: If the place is not empty, or cannot be written.
        DamagedStateError: If a state file is not what was written.
    """
    check_place(target)
    with _writing(target):
        _copy_files(source, record, target)
        StoredEpochs(target).commit(dataclasses.replace(record, previous="", prepared=[]))


def check_place(target: Storage) -> None:
    """Make sure that a savepoint can be written to a place.

    Raises:
        SavepointError: If the place is not empty, or cannot be written.
    """
    with _writing(target):
        is_empty = not target.names()
        if is_empty:
            target.write(_PROBE, [b""])
            target.delete([_PROBE])
    if not is_empty:
        raise SavepointError(
            f"No savepoint can be written to {target.location}: there is something already.",
            hint="Give a place where there is nothing yet.",
        )


@contextlib.contextmanager
def _writing(target: Storage) -> Iterator[None]:
    """Say of a place that cannot be written that it is that of a savepoint."""
    try:
        yield
    except (CheckpointNotWritableError, ObjectStoreError) as error:
        raise SavepointError(
            f"No savepoint can be written to {target.location}: {error.message}",
            hint="Give a place that the driver can write, with room for all state.",
        ) from error


def read_savepoint(storage: Storage) -> EpochRecord:
    """Return the epoch of a savepoint; of a job's own checkpoint location, the last one.

    Raises:
        SavepointError: If there is none, or it was not written to its end.
        DamagedStateError: If its metadata is not what was written.
    """
    epochs = StoredEpochs(storage)
    numbers = epochs.numbers()
    record = epochs.get(numbers[-1]) if numbers else None
    if record is None:
        raise SavepointError(
            f"There is no complete savepoint at {storage.location}.",
            hint="Give what `savepoint` or `stop_with_savepoint` returned, or a job's checkpoint location. "
            "A savepoint whose writing was interrupted cannot be used.",
        )
    return record


def copy_into(savepoint: Storage, target: Storage) -> EpochRecord:
    """Copy the files of a savepoint to the storage of a job that is to start from it.

    The job's storage is still without metadata afterwards: whoever commits the record that is returned
    makes it the job's.

    Args:
        savepoint: The savepoint, or another job's checkpoint location.
        target: The job's storage.

    Returns:
        The epoch.

    Raises:
        SavepointError: If there is no savepoint, it was not written to its end, or its job has ended.
        DamagedStateError: If a file of it is not what was written.
    """
    record = read_savepoint(savepoint)
    if record.is_last:
        raise SavepointError(
            f"The job at {savepoint.location} has ended, and keeps nothing that another could start from.",
            hint="Start from a savepoint that was taken while it ran.",
        )
    _copy_files(savepoint, record, target)
    if record.prepared:
        _copy(savepoint, savepoint.names("prepared"), target)
    return record


def _copy_files(source: Storage, record: EpochRecord, target: Storage) -> None:
    handles = {handle for found in record.handles.values() for handle in found}
    for handle in sorted(handles):
        verify_state_file(source, handle)
        _copy(source, [handle.name], target)
    folder = record.engine.get("folder")
    if folder is not None:
        _copy(source, [name for name in source.names(folder) if _is_until(name, record)], target)


def _is_until(name: str, record: EpochRecord) -> bool:
    """Whether a file of Spark's belongs to the epoch or to what came before."""
    _, log, entry = f"/{name}".rsplit("/", 2)
    if log not in _LOGS or not entry.isdecimal():
        return True
    # The epochs that were no micro-batches of Spark's shift the numbers of those that were.
    last: int = record.number - record.engine.get("shift", 0)
    return last - _LOGS_KEPT < int(entry) <= last


def _copy(source: Storage, names: list[str], target: Storage) -> None:
    for name in names:
        target.write(name, source.chunks(name))
