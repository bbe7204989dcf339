"""The client's way to the driver's side of its job: reads reports, and leaves requests."""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from penstock.executors.spark.hosted.client_files import ClientFiles
from penstock.executors.spark.hosted.reports import REPORTS, REQUESTS, Report, ReportName


class Found(NamedTuple):
    """What is new at a job's place.

    Attributes:
        reports: The reports.
        missed: How many there were that are gone.
        lives: Whether the driver has given a sign of life.
    """

    reports: list[Report]
    missed: int = 0
    lives: bool = False


class Mailbox:
    """Where a job's driver and its client leave word for each other.

    Args:
        files: The files at the checkpoint location.
        folder: The folder of the driver.
        read: Makes a report of its bytes.

    Attributes:
        seconds: The time from one look to the next.
    """

    def __init__(
        self, files: ClientFiles, folder: str, read: Callable[[bytes], Report] = pickle.loads
    ) -> None:
        self.seconds = files.seconds
        self._files = files
        self._read = read
        self._reports = f"{REPORTS}/{folder}"
        self._requests = f"{REQUESTS}/{folder}"
        self._next = 0
        self._seen: set[ReportName] = set()
        self._is_told = False

    def skip_to_now(self) -> None:
        """Pass over the news in all reports that are there: they are for another client."""
        told = [name.number for name in self._names() if name.beat is None]
        self._next = max(told, default=0)
        self._is_told = bool(told)

    def _names(self) -> list[ReportName]:
        files = self._files.names(self._reports)
        found = (ReportName.of(file.rpartition("/")[2]) for file in files)
        return [name for name in found if name is not None]

    def new(self) -> Found:
        """Return what was reported since the last call."""
        names = set(self._names())
        lives = not names <= self._seen
        self._seen = names
        told = sorted((name for name in names if name.beat is None), key=lambda name: name.number)
        wanted = [name for name in told if name.number >= self._next]
        if not wanted:
            return Found([], lives=lives)
        try:
            contents = self._files.read([f"{self._reports}/{name}" for name in wanted])
        except FileNotFoundError:  # deleted meanwhile
            return Found([], lives=True)
        missed = wanted[0].number - self._next
        self._next = wanted[-1].number + 1
        reports = [self._read(content) for content in contents]
        if self._is_told and reports:
            self._is_told, reports[0] = False, replace(reports[0], news=(), answers={})
        return Found(reports, missed, lives=True)

    def ask(self, what: str, **more: Any) -> str:
        """Leave a request, and return its id."""
        request = uuid.uuid4().hex
        self._files.write_text(f"{self._requests}/{request}", json.dumps({"what": what, **more}))
        return request


def drivers_at(files: ClientFiles) -> dict[str, list[ReportName]]:
    """Return the reports of all drivers at a location, by their folders."""
    found: dict[str, list[ReportName]] = {}
    for path in files.names(REPORTS):
        above, _, file = path.rpartition("/")
        name = ReportName.of(file)
        if name is not None:
            found.setdefault(above.rpartition("/")[2], []).append(name)
    return found
