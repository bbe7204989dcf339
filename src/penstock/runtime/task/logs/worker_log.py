"""Takes what is logged in a worker, and keeps it until a task can hand it to the driver."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TextIO, TypeVar

from penstock.runtime.exchange.buffer import Buffer
from penstock.runtime.job_pickle import loads
from penstock.runtime.program import DRIVER
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.task.logs.current_place import current_place
from penstock.runtime.task.logs.gathered_lines import GatheredLines
from penstock.runtime.task.logs.log_levels import LogLevels
from penstock.runtime.task.logs.log_line import WARNINGS, LogLine, WaitingLine
from penstock.runtime.task.message import Message
from penstock.runtime.task_place import TaskPlace

_T = TypeVar("_T")

LOG: Final = -2
"""Stands where the number of a channel stands, for lines of the log."""


@dataclass(frozen=True)
class LogSettings:
    """What workers do with what functions log.

    Attributes:
        levels: From which levels on it is of interest.
        most_lines: How many lines of each operator's subtask and epoch the driver gets.
        echoes: Whether workers write it to their own standard error too.
    """

    levels: LogLevels
    most_lines: int = 1_000
    echoes: bool = False


class WorkerLog(logging.Handler):
    """Takes what is logged in this process until the driver can be told, and not more than is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self._settings: LogSettings | None = None
        self._levels: LogLevels | None = None
        self._gathered: dict[tuple[object, ...], GatheredLines] = {}
        self._guard = threading.Lock()
        self._carrier: Carrier | None = None
        self._last_place: TaskPlace | None = None
        self._usual_warnings: Callable[..., None] = warnings.showwarning

    def set_up(self, settings: LogSettings | None) -> None:
        """Take what is logged from now on; or, without settings, leave it to who else would."""
        self._settings = settings
        if settings is None:
            logging.root.removeHandler(self)
            self._leave_warnings()
            return
        if self not in logging.root.handlers:
            logging.root.addHandler(self)
        if settings.levels != self._levels:
            settings.levels.apply(self._levels)
            self._levels = settings.levels
        self._take_warnings()

    def _take_warnings(self) -> None:
        # A `catch_warnings` around the last task would have put back what was here before.
        if warnings.showwarning != self._warn:
            self._usual_warnings = warnings.showwarning
            warnings.showwarning = self._warn

    def _leave_warnings(self) -> None:
        if warnings.showwarning == self._warn:
            warnings.showwarning = self._usual_warnings

    def _warn(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if file is not None:
            self._usual_warnings(message, category, filename, lineno, file, line)
            return
        record = logging.LogRecord(
            WARNINGS, logging.WARNING, filename, lineno, str(message), None, None
        )
        self._take(record, (category.__module__, category.__qualname__))

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line."""
        try:
            self._take(record)
        except Exception:  # noqa: BLE001 - what logging does with what a handler raises
            self.handleError(record)

    def _take(self, record: logging.LogRecord, warning: tuple[str, str] | None = None) -> None:
        settings = self._settings
        if settings is None:
            return
        place = self._place()
        owner = () if place is None else (place.job_id, place.epoch, place.operator, place.subtask)
        gathered = self._gathered.get(owner)
        takes_first = gathered is None or gathered.takes_first
        line: LogLine | WaitingLine
        if not (takes_first or settings.echoes or warning) and WaitingLine.can_wait(record):
            line = WaitingLine(record, place)
        else:
            line = LogLine.of(record, place, warning)
        if settings.echoes:
            _echo(line.made())
        with self._guard:
            gathered = self._gathered.get(owner)
            if gathered is None:
                gathered = self._gathered[owner] = GatheredLines(settings.most_lines)
            gathered.add(line)

    def _place(self) -> TaskPlace | None:
        """Return who logs; in a thread that a function has started, as far as there is only one task that can."""
        found = current_place()
        if found is not None and found.epoch is not None:
            return found
        known = self._last_place if self._carrier is None else self._carrier.place()
        if found is None or known is None:
            return found or known
        # A function is opened before its operator hears of an epoch.
        return dataclasses.replace(found, job_id=known.job_id, epoch=known.epoch)

    def take(self) -> list[LogLine]:
        """Return the lines that the driver is to be told of, and forget them."""
        with self._guard:
            gathered, self._gathered = self._gathered, {}
        return [line for lines in gathered.values() for line in lines.all()]

    def echo_rest(self) -> None:
        """Write to standard error what the driver can no longer be told of."""
        lines = self.take()
        if self._settings is not None and not self._settings.echoes:
            for line in lines:
                _echo(line)

    def carried(
        self, work: Iterator[_T], carrier: Carrier, as_item: Callable[[Buffer], _T]
    ) -> Iterator[_T]:
        """Do work of a carrier, and tell the driver at its end what was logged meanwhile.

        If the work ends before that, so that the driver hears nothing of it, that goes to standard error.

        Args:
            work: The work, done as it is asked for its items.
            carrier: Whose work it is.
            as_item: Makes of a buffer an item like the others.
        """
        self._carrier = carrier
        try:
            yield from work
        except BaseException:
            self.echo_rest()
            raise
        finally:
            self._last_place, self._carrier = carrier.place(), None
        if self._gathered:
            yield as_item(carrier.to_driver("log", self.take(), LOG))


def _echo(line: LogLine) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{line}\n")


WORKER_LOG: Final = WorkerLog()
"""The one of this process."""


def echo_rest() -> None:
    """Write to standard error what no task of this process will tell the driver of."""
    WORKER_LOG.echo_rest()


def without_lines(buffers: Iterable[Buffer]) -> tuple[list[Buffer], list[LogLine]]:
    """Return what tasks told the driver without lines of the log, and these in the order of their times."""
    told: list[Buffer] = []
    lines: list[LogLine] = []
    for buffer in buffers:
        if buffer.vertex == DRIVER and buffer.channel == LOG:
            lines += Message._make(loads(buffer.payload)).content
        else:
            told.append(buffer)
    return told, sorted(lines, key=lambda line: line.created)
