"""Handles of state files, and the files themselves."""

from __future__ import annotations

import os
import uuid
import zlib
from dataclasses import dataclass

from penstock.errors import DamagedStateError


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


def write_state_file(folder: str, name: str, content: bytes, *, is_snapshot: bool) -> StateHandle:
    """Write a state file under a name nobody else uses, and return its handle.

    The bytes are on disk before this returns.
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}-{uuid.uuid4().hex[:12]}")
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return StateHandle(path, len(content), zlib.crc32(content), is_snapshot)


def read_state_file(handle: StateHandle) -> bytes:
    """Return the bytes of a state file.

    Raises:
        DamagedStateError: If the file is missing, truncated or otherwise not what was written.
    """
    try:
        with open(handle.path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise DamagedStateError(
            f"The state file {handle.path} cannot be read: {error}.",
            hint="The checkpoint folder must be reached by all workers under the same path.",
        ) from error
    if len(content) != handle.length or zlib.crc32(content) != handle.checksum:
        raise DamagedStateError(
            f"The state file {handle.path} is damaged: it has {len(content)} bytes with checksum "
            f"{zlib.crc32(content):#010x}, not {handle.length} with {handle.checksum:#010x}.",
            hint="Start from an earlier checkpoint.",
        )
    return content
