"""The place where one run of a job commits its epochs."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable
from typing import Final

from penstock.checkpoint.epoch_record import EpochRecord, digest_of_record
from penstock.checkpoint.epoch_store import EpochStore, MemoryEpochStore, StoredEpochs
from penstock.checkpoint.generations import Generation
from penstock.checkpoint.storage import LocalStorage, Storage, open_storage
from penstock.common import options
from penstock.common.configuration import Configuration
from penstock.errors import (
    CheckpointsOpenToOthersWarning,
    DamagedStateError,
    InvalidConfigurationValueError,
    PenstockError,
)
from penstock.runtime.private_folder import stranger_of
from penstock.runtime.user_code import stack_level_of_user

_PREPARED: Final = "prepared"
_PUBLISHED: Final = "published"
_STATE: Final = "state"


class Checkpoints:
    """The place where one run of a job commits its epochs.

    A job with a checkpoint location goes on from what is committed there, and is the only one to use it.
    Others commit in memory; what their tasks write goes to a temporary place, and with them.

    Args:
        configuration: The job's configuration.
        has_epochs: Whether the job has more than one epoch, so that another start can go on with it. One
            that goes on from epochs is of these, whatever is left of it.
        has_files: Whether tasks write anything beside state.

    Attributes:
        location: Where tasks write; None if they need not.
        generation: The number of this driver among those that ran the job, from 1.
        digest: That of the last metadata that was committed.
        is_fork: Whether this run began from a savepoint, or went back to an earlier epoch.
        ignores_unclaimed: Whether state of operators that are gone is dropped.

    Raises:
        LocationInUseError: If another driver runs the job.
    """

    def __init__(
        self, configuration: Configuration, *, has_epochs: bool, has_files: bool = False
    ) -> None:
        place = configuration.get(options.CHECKPOINT_DIR)
        has_epochs = has_epochs or _goes_on(configuration)
        self.is_durable = has_epochs and bool(place)
        self.digest = ""
        self.generation = 1
        self.is_fork = False
        self.ignores_unclaimed = configuration.get(options.IGNORE_UNCLAIMED_STATE)
        self._interval = configuration.get(options.CHECKPOINT_INTERVAL)
        self._retained = configuration.get(options.CHECKPOINTS_RETAINED)
        self._restore_epoch = configuration.get(options.RESTORE_EPOCH)
        self._savepoint_path = configuration.get(options.SAVEPOINT_PATH)
        self._files: dict[int, set[str]] = {}
        self._is_swept = False
        self._published = ""
        self._clean_up: Callable[[], None] = lambda: None
        self._claim: Generation | None = None
        self.location: str | None = None
        self._store: EpochStore = MemoryEpochStore()
        if self.is_durable:
            assert place is not None
            self.location = place
        elif has_epochs or has_files:
            self.location = self._temporary(place)
        if self.location is not None:
            self.storage = open_storage(self.location)
            self.location = self.storage.location
        if self.is_durable:
            _warn_of_others(self.storage)
            self._claim = Generation(self.storage)
            self.generation = self._claim.number
            self._store = StoredEpochs(self.storage)

    def _temporary(self, place: str | None) -> str:
        if not place:
            folder = tempfile.mkdtemp(prefix="penstock-")
            self._clean_up = lambda: shutil.rmtree(folder, ignore_errors=True)
            return folder
        # Workers on other machines reach this place, and perhaps no other.
        location = f"{place.rstrip('/')}/bounded/{uuid.uuid4().hex}"
        self._clean_up = lambda: _remove(open_storage(location))
        return location

    def last(self) -> EpochRecord | None:
        """Return the epoch to go on from; None if there is none.

        Raises:
            DamagedStateError: If its metadata is not what was written.
            InvalidConfigurationValueError: If the epoch that the configuration names is not there.
        """
        self._go_back()
        numbers = self._store.numbers()
        if not numbers and self._savepoint_path:
            self._begin_from(self._savepoint_path)
            numbers = self._store.numbers()
        last = self._store.get(numbers[-1]) if numbers else None
        # What Spark remembers may go beyond a fork until the first epoch after it is committed.
        self.is_fork = last is not None and last.is_fork
        self.digest = "" if last is None else digest_of_record(last)
        for number in numbers[: -self._retained]:
            self._store.forget(number)
        self._files = {}
        for number in numbers[-self._retained : -1]:
            self._files[number] = self._files_of(number)
        if last is not None:
            self._files[last.number] = last.files()
        self._is_swept = False
        return last

    def _files_of(self, number: int) -> set[str]:
        """Return the state files of an earlier epoch: none if it is damaged, so that none can go back to it."""
        try:
            record = self._store.get(number)
        except DamagedStateError:
            return set()
        return set() if record is None else record.files()

    def _go_back(self) -> None:
        """Give up what was committed after the epoch that the configuration names."""
        wanted, self._restore_epoch = self._restore_epoch, None
        if wanted is None:
            return
        numbers = self._store.numbers()
        if numbers and wanted == numbers[-1]:
            return
        record = self._store.get(wanted) if wanted in numbers else None
        if record is None:
            raise InvalidConfigurationValueError(
                f"The job at {self.location} cannot go on from epoch {wanted}: the epochs that are kept "
                f"are {numbers}.",
                hint="`penstock checkpoint list` shows them.",
            )
        if wanted < numbers[-1]:
            # No epoch is run before the outputs of the one before are published.
            record = dataclasses.replace(record, prepared=[])
        self._store.replace(_forked(record))
        for number in reversed([number for number in numbers if number > wanted]):
            self._store.forget(number)

    def _begin_from(self, path: str) -> None:
        """Take up a savepoint, or what another job has committed, as this job's own."""
        from penstock.checkpoint.savepoint import copy_into

        savepoint = open_storage(path)
        _warn_of_others(savepoint)
        record = copy_into(savepoint, self.storage)
        self._store.commit(_forked(record))

    def _sweep(self, number: int) -> None:
        """Delete what epochs left behind that were never committed, once this run has committed one.

        Before that, a driver that was given up might still commit what is deleted here.
        """
        self._is_swept = True
        needed = set().union(*self._files.values())
        files = self.storage.names(_STATE)
        self.storage.delete(name for name in files if name not in needed)
        self._sweep_prepared(number)
        if isinstance(self.storage, LocalStorage):
            self.storage.delete_drafts()

    def _sweep_prepared(self, number: int) -> None:
        """Delete what was prepared in epochs before this one."""
        self.storage.delete(
            name
            for name in self.storage.names(_PREPARED)
            if int(name.split("/")[1].partition("-")[0]) < number
        )

    def may_fold(self, last: EpochRecord | None) -> bool:
        """Whether changelogs may be folded into snapshots in the epoch after `last`."""
        if last is None or self._interval is None:
            return True
        elapsed = time.time_ns() // 1_000_000 - last.folded_at
        # A clock that was set back would keep changelogs from being folded until it has caught up.
        return not 0 <= elapsed < self._interval.to_millis()

    def commit(self, record: EpochRecord) -> None:
        """Commit an epoch.

        Raises:
            EpochTakenError: If another driver committed it before.
            LocationInUseError: If another driver has taken the job over.
        """
        if self._claim is not None:
            self._claim.check()
        self.digest = self._store.commit(record)

    def collect(self, record: EpochRecord) -> None:
        """Delete what nobody needs any more once an epoch is committed and published."""
        if self.location is None:
            return
        self._files[record.number] = record.files()
        dropped: set[str] = set()
        for number in sorted(self._files)[: -self._retained]:
            dropped |= self._files.pop(number)
            self._store.forget(number)
        if not self._is_swept:
            self._sweep(record.number)
            return
        needed = set().union(*self._files.values())
        self.storage.delete(dropped - needed)
        if record.prepared:
            self._sweep_prepared(record.number)

    def note_published(self) -> None:
        """Note that what the last epoch prepared was delivered."""
        self._published = self.digest if self.is_durable else ""

    def is_published(self, record: EpochRecord) -> bool:
        """Whether what the last epoch prepared is known to be delivered: else it may be, or not."""
        if not self.is_durable:
            return False
        if _content(self.storage, _PUBLISHED) == self.digest.encode():
            return True
        # Spark notes that a micro-batch is done once its epoch is delivered.
        engine = record.engine
        if "folder" not in engine or not engine.get("is_planned", True):
            return False
        batch = record.number - engine.get("shift", 0)
        return _content(self.storage, f"{engine['folder']}/commits/{batch}") is not None

    def close(self) -> None:
        """Let go of the place."""
        if self._published:
            # Without it the next start has to have the same sinks, which does no other harm.
            with contextlib.suppress(PenstockError, OSError):
                self.storage.write(_PUBLISHED, [self._published.encode()])
            self._published = ""
        if self._claim is not None:
            self._claim.release()
        self._clean_up()


