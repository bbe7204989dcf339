"""Where files to be read are: found below a folder, and opened."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import IO, Any, Final

from penstock.checkpoint.object_storage import SCHEMES, ObjectStorage
from penstock.errors import SourceNotReadableError

_HIDDEN: Final = (".", "_")
_LOCAL: Final = "file:"
_SAME: Final = {"s3a": "s3", "abfs": "abfss"}
"""The schemes of URLs that mean the same as another."""


def absolute(place: str) -> str:
    """Return a file or folder by a name that means the same in any working folder: functions may have another."""
    is_local = place.startswith(_LOCAL) or "://" not in place
    return os.path.abspath(_local(place)) if is_local else place


def files_below(place: str) -> list[str]:
    """Return the paths of all files below a folder, or that of a file, sorted; URLs in an object store.

    Names that begin with a dot or an underscore are left out, with all that is below them. A path is the same
    however its folder is spelled.

    Raises:
        FileNotFoundError: If there is no such file or folder.
        OSError: If it cannot be read.
    """
    if _is_url(place):
        return _objects_below(_one_spelling(place))
    root = os.path.realpath(_local(place))
    if not os.path.isdir(root):
        os.stat(root)
        return [root]
    return sorted(_walk(root))


def _walk(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_HIDDEN):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
            elif entry.is_file():
                yield entry.path


def _local(place: str) -> str:
    if not place.startswith(_LOCAL):
        return place
    path = place.removeprefix(_LOCAL)
    return f"/{path.lstrip('/')}"


def _is_url(place: str) -> bool:
    scheme, separator, _ = place.partition("://")
    return bool(separator) and scheme in SCHEMES


def _one_spelling(url: str) -> str:
    """Return the URL of an object as it is spelled here, for all spellings that mean the same."""
    scheme, _, rest = url.partition("://")
    parts = [part for part in rest.split("/") if part]
    return f"{_SAME.get(scheme, scheme)}://{'/'.join(parts)}"


def _objects_below(root: str) -> list[str]:
    names = _storage(root).names()
    if names:
        return sorted(f"{root}/{name}" for name in names if not _is_hidden(name))
    folder, _, name = root.rpartition("/")
    if folder.endswith("/") or not _storage(folder).has(name):
        raise FileNotFoundError(f"There is no object {root}, and none below it")
    return [root]


def _is_hidden(name: str) -> bool:
    return any(part.startswith(_HIDDEN) for part in name.split("/"))


@lru_cache(maxsize=16)
def _storage(folder: str) -> ObjectStorage:
    return ObjectStorage(folder)


def opened(path: str) -> IO[bytes]:
    """Return a file that `files_below` has found, as it is.

    Raises:
        SourceNotReadableError: If it is gone, or may not be read.
    """
    try:
        if _is_url(path):
            folder, _, name = path.rpartition("/")
            return _storage(folder).opened(name)
        return open(path, "rb")
    except OSError as error:
        raise SourceNotReadableError(
            f"The file {path!r} was found, and cannot be read: {error}.",
            hint="All workers have to reach it under this path, until its records are delivered.",
        ) from error


def damage() -> tuple[type[BaseException], ...]:
    """Return what reading may have raised of a file that is not whole, or not compressed as its name says."""
    lzma = sys.modules.get("lzma")
    return EOFError, OSError, zlib.error, *([] if lzma is None else [lzma.LZMAError])


def decompressed(file: IO[bytes], path: str) -> IO[bytes]:
    """Return the content of a file whose name says by its end that it is compressed."""
    for ends, decompress in _COMPRESSIONS.items():
        if path.endswith(ends):
            content: IO[bytes] = decompress(file)
            return content
    return file


class _Inflated(io.RawIOBase):
    """What is in a file of Deflate."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decompress = zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data and not self._decompress.eof:
            packed = self._decompress.unconsumed_tail or self._file.read(io.DEFAULT_BUFFER_SIZE)
            if not packed:
                raise EOFError("the compressed data ends too early")
            data = self._decompress.decompress(packed, len(buffer))
        buffer[: len(data)] = data
        return len(data)


# Some builds of Python are without these two.


def _bzip2(file: IO[bytes]) -> Any:
    import bz2

    return bz2.BZ2File(file)


def _xz(file: IO[bytes]) -> Any:
    import lzma

    return lzma.LZMAFile(file)


def _zstandard(file: IO[bytes]) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(file, "zstd")


_COMPRESSIONS: Final[dict[tuple[str, ...], Callable[[IO[bytes]], Any]]] = {
    (".gz", ".gzip"): lambda file: gzip.GzipFile(fileobj=file),
    (".bz2",): _bzip2,
    (".xz",): _xz,
    (".zst",): _zstandard,
    (".deflate",): lambda file: io.BufferedReader(_Inflated(file)),
}
