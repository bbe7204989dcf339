"""Handles of state files, and the files themselves: frames of bytes, one after the other."""

from __future__ import annotations

import os
import struct
import uuid
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from penstock.errors import DamagedStateError

_LENGTH: Final = struct.Struct("<Q")
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class StateHandle:
    """One file of a subtask's state.

    Attributes:
        path: Where the file is.
        length: Its length in bytes.
        checksum: The CRC-32 of its bytes.
        is_snapshot: True for the whole state, False for what one epoch changed.
    """

    path: str
    length: int
    checksum: int
    is_snapshot: bool


def write_state_file(
    folder: str, name: str, frames: Iterable[bytes], *, is_snapshot: bool
) -> StateHandle:
    """Write a state file under a name nobody else uses, and return its handle.

    The bytes are on disk before this returns; no more than one frame is in memory.
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}-{uuid.uuid4().hex[:12]}")
    length = checksum = 0
    with open(path, "xb") as file:
        for frame in frames:
            for part in (_LENGTH.pack(len(frame)), frame):
                file.write(part)
                checksum = zlib.crc32(part, checksum)
                length += len(part)
        file.flush()
        os.fsync(file.fileno())
    return StateHandle(path, length, checksum, is_snapshot)


def read_state_file(handle: StateHandle) -> Iterator[bytes]:
    """Yield the frames of a state file, once all of it is known to be what was written.

    Raises:
        DamagedStateError: If the file is missing, truncated or otherwise not what was written.
    """
    try:
        with open(handle.path, "rb") as file:
            _verify(file, handle)
            file.seek(0)
            while header := file.read(_LENGTH.size):
                yield file.read(_LENGTH.unpack(header)[0])
    except OSError as error:
        raise DamagedStateError(
            f"The state file {handle.path} cannot be read: {error}.",
            hint="The checkpoint folder must be reached by all workers under the same path.",
        ) from error


def _verify(file: BinaryIO, handle: StateHandle) -> None:
    length = checksum = 0
    while chunk := file.read(_CHUNK):
        length += len(chunk)
        checksum = zlib.crc32(chunk, checksum)
    if length != handle.length or checksum != handle.checksum:
        raise DamagedStateError(
            f"The state file {handle.path} is damaged: it has {length} bytes with checksum "
            f"{checksum:#010x}, not {handle.length} with {handle.checksum:#010x}.",
            hint="Start from an earlier checkpoint.",
        )
