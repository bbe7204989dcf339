"""Handles of state files, and the files themselves: frames of bytes, one after the other."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from penstock.checkpoint.storage import Storage
from penstock.errors import DamagedStateError

_LENGTH: Final = struct.Struct("<Q")
_AT_ONCE: Final = 16 << 20

GO_BACK_HINT: Final = (
    "Go back to an earlier epoch of the job's location: `penstock checkpoint list` shows them, and "
    "execution.state-recovery.epoch names one. A savepoint has a single epoch: start from another savepoint, "
    "or restore this one's files from a backup."
)


class StateHandle(NamedTuple):
    """One file of a subtask's state.

    Applied one after the other, a subtask's files give its state: of each entry the last word counts. A file
    holds what some epochs changed, and perhaps some key groups whole. Once all key groups were
    written so, what is older than the first of them is needed no more.

    Attributes:
        name: The name of the file in the job's storage.
        length: Its length in bytes.
        checksum: The CRC-32 of its bytes.
        is_snapshot: Whether files before it are needed only until the key groups that it and the files after
            it hold whole are all there are.
        level: How often files were joined to make it; 0 for the file of one epoch.
        groups: How many key groups it holds whole: those after the ones that the file before it holds.
        held: How many of its bytes these take.
        until: The name of the last of the files that were joined to make it; empty for the file of one epoch.
        first: Of the file of another subtask, the first key group that is taken; -1 for an own file.
        end: The first one after it that is not.
        gives_broadcast: Whether broadcast state is taken of it.
    """

    name: str
    length: int
    checksum: int
    is_snapshot: bool
    level: int = 0
    groups: int = 0
    held: int = 0
    until: str = ""
    first: int = -1
    end: int = -1
    gives_broadcast: bool = True

    @property
    def version(self) -> str:
        """Names the version of the state that is reached with this file."""
        return self.until or self.name

    @property
    def is_foreign(self) -> bool:
        """Whether another subtask wrote it, so that only some of its entries count."""
        return self.first >= 0


def write_state_file(
    storage: Storage,
    name: str,
    frames: Iterable[bytes],
    *,
    is_snapshot: bool,
    whole: Iterable[bytes] = (),
    groups: int = 0,
) -> StateHandle:
    """Write a state file under a name nobody else uses, and return its handle.

    The bytes are durable before this returns; no more than one frame is in memory.

    Args:
        storage: The job's storage.
        name: What the file's name begins with.
        frames: What the epoch changed.
        is_snapshot: See `StateHandle`.
        whole: What comes after it: all there is in some key groups.
        groups: How many key groups these are.
    """
    length = checksum = changed = 0

    def parts(frames: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal length, checksum
        for frame in frames:
            for part in (_LENGTH.pack(len(frame)), frame):
                checksum = zlib.crc32(part, checksum)
                length += len(part)
                yield part

    def chunks() -> Iterator[bytes]:
        nonlocal changed
        yield from parts(frames)
        changed = length
        yield from parts(whole)

    name = f"{name}-{uuid.uuid4().hex[:12]}"
    storage.write(name, chunks())
    return StateHandle(name, length, checksum, is_snapshot, groups=groups, held=length - changed)


def join_state_files(storage: Storage, name: str, handles: Sequence[StateHandle]) -> StateHandle:
    """Write one file in the place of several that follow each other, and return its handle.

    Args:
        storage: The job's storage.
        name: What the file's name begins with.
        handles: The files, of which only the first may be a snapshot.

    Raises:
        DamagedStateError: If a file is missing, truncated or otherwise not what was written.
    """
    checksum = 0

    def chunks() -> Iterator[bytes]:
        nonlocal checksum
        for handle in handles:
            for chunk in _verified_chunks(storage, handle):
                checksum = zlib.crc32(chunk, checksum)
                yield chunk

    name = f"{name}-{uuid.uuid4().hex[:12]}"
    storage.write(name, chunks())
    return StateHandle(
        name,
        sum(handle.length for handle in handles),
        checksum,
        handles[0].is_snapshot,
        level=handles[0].level + 1,
        groups=sum(handle.groups for handle in handles),
        held=sum(handle.held for handle in handles),
        until=handles[-1].version,
    )


def copy_state_file(source: Storage, handle: StateHandle, target: Storage, name: str) -> None:
    """Copy a state file to a name of its own; nothing is there if the file is not what was written.

    Raises:
        DamagedStateError: If it is missing, truncated or otherwise not what was written.
    """
    target.write(name, _verified_chunks(source, handle))


def read_copy(storage: Storage, handle: StateHandle) -> Iterator[bytes]:
    """Yield the bytes of a file as they were copied.

    Raises:
        DamagedStateError: If it is missing, truncated or otherwise not what was written; at the end.
    """
    return _verified_chunks(storage, handle)


def read_state_file(storage: Storage, handle: StateHandle) -> Iterator[bytes]:
    """Yield the frames of a state file, once all of it is known to be what was written.

    Raises:
        DamagedStateError: If the file is missing, truncated or otherwise not what was written.
    """
    chunks: Iterable[bytes]
    if handle.length <= _AT_ONCE:
        chunks = [b"".join(_verified_chunks(storage, handle))]
    else:
        verify_state_file(storage, handle)
        chunks = _chunks(storage, handle)
    rest = b""
    for chunk in chunks:
        rest = rest + chunk if rest else chunk
        start = 0
        while len(rest) - start >= _LENGTH.size:
            end = start + _LENGTH.size + _LENGTH.unpack_from(rest, start)[0]
            if end > len(rest):
                break
            yield rest[start + _LENGTH.size : end]
            start = end
        rest = rest[start:]


def verify_state_file(storage: Storage, handle: StateHandle) -> None:
    """Make sure that a state file is what was written.

    Raises:
        DamagedStateError: If it is missing, truncated or otherwise not what was written.
    """
    for _ in _verified_chunks(storage, handle):
        pass


def _verified_chunks(storage: Storage, handle: StateHandle) -> Iterator[bytes]:
    """Yield the bytes of a file, and raise at their end if they are not what was written."""
    length = checksum = 0
    for chunk in _chunks(storage, handle):
        length += len(chunk)
        checksum = zlib.crc32(chunk, checksum)
        yield chunk
    if length != handle.length or checksum != handle.checksum:
        raise DamagedStateError(
            f"The state file {storage.url(handle.name)} is damaged: it has {length} bytes with "
            f"checksum {checksum:#010x}, not {handle.length} with {handle.checksum:#010x}.",
            hint=GO_BACK_HINT,
        )


def _chunks(storage: Storage, handle: StateHandle) -> Iterator[bytes]:
    try:
        yield from storage.chunks(handle.name)
    except OSError as error:
        raise DamagedStateError(
            f"The state file {storage.url(handle.name)} cannot be read: {error}.",
            hint="The checkpoint folder must be reached by all workers under the same path. If the file "
            f"is lost: {GO_BACK_HINT[0].lower()}{GO_BACK_HINT[1:]}",
        ) from error
