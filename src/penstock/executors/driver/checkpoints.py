"""The place where one run of a job commits its epochs, and what is deleted there.

Drivers run one after the other, but without locks one that was superseded may still live, stop anywhere, and
go on at any time. What it then does must harm nobody.

An epoch is committed by creating its record under its number, between two looks at who is the newest driver. The
first keeps a driver that was superseded from trying. The second keeps it from taking part: its number may have
been committed and forgotten long ago, so what it committed may be nothing. Only a driver that was still the newest
after its commit publishes, and deletes. Then every later epoch, whoever commits it, goes on from that one. It
deletes:

- The records of epochs that are older than those to be kept, and then the state files that only they need: what
  an epoch does not need, no later one does.
- What no epoch that is kept needs, of files whose names have its own generation or an earlier one. No earlier
  driver commits any more, so what such a driver wrote is needed by a committed epoch or by none. Later drivers
  write files of later generations.
- In a restart, what its own attempts have left of epochs after the last one, unless it cannot tell whether one of
  them was committed.

A restart reads the last epoch, and then looks once more who is the newest driver: only then what it has read, or not
found, holds.

Before its first commit a driver knows that no earlier one commits any more as it has begun an era: with one file
it says which records count. What an earlier driver was about to commit, when it was stopped between its first
look and its commit, may appear even after that, and does not count: that driver has published nothing of it, as
its second look shows it the newer one. If the newer one is itself superseded by then, its file may come late: the
file of the newest driver holds, which lists what that driver has seen. So starts that are killed one after the
other, none of which commits, leave no more than the last of them.

Going back to an earlier epoch is the exception: another driver may be about to drop it. So whoever goes back
copies the files first, under names of its own generation, and then commits the epoch anew in its era: if a
file was gone by then, nothing is committed, and nothing is lost.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from penstock.checkpoint.delivered import (
    PUBLISHED,
    check_delivered,
    check_eras,
    is_delivered,
    last_delivered,
)
from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.epoch_store import EpochStore, MemoryEpochStore, StoredEpochs
from penstock.checkpoint.generations import CLAIMS, Generation
from penstock.checkpoint.leftovers import Leftovers, engine_folder, is_engine_folder_of
from penstock.checkpoint.open_files import OpenFiles, nothing_open
from penstock.checkpoint.savepoint import copied, copy_into
from penstock.checkpoint.storage import LocalStorage, Storage, open_storage
from penstock.common.configuration import options
from penstock.common.configuration.configuration import Configuration
from penstock.errors import (
    CheckpointsOpenToOthersWarning,
    DamagedStateError,
    InvalidConfigurationValueError,
    LostEpochError,
    OtherJobError,
    PenstockError,
)
from penstock.runtime.private_folder import stranger_of
from penstock.runtime.sinks import Uncommitted
from penstock.runtime.user_code import stack_level_of_user

Drop = Callable[[Uncommitted], None]
"""Drops what sinks have written outside the job's storage that no epoch goes on with."""

_LINEAGE: Final = "lineage"
_ONCE: Final = "once-"


