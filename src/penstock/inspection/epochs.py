"""Which epochs are kept at a location."""

from __future__ import annotations

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import Storage
from penstock.errors import CheckpointNotFoundError


def epochs_at(storage: Storage, epoch: int | None) -> list[int]:
    """Return the numbers of the epochs that are kept, or the one that is asked for.

    Raises:
        CheckpointNotFoundError: If there is none, or not of that epoch.
    """
    numbers = StoredEpochs(storage).numbers()
    if not numbers:
        raise CheckpointNotFoundError(
            f"There is no checkpoint at {storage.location}.",
            hint="Give the folder that execution.checkpointing.dir names, or that of a savepoint.",
        )
    if epoch is None:
        return numbers
    if epoch not in numbers:
        raise CheckpointNotFoundError(
            f"Epoch {epoch} is not at {storage.location}: the epochs that are kept are {numbers}.",
            hint="execution.checkpointing.num-retained sets how many are kept.",
        )
    return [epoch]


def read_record(storage: Storage, epoch: int | None) -> EpochRecord:
    """Return the metadata of an epoch; by default, that of the last one with state.

    Raises:
        CheckpointNotFoundError: If there is none, or not of that epoch.
        DamagedStateError: If it is not what was written.
    """
    epochs = StoredEpochs(storage)
    numbers = epochs_at(storage, epoch)
    record = epochs.get(numbers[-1])
    if record is not None and record.is_last and len(numbers) > 1:
        record = epochs.get(numbers[-2])
    if record is None:
        raise deleted(storage, numbers[-1])
    return record


def deleted(storage: Storage, epoch: int) -> CheckpointNotFoundError:
    """Return the error that says that the job went on meanwhile."""
    return CheckpointNotFoundError(
        f"Epoch {epoch} was deleted from {storage.location} while it was read.",
        hint="The job runs, and has newer ones. Read again, keep more of them by "
        "execution.checkpointing.num-retained, or read a savepoint.",
    )


def file_sizes(record: EpochRecord) -> dict[str, int]:
    """Return the names of the state files of an epoch, with their lengths in bytes."""
    return {handle.name: handle.length for handle in record.every_handle()}
