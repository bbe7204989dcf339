"""The RocksDB database that all keyed states of a thread share."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from penstock.common.configuration.rocksdb_options import FIXED_MEMORY, RocksDBSettings
from penstock.errors import RocksDBFolderError, RocksDBNotFoundError, RocksDBOptionsError
from penstock.runtime.private_folder import is_private
from penstock.runtime.state.memory import default_limit
from penstock.runtime.state.rocksdb.rocksdb_options import create_options

if TYPE_CHECKING:
    from rocksdict import Cache, Rdict, ReadOptions, WriteBatch, WriteOptions

_FOLDER: Final = "penstock-rocksdb-"
_LOCK: Final = "LOCK"
_YOUTH: Final = 600.0
"""For how many seconds a folder may be one whose database another process is about to open."""
_CACHE_LIMIT: Final = 64 << 20
_PREFIX: Final = struct.Struct(">I").pack
_AS_IT_IS: Final = RocksDBSettings()
_Place: TypeAlias = tuple[str, int, RocksDBSettings]


class RocksDatabase:
    """One database in a folder of its own, which goes when the last of its users has closed it.

    It is no durable store but the working copy of this process: durable are the frames. A job runs in one
    thread, so each thread has its own: users of another one could not be told to spill while they are at work.

    Args:
        directory: Where the folder is made.
        memory: How many bytes it may take in memory, about; None for what suits the machine. Less than
            RocksDB can do with is not heeded.
        settings: How it is set up.

    Raises:
        RocksDBFolderError: If there can be no folder.

    Attributes:
        folder: Where it is.
        cached: About how many bytes its users hold in caches.
        block_cache: RocksDB's cache, for blocks, indexes and what is yet to be written.
    """

    _open: Final[dict[_Place, RocksDatabase]] = {}

    def __init__(
        self,
        directory: str,
        memory: int | None = None,
        settings: RocksDBSettings = _AS_IT_IS,
    ) -> None:
        self._place = directory, threading.get_ident(), settings
        try:
            os.makedirs(directory, exist_ok=True)
            self._remove_orphans(directory)
        except OSError as error:
            raise RocksDBFolderError(
                f"RocksDB cannot have its files in the folder {directory!r}: {error}.",
                hint="Give state.backend.rocksdb.localdir folders that every worker may write to, or leave it "
                "out.",
            ) from error
        memory = settings.get(FIXED_MEMORY) or memory or default_limit()
        self._cache_limit = memory // 4
        self.folder, self._db, self._unlogged, self.block_cache = _open_database(
            directory, memory, settings
        )
        self._users: dict[bytes, Callable[[], None]] = {}
        self._next_prefix = 0
        self.cached = 0

    @classmethod
    def in_directory(
        cls,
        directory: str | None,
        memory: int | None = None,
        settings: RocksDBSettings = _AS_IT_IS,
    ) -> RocksDatabase:
        """Return the database of this thread in a directory, with these settings.

        Args:
            directory: The directory; None for one of the settings', or that of temporary files.
            memory: As above. What the first to ask for the database says holds.
            settings: How it is set up.

        Raises:
            RocksDBNotFoundError: If rocksdict is not installed.
            RocksDBFolderError: If there can be no folder.
        """
        if directory is None and settings.directories:
            directory = settings.directories[os.getpid() % len(settings.directories)]
        directory = os.path.realpath(directory or tempfile.gettempdir())
        place = directory, threading.get_ident(), settings
        database = cls._open.get(place)
        if database is None:
            database = cls._open[place] = cls(directory, memory, settings)
        return database

    def _remove_orphans(self, directory: str) -> None:
        """Remove what processes left behind that did not live to close their databases."""
        # Of this process a lock says nothing, and is lost by asking.
        ours = {database.folder for database in list(self._open.values())}
        for name in os.listdir(directory):
            if not name.startswith(_FOLDER):
                continue
            folder = os.path.join(directory, name)
            if folder in ours:
                continue
            if is_private(folder) and _is_old(folder) and _is_free(os.path.join(folder, _LOCK)):
                shutil.rmtree(folder, ignore_errors=True)

    def add_user(self, spill: Callable[[], None]) -> bytes:
        """Return what the keys of a new user shall begin with.

        Args:
            spill: Called when the caches of all users are too large: writes and empties the user's.
        """
        prefix = _PREFIX(self._next_prefix)
        self._next_prefix += 1
        self._users[prefix] = spill
        return prefix

    def remove_user(self, prefix: bytes) -> None:
        """Remove all keys of a user; the last one closes the database."""
        if self._users.pop(prefix, None) is None:
            return
        if self._users:
            self.delete_all(prefix)
            return
        self._db.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        del self._open[self._place]

    def note_cached(self, size: int) -> None:
        """Note that a user cached so many bytes more, and let all spill if it is too much."""
        self.cached += size
        if self.cached > min(_CACHE_LIMIT, self._cache_limit):
            for spill in self._users.values():
                spill()
            self.cached = 0

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, None if it is not there."""
        return self._db.get(key)

    def delete_all(self, prefix: bytes) -> None:
        """Remove all keys that begin with a prefix."""
        self._db.delete_range(prefix, _after(prefix))

    def new_batch(self) -> WriteBatch:
        from rocksdict import WriteBatch

        return WriteBatch(raw_mode=True)

    def write(self, batch: WriteBatch) -> None:
        """Make the writes of a batch, all or none."""
        self._db.write(batch, self._unlogged)

    def scan(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and values that begin with a prefix, from `start` on, in order."""
        items: Iterator[tuple[bytes, bytes]] = self._db.items(from_key=max(prefix, start))  # type: ignore[assignment]
        for key, value in items:
            if not key.startswith(prefix):
                return
            yield key, value

    def scan_keys(self, prefix: bytes, start: bytes) -> Iterator[bytes]:
        """Yield keys that begin with a prefix, from `start` on, in order.

        It looks at nothing behind them, where it might have to step over much that was removed.
        """
        options = _up_to_the_end_of(prefix)
        yield from self._db.keys(from_key=max(prefix, start), read_opt=options)


def _open_database(
    directory: str, memory: int, settings: RocksDBSettings
) -> tuple[str, Rdict, WriteOptions, Cache]:
    try:
        from rocksdict import Rdict, WriteOptions
    except ImportError as error:
        raise RocksDBNotFoundError(
            "State is to be kept in RocksDB, but rocksdict is not installed.",
            hint='Install "penstock[rocksdb]" where the workers run, or set state.backend.type to '
            "hashmap.",
        ) from error
    unlogged = WriteOptions()
    # It is an attribute, whatever the package's stub says.
    unlogged.disable_wal = True  # type: ignore[method-assign,assignment]
    options, cache = create_options(memory, settings)
    folder = tempfile.mkdtemp(prefix=_FOLDER, dir=directory)
    try:
        database = Rdict(folder, options)
    except Exception as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise RocksDBOptionsError(
            f"RocksDB does not open a database: {error}.",
            hint="Look at what is set below state.backend.rocksdb, and by the options factory if there is one.",
        ) from error
    database.set_write_options(unlogged)
    return folder, database, unlogged, cache


def _up_to_the_end_of(prefix: bytes) -> ReadOptions:
    """Return how to read what begins with a prefix and nothing else.

    An iterator uses memory of its options without holding them: whoever has the one keeps the other.
    """
    from rocksdict import ReadOptions

    options = ReadOptions()
    if prefix.strip(b"\xff"):
        options.set_iterate_upper_bound(_after(prefix))
    return options


def _after(prefix: bytes) -> bytes:
    """Return the least bytes above all that begin with a prefix."""
    number = int.from_bytes(prefix, "big") + 1
    return number.to_bytes(len(prefix), "big")


def _is_old(folder: str) -> bool:
    """Whether nobody can still be about to lock what is in a folder."""
    try:
        return time.time() - os.stat(folder).st_mtime > _YOUTH
    except OSError:
        return False


def _is_free(lock: str) -> bool:
    """Whether there is a lock that nobody holds."""
    try:
        with open(lock, "r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
