"""The client's way to the driver's side of its job: reads reports, and leaves requests, through Spark."""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.executors.spark.hosted.reports import REPORTS, REQUESTS, Report, ReportName

_NOT_THERE: Final = ("PATH_NOT_FOUND", "FileNotFoundException", "FILE_NOT_EXIST")


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
        spark: The session.
        location: The checkpoint location.
        folder: The folder of the driver.
        read: Makes a report of its bytes.
    """

    def __init__(
        self,
        spark: SparkSession,
        location: str,
        folder: str,
        read: Callable[[bytes], Report] = pickle.loads,
    ) -> None:
        self._spark = spark
        self._read = read
        self._reports = f"{location}/{REPORTS}/{folder}"
        self._requests = f"{location}/{REQUESTS}/{folder}"
        self._next = 0
        self._seen: set[ReportName] = set()
        self._is_told = False

    def skip_to_now(self) -> None:
        """Pass over the news in all reports that are there: they are for another client."""
        told = [name.number for name in self._names() if name.beat is None]
        self._next = max(told, default=0)
        self._is_told = bool(told)

    def _names(self) -> list[ReportName]:
        found = map(ReportName.of, _files(self._spark, self._reports))
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
        paths = [f"{self._reports}/{name}" for name in wanted]
        try:
            frame = self._spark.read.format("binaryFile").load(paths)
            rows = frame.select("path", "content").collect()
        except PySparkException as error:
            if _is_not_there(error):  # deleted meanwhile
                return Found([], lives=True)
            raise
        contents = {row[0].rpartition("/")[2]: bytes(row[1]) for row in rows}
        missed = wanted[0].number - self._next
        self._next = wanted[-1].number + 1
        reports = [self._read(contents[name]) for name in sorted(contents)]
        if self._is_told and reports:
            self._is_told, reports[0] = False, replace(reports[0], news=(), answers={})
        return Found(reports, missed, lives=True)

    def ask(self, what: str, **more: Any) -> str:
        """Leave a request, and return its id."""
        request = uuid.uuid4().hex
        text = json.dumps({"what": what, **more})
        frame = self._spark.createDataFrame([(text,)], "value string").coalesce(1)
        frame.write.text(f"{self._requests}/{request}")
        return request


def _files(spark: SparkSession, place: str) -> list[str]:
    """Return the names of the files in a folder; none if it is not there."""
    try:
        return [
            path.rpartition("/")[2]
            for path in spark.read.format("binaryFile").load(place).inputFiles()
        ]
    except PySparkException as error:
        if _is_not_there(error):
            return []
        raise


def _is_not_there(error: PySparkException) -> bool:
    text = str(error)
    return any(sign in text for sign in _NOT_THERE)


def drivers_at(spark: SparkSession, location: str) -> dict[str, list[ReportName]]:
    """Return the reports of all drivers at a location, by their folders."""
    found: dict[str, list[ReportName]] = {}
    try:
        paths = spark.read.format("binaryFile").load(f"{location}/{REPORTS}/*").inputFiles()
    except PySparkException as error:
        if _is_not_there(error):
            return {}
        raise
    for path in paths:
        above, _, file = path.rpartition("/")
        name = ReportName.of(file)
        if name is not None:
            found.setdefault(above.rpartition("/")[2], []).append(name)
    return found
