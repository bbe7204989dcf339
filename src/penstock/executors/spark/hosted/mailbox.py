"""The client's way to the driver's side of its job: reads reports, and leaves requests."""

from __future__ import annotations

import json
import logging
import pickle
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from penstock.executors.spark.hosted.client_files import ClientFiles
from penstock.executors.spark.hosted.reports import REPORTS, REQUESTS, Report, ReportName

_LOG: Final = logging.getLogger("penstock")
_AT_ONCE: Final = 8
"""How many reports are read together: some may be large."""


class Found(NamedTuple):
    """What is new at a job's place.

    Attributes:
        reports: The reports.
        missed: How many there were that are gone, or cannot be read.
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
        reports: list[Report] = []
        missed = 0
        try:
            for begin in range(0, len(wanted), _AT_ONCE):
                some = wanted[begin : begin + _AT_ONCE]
                contents = self._files.read([f"{self._reports}/{name}" for name in some])
                missed += some[0].number - self._next
                self._next = some[-1].number + 1
                for content in contents:
                    try:
                        reports.append(self._read(content))
                    except Exception:  # noqa: BLE001 - reading runs the user's code
                        _LOG.warning("A report of the job cannot be read.", exc_info=True)
                        missed += 1
        except FileNotFoundError:  # deleted meanwhile: another look shows what is there then
            pass
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
