"""Making sure that a checkpoint is what was written."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.checkpoint.delivered import check_delivered, check_eras, last_delivered
from penstock.checkpoint.epoch_record import EpochRecord, digest_of
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.handles import StateHandle, verify_state_file
from penstock.checkpoint.storage import Storage, open_storage
from penstock.errors import DamagedStateError, LostEpochError
from penstock.inspection.epochs import epochs_at, file_sizes


@dataclass(frozen=True)
class Verification:
    """What came of reading every file of a checkpoint.

    Attributes:
        location: Where the checkpoint is.
        problems: For each epoch that was looked at, what is wrong with it: nothing, if it is complete.
        files: How many state files were read.
        bytes: How many bytes they have.
        lost: The error with which a job is refused that starts there, if the metadata of its last epoch is gone.
    """

    location: str
    problems: dict[int, list[str]]
    files: int
    bytes: int
    lost: LostEpochError | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong with any epoch."""
        return not any(self.problems.values())

    @property
    def newest_complete(self) -> int | None:
        """The number of the last epoch that is complete; None if none is."""
        complete = [number for number, problems in self.problems.items() if not problems]
        return max(complete, default=None)


def verify_checkpoint(location: str, *, epoch: int | None = None) -> Verification:
    """Read every file of a checkpoint or savepoint, and compare lengths and checksums.

    The job may be running: epochs that it deletes meanwhile are left out. What sinks prepared is not looked at: it is theirs.

    Args:
        location: The folder or the URL of the checkpoint or savepoint.
        epoch: The number of the epoch; None for all that are kept.

    Returns:
        What was found.

    Raises:
        CheckpointNotFoundError: If there is none, or not of that epoch.

    Example:
        >>> verify_checkpoint("/no/such/folder")
        Traceback (most recent call last):
        penstock.errors.CheckpointNotFoundError: There is no checkpoint at /no/such/folder.
        ...
    """
    storage = open_storage(location)
    lost = _lost(storage) if epoch is None else None
    numbers = epochs_at(storage, epoch) if lost is None else StoredEpochs(storage).numbers()
    check = _Check(storage)
    problems = {}
    for number in numbers:
        found = check.epoch(number)
        # A job that runs deletes what it needs no more, metadata first.
        if not found or number in StoredEpochs(storage).numbers():
            problems[number] = found
    if lost is not None:
        problems[lost.epoch] = [lost.message]
    return Verification(storage.location, problems, len(check.read), sum(check.read.values()), lost)


def _lost(storage: Storage) -> LostEpochError | None:
    """Return the error that says that the metadata of the last epoch is gone; None if it is not known to be."""
    # Only then what is there: a job that runs goes on.
    delivered, epochs = last_delivered(storage), StoredEpochs(storage)
    try:
        check_eras(epochs, storage.location)
        numbers = epochs.numbers()
        check_delivered(delivered, epochs.get(numbers[-1]) if numbers else None, storage.location)
    except LostEpochError as error:
        return error
    except (DamagedStateError, OSError):
        # It is there, and its damage is told.
        return None
    return None


class _Check:
    """Reads each file once, however many epochs need it.

    Attributes:
        read: The names of the state files that were read, with the lengths they should have.
    """

    def __init__(self, storage: Storage) -> None:
        self.read: dict[str, int] = {}
        self._problems: dict[str, str] = {}
        self._storage = storage
        self._epochs = StoredEpochs(storage)

    def epoch(self, number: int) -> list[str]:
        """Return what is wrong with an epoch."""
        try:
            record = self._epochs.get(number)
        except (DamagedStateError, OSError) as error:
            return [str(getattr(error, "message", error))]
        if record is None:
            return [f"The metadata {self._url_of(number)} is gone."]
        for handle in record.every_handle():
            self._read(handle)
        files = (self._problems.get(name) for name in file_sizes(record))
        return [problem for problem in (self._chain(record), *files) if problem is not None]

    def _read(self, handle: StateHandle) -> None:
        if handle.name not in self.read:
            self.read[handle.name] = handle.length
            try:
                verify_state_file(self._storage, handle)
            except DamagedStateError as error:
                self._problems[handle.name] = error.message

    def _chain(self, record: EpochRecord) -> str | None:
        """Return what is wrong with the digest of the epoch before, if that is still kept."""
        try:
            known = self._epochs.get(record.number - 1)
            if known is None or known.lineage != record.lineage or not record.previous:
                return None
            before = self._storage.read(self._epochs.name_of(record.number - 1))
            digest = digest_of(before.partition(b"\n")[2])
        except (DamagedStateError, OSError):
            return None
        if digest == record.previous:
            return None
        return (
            f"The metadata {self._url_of(record.number)} does not follow "
            f"{self._url_of(record.number - 1)}: they are of two histories."
        )

    def _url_of(self, number: int) -> str:
        return self._storage.url(self._epochs.name_of(number))
