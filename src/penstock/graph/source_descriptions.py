"""Sources that only an executor knows how to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class FrameSource:
    """The rows of a Spark DataFrame, bounded or streaming.

    Attributes:
        frame: The DataFrame.
        split_column: The column that names the split of a row; None if all are of one split.
    """

    frame: Any
    split_column: str | None = None


@dataclass(frozen=True)
class TextFileSource:
    """The lines of a text file, or of the files of a folder."""

    path: str
    charset: str = "UTF-8"


@dataclass(frozen=True)
class SocketTextSource:
    """The lines that come from a socket, as from `nc -lk 9999`."""

    host: str
    port: int
