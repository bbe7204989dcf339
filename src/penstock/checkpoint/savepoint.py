"""Savepoints: copies of an epoch that stand alone, in a place of their own, and can be moved."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from typing import Any, Final

from penstock.checkpoint.delivered import is_delivered
from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.epoch_store import ERAS, StoredEpochs
from penstock.checkpoint.epoch_store import FOLDER as EPOCHS
from penstock.checkpoint.generations import CLAIMS
from penstock.checkpoint.handles import StateHandle, copy_state_file
from penstock.checkpoint.leftovers import (
    NOTES,
    PIECES,
    PREPARED,
    STATE,
    engine_folder,
    file_name,
    origin_of,
)
from penstock.checkpoint.open_files import OpenFiles, copy_open_file, nothing_open
from penstock.checkpoint.storage import LocalStorage, Storage
from penstock.errors import (
    CheckpointNotReadableError,
    CheckpointNotWritableError,
    ObjectStoreError,
    SavepointError,
)

_LOGS: Final = ("offsets", "commits")
_PROBE: Final = "probe"
_LOGS_KEPT: Final = 10
"""Of how many epochs Spark's offsets and commits are copied; to go on it reads the last two."""


def write_savepoint(
    source: Storage, record: EpochRecord, target: Storage, open_files: OpenFiles = nothing_open
) -> None:
    """Copy all that an epoch's state is made of to a place of its own.

    The metadata is written last: a folder without it is no savepoint. All names in it are relative, so
    the folder can be moved. What sinks prepared is not copied: it has been published.

    Args:
        source: The job's storage.
        record: The epoch, whose outputs are published. None may be running.
        target: The place; it must be empty.
        open_files: Finds what sinks have written outside that the epoch goes on with.

    Raises:
        SavepointError: If the place is not empty, or cannot be written.
        DamagedStateError: If a state file is not what was written.
    """
    check_place(target, source)
    with _writing(target):
        record = copied(source, record, open_files, target, record.generation)
        if "folder" in record.engine:
            _copy_engine(source, record, target, record.engine["folder"])
        StoredEpochs(target).commit(dataclasses.replace(record, previous="", prepared=[]))


def check_place(target: Storage, source: Storage) -> None:
    """Make sure that a savepoint can be written to a place.

    Args:
        target: The place.
        source: The job's storage.

    Raises:
        SavepointError: If the place is not empty, cannot be written, or is where the job deletes what it does
            not need.
    """
    if f"{target.location}/".startswith(_own_folders(source)):
        raise SavepointError(
            f"No savepoint can be written to {target.location}: the job keeps its own files there, and deletes "
            "what it does not need.",
            hint="Give a place outside of the checkpoint location.",
        )
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


def _own_folders(source: Storage) -> tuple[str, ...]:
    return tuple(f"{source.location}/{name}/" for name in (STATE, PREPARED, PIECES, EPOCHS, ERAS))


@contextlib.contextmanager
def _writing(target: Storage) -> Iterator[None]:
    """Say of a place that cannot be written that it is that of a savepoint."""
    try:
        yield
    except (CheckpointNotReadableError, CheckpointNotWritableError, ObjectStoreError) as error:
        reason = error.__cause__ if isinstance(error.__cause__, OSError) else error.message
        raise SavepointError(
            f"No savepoint can be written to {target.location}: {reason}",
            hint="Give a place that the driver can write, with room for all state.",
        ) from error


def read_savepoint(storage: Storage) -> EpochRecord:
    """Return the epoch of a savepoint; of a job's own checkpoint location, the last one.

    Raises:
        SavepointError: If there is none, or it was not written to its end.
        DamagedStateError: If its metadata is not what was written.
    """
    epochs = StoredEpochs(storage)
    looked_for = None
    while (numbers := epochs.numbers()) and numbers[-1] != looked_for:
        looked_for = numbers[-1]
        record = epochs.get(looked_for)
        if record is not None:
            return record
        # A job that runs there has committed a later one just now.
    raise SavepointError(
        f"There is no complete savepoint at {storage.location}.",
        hint="Give what `savepoint` or `stop_with_savepoint` returned, or a job's checkpoint location. "
        "A savepoint whose writing was interrupted cannot be used.",
    )


