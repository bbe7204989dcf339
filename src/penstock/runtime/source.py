"""Sources that a worker reads by itself, without Spark."""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Final, TextIO

from penstock.errors import SourceNotReadableError
from penstock.runtime.exchange.column_block import ColumnBlock
from penstock.runtime.exchange.elements import Block

if TYPE_CHECKING:
    import pyarrow as pa

_LINES: Final = 1 << 14
"""How many lines are read at a time."""


class NativeSource(ABC):
    """A source that a worker reads by itself: a collection, a range of numbers, a test's script.

    What it gives depends on the epoch and the subtask alone, so that an epoch which is run again reads
    the same. Its epochs are its own: they count from the first in which the job had it.
    """

    epochs: int = 1
    """How many epochs the source has records for."""

    has_columns: bool = False
    """Whether its records are the rows of columns: see `ColumnBlock`."""

    is_unordered: bool = False
    """Whether a subtask reads what is in no order of time, such as several files one after the other."""

    @abstractmethod
    def read(self, epoch: int, subtask: int, parallelism: int) -> Iterator[Block]:
        """Yield the records of one subtask in one epoch."""


class CollectionSource(NativeSource):
    """The elements of a collection, in order, on the first subtask."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def read(self, epoch: int, subtask: int, parallelism: int) -> Iterator[Block]:
        if epoch == 0 and subtask == 0:
            yield from Block(self._values).copied().cut()


class NumberRangeSource(NativeSource):
    """The whole numbers from `first` to `last`, both included, spread evenly over the subtasks."""

    rows = 1 << 16

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self._count = max(last - first + 1, 0)

    def read(self, epoch: int, subtask: int, parallelism: int) -> Iterator[Block]:
        if epoch > 0:
            return
        start = self._first + self._count * subtask // parallelism
        end = self._first + self._count * (subtask + 1) // parallelism
        for low in range(start, end, self.rows):
            numbers = list(range(low, min(low + self.rows, end)))
            yield Block(numbers, is_immutable=True, is_harmless=True)


class EpochSource(NativeSource):
    """What a test wants to come in each epoch, on the first subtask.

    Args:
        epochs: For each epoch its blocks.
    """

    def __init__(self, epochs: list[list[Block]]) -> None:
        self._blocks = epochs
        self.epochs = len(epochs)

    def read(self, epoch: int, subtask: int, parallelism: int) -> Iterator[Block]:
        if subtask == 0 and epoch < len(self._blocks):
            for block in self._blocks[epoch]:
                yield block.copied()


class TableSource(NativeSource):
    """The rows that a test wants to come in each epoch, as columns, on the first subtask.

    Args:
        epochs: For each epoch its batches.
    """

    has_columns = True

    def __init__(self, epochs: list[list[pa.StructArray]]) -> None:
        self._batches = epochs
        self.epochs = len(epochs)

    def read(self, epoch: int, subtask: int, parallelism: int) -> Iterator[Block]:
        if subtask == 0 and epoch < len(self._batches):
            yield from map(ColumnBlock, self._batches[epoch])


class TextLines(NativeSource):
    """The lines of a text file, or of the files of a folder, without their ends.

    Args:
        path: The file or folder; in a folder, names that begin with a dot or underscore are left out.
        charset: The encoding.

    Raises:
        SourceNotReadableError: If there is no such file, or it may not be read.
    """

    def __init__(self, path: str, charset: str) -> None:
        self._files = _files_below(path)
        self._charset = charset
        self.is_unordered = len(self._files) > 1

    def read(self, epoch: int, subtask: int, parallelism: int) -> Iterator[Block]:
        if epoch > 0:
            return
        for path in self._files[subtask::parallelism]:
            with open(path, "rb") as file:
                yield from lines_of(file, path, self._charset)


def lines_of(file: IO[bytes], path: str, charset: str) -> Iterator[Block]:
    """Yield the lines of a text file, without their ends, and close it.

    Raises:
        SourceNotReadableError: If it is not in the encoding.
    """
    with io.TextIOWrapper(file, charset, newline=None) as text:
        while lines := _next_lines(text, path, charset):
            yield Block(lines, is_immutable=True, is_harmless=True)


def _next_lines(text: TextIO, path: str, charset: str) -> list[str]:
    try:
        return [line.rstrip("\n") for line in islice(text, _LINES)]
    except UnicodeDecodeError as error:
        raise SourceNotReadableError(
            f"The text file {path!r} is not in {charset}: {error}.",
            hint="Give read_text_file(), or text_line_format() of a FileSource, the encoding of the file.",
        ) from error


def _files_below(path: str) -> list[str]:
    # Functions may work in another folder than this.
    place = os.path.abspath(path.removeprefix("file://"))
    try:
        if os.path.isdir(place):
            names = sorted(name for name in os.listdir(place) if name[0] not in "._")
            paths = [os.path.join(place, name) for name in names]
            return [path for path in paths if os.path.isfile(path)]
        with open(place, "rb"):
            return [place]
    except OSError as error:
        raise SourceNotReadableError(
            f"The text file {path!r} cannot be read: {error}.",
            hint="Give the path of a file or folder that this process may read.",
        ) from error
