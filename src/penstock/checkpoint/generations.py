"""One driver at a time: whoever starts a job on a location claims its next generation."""

from __future__ import annotations

import fcntl
import os
import socket
from types import TracebackType
from typing import Final

from penstock.checkpoint.epoch_store import eras_at
from penstock.checkpoint.storage import LocalStorage, Storage, make_folder, writing
from penstock.errors import CheckpointNotWritableError, LocationInUseError
from penstock.forked import not_for_forks

CLAIMS: Final = "generations"
"""The folder of what drivers claim."""
_LOCK: Final = "lock"


class Generation:
    """The claim of one driver to a location, until it is released.

    On a disk a lock of the operating system is held, which goes with the process, however it ends: a
    second driver is refused. An object store has no locks: there the newer driver takes the job over,
    and the older can commit no more.

    Args:
        storage: The job's storage.

    Attributes:
        number: The number of the driver, from 1.

    Raises:
        LocationInUseError: If another driver runs the job.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._lock = _lock(storage) if isinstance(storage, LocalStorage) else None
        try:
            self.number = self._claim()
        except BaseException:
            self.release()
            raise

    def _claim(self) -> int:
        while True:
            known = self._known()
            # A number is not given again even where claims were deleted by hand.
            number = max([*known, *eras_at(self._storage)], default=0) + 1
            who = f"{socket.gethostname()} {os.getpid()}\n".encode()
            try:
                self._storage.create(_name(number), who)
            except FileExistsError:
                continue
            if max(self._known()) > number:
                # Others have come and gone since: their numbers must not be given again.
                continue
            self._storage.delete(map(_name, known))
            return number

    def _known(self) -> list[int]:
        return [int(name.rpartition("/")[2]) for name in self._storage.names(CLAIMS)]

    def check(self) -> None:
        """Make sure that no newer driver has taken the job over, and that the location is still the one claimed.

        Raises:
            LocationInUseError: If one has, or if the location was deleted or replaced.
        """
        # A lock may hold on one machine only.
        if (newest := self._newest()) > self.number:
            raise LocationInUseError(
                f"Driver {newest} has taken over the job at {self._storage.location} from this one, "
                f"which is driver {self.number}.",
                hint="Let only one driver run a job. What this one had not committed, the other does.",
            )

        if newest < self.number or not self._has_lock():
            raise LocationInUseError(
                f"The location {self._storage.location} was deleted or replaced while driver {self.number} ran "
                "the job: what is there now is not its own.",
                hint="Stop a job before its checkpoint location is deleted, moved or restored.",
            )

    def _has_lock(self) -> bool:
        """Whether the lock that is held is still that of the location."""
        if self._lock is None:
            return True
        try:
            found = os.stat(self._storage.url(_LOCK))
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(self._lock.descriptor))

    def _newest(self) -> int:
        return max(self._known(), default=0)

    def release(self) -> None:
        """Give the claim up."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Generation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _name(number: int) -> str:
    return f"{CLAIMS}/{number:08d}"


class _Lock:
    """A lock that goes with this process: those that are forked from it close their descriptors of it.

    Args:
        descriptor: That of the file that is locked.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        not_for_forks(self)

    def release(self) -> None:
        """Let others have it."""
        # Closing is not enough: code that is no Python's may have forked processes that share the lock.
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        self.close()

    def close(self) -> None:
        """Close the descriptor: the lock stays as long as another process has one."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _lock(storage: LocalStorage) -> _Lock:
    """Return a lock that nobody else has.

    Raises:
        LocationInUseError: If somebody has it.
        CheckpointNotWritableError: If there can be none.
    """
    path = storage.url(_LOCK)
    make_folder(storage.location, storage.location)
    with writing(storage.location):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.read(descriptor, 256).decode(errors="replace").strip()
        os.close(descriptor)
        raise LocationInUseError(
            f"The job at {storage.location} runs already{f', by {owner}' if owner else ''}.",
            hint="Give each job a checkpoint location of its own, or stop the other driver first.",
        ) from None
    except OSError as error:
        os.close(descriptor)
        raise CheckpointNotWritableError(
            f"Checkpoints cannot be kept at {storage.location}: the file system there gives no lock ({error.strerror}), which "
            "would keep a second driver away.",
            hint="Set execution.checkpointing.dir to an object store, such as s3://bucket/folder, or to a folder on a disk "
            "that has locks, as local disks and NFS have. See docs/object-stores.md.",
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    return _Lock(descriptor)