def dispose_savepoint(storage: Storage) -> None:
    """Delete a savepoint: what is needed to read it first, so that nobody takes the rest for one.

    Raises:
        SavepointError: If there is none, or it is the checkpoint location of a job.
        DamagedStateError: If its metadata is not what was written.
    """
    record = read_savepoint(storage)
    if storage.names(CLAIMS) or storage.names(ERAS):
        raise SavepointError(
            f"{storage.location} is not deleted: it is the checkpoint location of a job, and no savepoint.",
            hint="Give what `savepoint` or `stop_with_savepoint` returned.",
        )
    own = {EPOCHS, STATE, PIECES, record.engine.get("folder")}
    storage.delete(storage.names(EPOCHS))
    for folder in storage.folders(""):
        if folder in own:
            storage.delete_folder(folder)
    if isinstance(storage, LocalStorage):
        with contextlib.suppress(OSError):  # others have put something there
            os.rmdir(storage.location)


def copy_into(
    savepoint: Storage,
    target: Storage,
    open_files: OpenFiles = nothing_open,
    generation: int = 1,
) -> EpochRecord:
    """Copy the files of a savepoint to the storage of a job that is to start from it.

    The job's storage is still without metadata afterwards: whoever commits the record that is returned
    makes it the job's.

    Args:
        savepoint: The savepoint, or another job's checkpoint location.
        target: The job's storage.
        open_files: Finds what another job's sinks have written outside that the epoch goes on with.
        generation: The generation of the job's driver.

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
    found = copied(savepoint, record, open_files, target, generation)
    if "folder" in record.engine:
        folder = engine_folder(generation)
        _copy_engine(savepoint, record, target, folder)
        found = dataclasses.replace(found, engine={**record.engine, "folder": folder})
    if record.prepared and is_delivered(savepoint, record):
        return dataclasses.replace(found, prepared=[])
    if record.prepared:
        # A job that runs there may prepare other epochs meanwhile.
        names = savepoint.names(PREPARED)
        _copy(savepoint, [name for name in names if origin_of(name).epoch == record.number], target)
        # Sinks that may have delivered it know by these how to find out.
        _copy(savepoint, savepoint.names(NOTES), target)
    return found


def copied(
    source: Storage,
    record: EpochRecord,
    open_files: OpenFiles,
    target: Storage,
    generation: int,
) -> EpochRecord:
    """Copy the files that an epoch's state is made of, and return the epoch as it is made of the copies.

    Args:
        source: Where its state files are.
        record: The epoch.
        open_files: Finds what sinks have written outside that the epoch goes on with.
        target: Where to copy them; it may be the same.
        generation: The generation of the driver that does so, for the names of the copies.

    Raises:
        DamagedStateError: If a file is not what was written.
    """
    names: dict[str, str] = {}
    pieces = set(record.pieces.values())
    for handle in sorted(set(record.every_handle()) - pieces):
        if handle.name not in names:
            names[handle.name] = _new_name(handle.name, generation)
            copy_state_file(source, handle, target, names[handle.name])
    handles = {
        owner: tuple(handle._replace(name=names[handle.name]) for handle in found)
        for owner, found in record.handles.items()
    }
    progress = {
        owner: {**plain, "stored": _renamed(plain.get("stored", {}), names)}
        for owner, plain in record.progress.items()
    }
    copies = {}
    for known, handle in record.pieces.items():
        name = file_name(PIECES, record.number, generation)
        copy_state_file(source, handle, target, name)
        copies[known] = handle._replace(name=name)
    if not record.is_fork:
        for known, file in open_files(record).items():
            name = file_name(PIECES, record.number, generation)
            copies[known] = copy_open_file(file, target, name)
    return dataclasses.replace(record, handles=handles, progress=progress, pieces=copies)


def _renamed(stored: dict[str, list[Any]], names: dict[str, str]) -> dict[str, Any]:
    """Return snapshots in files with the names of the copies."""
    handles = {key: StateHandle._make(plain) for key, plain in stored.items()}
    return {key: list(handle._replace(name=names[handle.name])) for key, handle in handles.items()}


def _new_name(name: str, generation: int) -> str:
    folder = name.rpartition("/")[0]
    return file_name(folder, origin_of(name).epoch, generation)


def _copy_engine(source: Storage, record: EpochRecord, target: Storage, folder: str) -> None:
    """Copy what Spark has to know of an epoch into a folder."""
    old = record.engine["folder"]
    for name in source.names(old):
        if _is_until(name, record):
            target.write(f"{folder}{name.removeprefix(old)}", source.chunks(name))


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
