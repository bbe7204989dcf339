"""A source of files: those that are there, or also those that come."""

from __future__ import annotations

import base64
import hashlib
import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

from penstock.errors import PenstockError, SourceNotReadableError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.file_places import absolute, damage, files_below, opened
from penstock.runtime.planned.planned_source import Piece, Plan, PlannedSource, Planner
from penstock.runtime.planned.reader_format import ReaderFormat

_LOG: Final = logging.getLogger("penstock")
_DIGEST_BYTES: Final = 12
"""A file is known again by so much of a digest of its path: two of a million share one once in 10¹⁷ times."""


class FilesSource(PlannedSource):
    """The records of the files below some folders. Each file is read once, whole, by one subtask.

    Args:
        file_format: Reads a file.
        places: The files and folders.
        interval: The time between two looks for new files, in milliseconds; None if the files are those that
            are there when the first epoch begins.
    """

    is_unordered = True

    def __init__(
        self, file_format: ReaderFormat, places: Sequence[str], interval: int | None = None
    ) -> None:
        self._format = file_format
        self._places = tuple(map(absolute, places))
        self._interval = interval
        self.is_bounded = interval is None
        self.has_epochs = interval is not None
        self.kind = "a fixed set of files" if interval is None else "a growing set of files"

    def planner(self) -> Planner:
        if self._interval is None:
            return _AllFiles(self._places)
        return _NewFiles(self._places, self._interval)

    def read(self, content: Any) -> Iterator[Block]:
        with opened(content) as file:
            try:
                yield from self._format.read(file, content)
            except damage() as error:
                if isinstance(error, PenstockError):
                    raise
                raise SourceNotReadableError(
                    f"The file {content!r} cannot be read: {str(error) or type(error).__name__}.",
                    hint="It may not be whole, or compressed otherwise than its name says. Move a file into a "
                    "folder that is looked at only when it is whole.",
                ) from error


class _FilePlanner(Planner):
    def __init__(self, places: Sequence[str]) -> None:
        self._places = places

    def close(self) -> None:
        """Nothing is open."""


class _AllFiles(_FilePlanner):
    """Plans to read all files at once."""

    def plan(self, state: Any, parallelism: int) -> Plan:
        try:
            found = {path for place in self._places for path in files_below(place)}
        except OSError as error:
            raise SourceNotReadableError(
                f"Files cannot be read: {error}.",
                hint="Give a FileSource files or folders that the driver and all workers can read.",
            ) from error
        return Plan(tuple(map(Piece, sorted(found))), is_over=True)


class _NewFiles(_FilePlanner):
    """Plans to read each file once, as it is found.

    The state is a text that says of each file that it was planned: by so much of a digest of its path as tells
    it from others.

    Args:
        places: The files and folders.
        interval: The least time between two looks, in milliseconds.
    """

    def __init__(self, places: Sequence[str], interval: int) -> None:
        super().__init__(places)
        self._seconds = interval / 1000
        self._next_look = float("-inf")
        self._missing: set[str] = set()
        self._known = ""
        self._seen: set[str] = set()
        self._only_present = False
        self._present: list[str] | None = None

    def only_present(self) -> None:
        self._only_present = True

    def plan(self, state: Any, parallelism: int) -> Plan:
        known = state or ""
        if self._present is None and time.monotonic() < self._next_look:
            return Plan(state=state)
        found = self._found()
        if not known.startswith(self._known):
            self._known, self._seen = "", set()
        self._seen.update(_cut(known[len(self._known) :]))
        self._known = known
        new = {path: mark for path in found if (mark := _mark(path)) not in self._seen}
        return Plan(tuple(map(Piece, new)), known + "".join(new.values()) or state)

    def _found(self) -> list[str]:
        """Return the files that are there, or those that were at the first look if no others are wanted."""
        if self._present is not None:
            return self._present
        found = sorted({path for place in self._places for path in self._files_below(place)})
        self._next_look = time.monotonic() + self._seconds
        if self._only_present:
            self._present = found
        return found

    def _files_below(self, place: str) -> list[str]:
        try:
            return files_below(place)
        except FileNotFoundError:
            if place not in self._missing:
                _LOG.warning("%s is not there yet; it is looked for until it is", place)
                self._missing.add(place)
            return []
        except OSError as error:
            raise SourceNotReadableError(
                f"New files cannot be looked for: {error}.",
                hint="Give a FileSource files or folders that the driver and all workers can read.",
            ) from error


_MARK: Final = len(base64.b64encode(bytes(_DIGEST_BYTES)))


def _mark(path: str) -> str:
    digest = hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=_DIGEST_BYTES)
    return base64.b64encode(digest.digest()).decode("ascii")


def _cut(marks: str) -> Iterator[str]:
    return (marks[start : start + _MARK] for start in range(0, len(marks), _MARK))