class Checkpoints:
    """The place where one run of a job commits its epochs.

    A job with a checkpoint location goes on from what is committed there, and is the only one to use it.
    Others commit in memory; what their tasks write goes to a temporary place, and with them.

    Args:
        configuration: The job's configuration.
        has_epochs: Whether the job has more than one epoch, so that another start can go on with it. One
            that goes on from epochs is of these, whatever is left of it.
        has_files: Whether tasks write anything beside state.
        open_files: Finds what sinks have written outside that an epoch goes on with.
        drop: Drops what sinks have written outside that no epoch goes on with.

    Attributes:
        location: Where tasks write; None if they need not.
        generation: The number of this driver among those that ran the job, from 1.
        digest: That of the last metadata that was committed.
        open_files: Finds what sinks have written outside that an epoch goes on with.
        lineage: Names the history that a job begins here if nothing is committed.
        is_fork: Whether this run began from a savepoint, or went back to an earlier epoch.
        ignores_unclaimed: Whether state of operators that are gone is dropped.
        renamed_from: The name that the job had before; None if it has always had the one it has.

    Raises:
        OtherJobError: If the location is that of a query of Spark's.
        LocationInUseError: If another driver runs the job.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        has_epochs: bool,
        has_files: bool = False,
        open_files: OpenFiles = nothing_open,
        drop: Drop = lambda _: None,
    ) -> None:
        place = configuration.get(options.CHECKPOINT_DIR)
        has_epochs = has_epochs or _goes_on(configuration)
        self.is_durable = has_epochs and bool(place)
        self.digest = ""
        self.generation = 1
        self.is_fork = False
        self.lineage = self._new_lineage()
        self.ignores_unclaimed = configuration.get(options.IGNORE_UNCLAIMED_STATE)
        self._interval = configuration.get(options.CHECKPOINT_INTERVAL)
        self._retained = configuration.get(options.CHECKPOINTS_RETAINED)
        self.renamed_from = configuration.get(options.RENAMED_FROM)
        self._restore_epoch = configuration.get(options.RESTORE_EPOCH)
        self._savepoint_path = configuration.get(options.SAVEPOINT_PATH)
        self.open_files = open_files
        self._drop = drop
        self._kept: dict[int, EpochRecord] = {}
        self._is_swept = self._has_run = self._is_in_doubt = False
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
            _check_no_query(self.storage)
            self._claim = Generation(self.storage)
            self.generation = self._claim.number
            self._store = StoredEpochs(self.storage)
        if self.location is not None:
            self._leftovers = Leftovers(self.storage, self.generation)

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
        if self.is_durable:
            self._leftovers.note_drafts()
        self._go_back()
        try:
            self._take_over()
            last = self._read_kept()
            self._check_published(last)
            self._delete_leftovers(last)
            if last is None and self._savepoint_path:
                self._begin_from(self._savepoint_path)
                last = self._read_kept()
        except LostEpochError:
            # A driver that was superseded meanwhile may see what the newer one has done.
            self._check_is_newest()
            raise
        return last

    def _read_kept(self) -> EpochRecord | None:
        """Take note of the epochs that the job can be set back to, and return the last one.

        Raises:
            LostEpochError: If it is gone when it is to be read.
            LocationInUseError: If another driver has taken the job over.
        """
        numbers = self._store.numbers()
        last, self.digest = self._read_last(numbers) if numbers else (None, "")
        # Of a commit whose answer was lost it is seen only now that it is there. And a newer driver may have begun
        # an era without it, or may have put in and deleted epochs while they were listed.
        self._check_is_newest()
        # What Spark remembers may go beyond a fork until the first epoch after it is committed.
        self.is_fork = last is not None and last.is_fork
        for number in numbers[: -self._retained]:
            self._store.forget(number)
        earlier = map(self._intact, numbers[-self._retained : -1])
        kept = [record for record in (*earlier, last) if record is not None]
        self._kept = {record.number: record for record in kept}
        self._is_swept = False
        if last is not None:
            self.lineage = last.lineage
        elif self.is_durable:
            self.lineage = self._noted_lineage()
        return last

    def _read_last(self, numbers: Sequence[int]) -> tuple[EpochRecord, str]:
        """Return the last of these epochs, and the digest of its metadata."""
        with contextlib.suppress(FileNotFoundError):
            last = self._store.get(numbers[-1])
            if last is not None:
                return last, self._store.digest(last.number)
        # To begin as if nothing had been committed would delete what a newer driver goes on from.
        before = max(numbers[:-1], default=-1)
        raise LostEpochError.after(before, numbers[-1], str(self.location), "its name has shown")

    def _check_published(self, last: EpochRecord | None) -> None:
        """Make sure that nothing was delivered of an epoch whose metadata is gone."""
        if self.is_durable:
            check_delivered(last_delivered(self.storage), last, str(self.location))

    def _take_over(self) -> None:
        """Let nothing count any more that earlier drivers commit.

        Raises:
            LostEpochError: If an epoch is gone that an earlier driver found.
        """
        if isinstance(self._store, StoredEpochs):
            check_eras(self._store, str(self.location))
        if self.generation > 1:
            with self._as_the_newest():
                self._store.take_over(self.generation)

    def _new_lineage(self) -> str:
        """Return a name for a history; those of jobs that nobody starts again can be told by it."""
        return f"{'' if self.is_durable else _ONCE}{uuid.uuid4().hex}"

    def _noted_lineage(self) -> str:
        """Return the lineage of all starts before the first commit, so that the later find what others left."""
        with contextlib.suppress(FileExistsError):
            self.storage.create(_LINEAGE, self.lineage.encode())
        return self.storage.read(_LINEAGE).decode()

    def _delete_leftovers(self, last: EpochRecord | None) -> None:
        """Delete what was written and never committed, by earlier drivers, or by this one's own attempts."""
        number = -1 if last is None else last.number
        if self.is_durable and not self._has_run and self.generation > 1:
            self._leftovers.delete_all(self._needed(), self._engine_folders())
        # Before a savepoint is committed no attempt is made, and a newer driver copies one under names as they are there.
        is_untried = last is None and bool(self._savepoint_path)
        if self.is_durable and not self._is_in_doubt and not is_untried:
            self._leftovers.delete_attempts(number, self._needed())
            self._drop(Uncommitted(self.lineage, number, self.generation))
        self._has_run = True

    def _engine_folders(self) -> set[str]:
        return set().union(*map(_engine_folder, self._kept.values()))

    def _needed(self) -> set[str]:
        return {name for record in self._kept.values() for name in record.files()}

    def _intact(self, number: int) -> EpochRecord | None:
        """Return an earlier epoch; None if it is damaged, so that none can go back to it."""
        try:
            return self._store.get(number)
        except DamagedStateError:
            return None

    @property
    def kept(self) -> tuple[EpochRecord, ...]:
        """The epochs that the job can be set back to, oldest first, the last one included."""
        records = [self._kept[number] for number in sorted(self._kept)]
        return tuple(records if self.is_durable else records[-1:])

    def _go_back(self) -> None:
        """Give up what was committed after the epoch that the configuration names."""
        wanted = self._restore_epoch
        if wanted is None:
            return
        numbers = self._store.numbers()
        if numbers and wanted == numbers[-1]:
            self._restore_epoch = None
            return
        record = self._store.get(wanted) if wanted in numbers else None
        if record is None:
            raise InvalidConfigurationValueError(
                f"The job at {self.location} cannot go on from epoch {wanted}: the epochs that are kept "
                f"are {numbers}.",
                hint="`penstock checkpoint list` shows them.",
            )
        record = copied(self.storage, record, self.open_files, self.storage, self.generation)
        # No epoch is run before the outputs of the one before are published.
        record = dataclasses.replace(record, prepared=[])
        assert isinstance(self._store, StoredEpochs)
        with self._as_the_newest():
            self._store.begin_era(self._forked(record))
        self._restore_epoch = None

    def _begin_from(self, path: str) -> None:
        """Take up a savepoint, or what another job has committed, as this job's own."""
        savepoint = open_storage(path)
        _warn_of_others(savepoint)
        record = copy_into(savepoint, self.storage, self.open_files, self.generation)
        self._is_in_doubt = True
        with self._as_the_newest():
            self._store.commit(self._forked(record))
        self._is_in_doubt = False

    def _forked(self, record: EpochRecord) -> EpochRecord:
        return dataclasses.replace(
            record,
            lineage=self._new_lineage(),
            is_fork=True,
            origin=record.origin or record.lineage,
            generation=self.generation,
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
            LocationInUseError: If another driver has taken the job over, before the commit or meanwhile.
        """
        self._is_in_doubt = True
        with self._as_the_newest():
            self.digest = self._store.commit(record)
        self._is_in_doubt = False
        self._kept[record.number] = record

    @contextlib.contextmanager
    def _as_the_newest(self) -> Iterator[None]:
        """Make sure, before a commit and after it, that no newer driver has taken the job over."""
        self._check_is_newest()
        yield
        self._check_is_newest()

    def _check_is_newest(self) -> None:
        if self._claim is not None:
            self._claim.check()

    def collect(self, record: EpochRecord) -> None:
        """Delete what nobody needs any more once an epoch is committed and published."""
        if self.location is None:
            return
        dropped: set[str] = set()
        folders: set[str] = set()
        for number in sorted(self._kept)[: -self._retained]:
            old = self._kept.pop(number)
            dropped |= old.files()
            folders |= _engine_folder(old)
            self._store.forget(number)
        used = self._engine_folders()
        if self._is_swept:
            self.storage.delete(dropped - self._needed())
            for folder in folders - used:
                self.storage.delete_folder(folder)
            if record.prepared:
                self._leftovers.delete_prepared(record.number)
            return
        self._is_swept = True
        self._store.forget_given_up()
        self._leftovers.delete_all(self._needed(), used)
        self._leftovers.delete_prepared(record.number)

    def new_engine_folder(self) -> str:
        """Return a name for a folder of Spark's, in the job's storage, that was never given before."""
        return engine_folder(self.generation)

    def may_share_engine_folder(self, folder: str) -> bool:
        """Whether another driver may still write to a folder of Spark's: where there is no lock that driver may live."""
        has_lock = isinstance(self.storage, LocalStorage)
        return not has_lock and not is_engine_folder_of(folder, self.generation)

    def drop_engine_folder(self, folder: str) -> None:
        """Delete a folder of Spark's with which nothing was committed, unless that is in doubt."""
        if not self._is_in_doubt:
            self.storage.delete_folder(folder)

    def note_published(self, record: EpochRecord) -> None:
        """Note that what the last epoch prepared was delivered."""
        noted = f"{self.digest} {record.number} {record.lineage}"
        self._published = noted if self.is_durable else ""

    def is_published(self, record: EpochRecord) -> bool:
        """Whether what the last epoch prepared is known to be delivered: else it may be, or not."""
        return self.is_durable and is_delivered(self.storage, record, self.digest)

    def close(self) -> None:
        """Let go of the place."""
        if self._published:
            # Without it the next start has to have the same sinks, which does no other harm.
            with contextlib.suppress(PenstockError, OSError):
                self.storage.write(PUBLISHED, [self._published.encode()])
            self._published = ""
        if self._claim is not None:
            self._claim.release()
        self._clean_up()
        if not self.is_durable:
            self._drop(Uncommitted(self.lineage, is_over=True))


def _warn_of_others(storage: Storage) -> None:
    """Say so where others can put in a folder what the job takes for its own state."""
    other = stranger_of(storage.location) if isinstance(storage, LocalStorage) else None
    if other is not None:
        warnings.warn(
            CheckpointsOpenToOthersWarning(
                f"The checkpoints at {storage.location} can be replaced by {other.who}. A job unpickles what it "
                "restores, so whoever can do that can run code as you.\n\nHint: Keep checkpoints and savepoints "
                f"in a folder that is yours and that only the driver and the workers can write: {other.remedy}, or "
                "take another place."
            ),
            stacklevel=stack_level_of_user(),
        )


def _check_no_query(storage: Storage) -> None:
    """Make sure that a location is not that of a plain query of Spark's.

    Raises:
        OtherJobError: If it is.
    """
    if storage.names(CLAIMS) or not storage.names("offsets"):
        return
    with contextlib.suppress(FileNotFoundError):
        storage.read("metadata")
        raise OtherJobError(
            f"{storage.location} is the checkpoint of a streaming query of Spark's, not of a job of penstock: a job cannot "
            "go on from it.",
            hint="Give the job a location of its own in execution.checkpointing.dir. To begin where the query stood, give "
            "the job's source the offsets to start from.",
        )


def _goes_on(configuration: Configuration) -> bool:
    """Whether there is something that a job is to go on from."""
    place = configuration.get(options.CHECKPOINT_DIR)
    if configuration.get(options.SAVEPOINT_PATH):
        return True
    return bool(place and StoredEpochs(open_storage(place)).numbers())


def _engine_folder(record: EpochRecord) -> set[str]:
    return {record.engine["folder"]} if "folder" in record.engine else set()


def _remove(storage: Storage) -> None:
    if isinstance(storage, LocalStorage):
        shutil.rmtree(storage.location, ignore_errors=True)
    else:
        storage.delete(storage.names())
