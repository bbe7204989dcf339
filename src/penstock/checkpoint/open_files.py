"""Files outside a job's storage that its sinks go on with, and copies of them for whoever goes on elsewhere."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.handles import StateHandle
from penstock.checkpoint.storage import Storage
from penstock.errors import LostOutputError

_CHUNK: Final = 1 << 20


class OpenFile(NamedTuple):
    """A file outside the job's storage that a sink goes on with.

    Attributes:
        path: Its path.
        length: Its length in bytes.
        checksum: The CRC-32 of its bytes; None if it is not known.
    """

    path: str
    length: int
    checksum: int | None = None


OpenFiles = Callable[[EpochRecord], Mapping[str, OpenFile]]
"""Finds the files outside a job's storage that an epoch goes on with, by the names its sinks know them by."""


def nothing_open(_: EpochRecord) -> Mapping[str, OpenFile]:
    """Find nothing: of a job whose sinks keep nothing open."""
    return {}


def copy_open_file(file: OpenFile, target: Storage, name: str) -> StateHandle:
    """Copy a file that a sink goes on with into a storage, and return its handle.

    Raises:
        LostOutputError: If it is not what was written.
    """
    length = checksum = 0

    def chunks() -> Iterator[bytes]:
        nonlocal length, checksum
        for chunk in chunks_of(file.path):
            length += len(chunk)
            checksum = zlib.crc32(chunk, checksum)
            yield chunk
        if length != file.length:
            raise _lost(file, f"has {length} bytes, not {file.length}")
        if file.checksum not in {None, checksum}:
            raise _lost(
                file, f"has bytes with the checksum {checksum:#010x}, not {file.checksum:#010x}"
            )

    try:
        target.write(name, chunks())
    except FileNotFoundError as error:
        raise _lost(file, f"cannot be read: {error}") from error
    return StateHandle(name, length, checksum, is_snapshot=False)


def chunks_of(path: str) -> Iterator[bytes]:
    """Yield the bytes of a file, in pieces of about a megabyte."""
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _lost(file: OpenFile, what: str) -> LostOutputError:
    return LostOutputError(
        f"The file {file.path}, whose records are not published yet, {what}.",
        hint="Leave the hidden folder of the output alone while its job may go on.",
    )