def _warn_of_others(storage: Storage) -> None:
    """Say so where others can put in a folder what the job takes for its own state."""
    other = stranger_of(storage.location) if isinstance(storage, LocalStorage) else None
    if other is not None:
        warnings.warn(
            CheckpointsOpenToOthersWarning(
                f"The checkpoints at {storage.location} can be replaced by {other}. A job unpickles what it "
                "restores, so whoever can do that can run code as you.\n\nHint: Keep checkpoints and savepoints "
                "in a folder that is yours and that only the driver and the workers can write: chmod o-w, or "
                "another place."
            ),
            stacklevel=stack_level_of_user(),
        )


def _goes_on(configuration: Configuration) -> bool:
    """Whether there is something that a job is to go on from."""
    place = configuration.get(options.CHECKPOINT_DIR)
    if configuration.get(options.SAVEPOINT_PATH):
        return True
    return bool(place and StoredEpochs(open_storage(place)).numbers())


def _forked(record: EpochRecord) -> EpochRecord:
    origin = record.origin or record.lineage
    return dataclasses.replace(record, lineage=uuid.uuid4().hex, is_fork=True, origin=origin)


def _content(storage: Storage, name: str) -> bytes | None:
    try:
        return storage.read(name)
    except FileNotFoundError:
        return None


def _remove(storage: Storage) -> None:
    if isinstance(storage, LocalStorage):
        shutil.rmtree(storage.location, ignore_errors=True)
    else:
        storage.delete(storage.names())
