"""Where files to be read are: found below a folder, and opened."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Callable, Iterator
from typing import IO, Any, Final

from penstock.errors import SourceNotReadableError

_HIDDEN: Final = (".", "_")
_LOCAL: Final = "file:"


def files_below(place: str) -> list[str]:
    """Return the paths of all files below a folder, or that of a file, sorted.

    Names that begin with a dot or an underscore are left out, with all that is below them. A path is the same
    however its folder is spelled.

    Raises:
        FileNotFoundError: If there is no such file or folder.
        OSError: If it cannot be read.
    """
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


def opened(path: str) -> IO[bytes]:
    """Return a file that `files_below` has found, as it is.

    Raises:
        SourceNotReadableError: If it is gone, or may not be read.
    """
    try:
        return open(path, "rb")
    except OSError as error:
        raise SourceNotReadableError(
            f"The file {path!r} was found, and cannot be read: {error}.",
            hint="All workers have to reach it under this path, until its records are delivered.",
        ) from error


def decompressed(file: IO[bytes], path: str) -> IO[bytes]:
    """Return the content of a file whose name says by its end that it is compressed."""
    for ends, decompress in _COMPRESSIONS.items():
        if path.endswith(ends):
            content: IO[bytes] = decompress(file)
            return content
    return file


def _zstandard(file: IO[bytes]) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(file, "zstd")


_COMPRESSIONS: Final[dict[tuple[str, ...], Callable[[IO[bytes]], Any]]] = {
    (".gz", ".gzip"): lambda file: gzip.GzipFile(fileobj=file),
    (".bz2",): bz2.BZ2File,
    (".xz",): lzma.LZMAFile,
    (".zst",): _zstandard,
}
