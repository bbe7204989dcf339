"""Where it is said how a job is doing: in the terminal, in a notebook, or in the log."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from penstock.common.configuration import options
from penstock.common.configuration.configuration import Configuration
from penstock.common.job_status import JobStatus
from penstock.executors.driver.progress.job_line import job_line
from penstock.executors.driver.progress.notebook import NotebookLine, is_notebook
from penstock.executors.driver.progress.terminal import TerminalRow, is_terminal, writable
from penstock.executors.driver.reports.job_view import JobView
from penstock.executors.driver.reports.pace import Pace

_LOG: Final = logging.getLogger("penstock")
_SECONDS_A_TURN: Final = 3.0


class Place(Protocol):
    """Where a job's line is.

    Attributes:
        seconds: After how many seconds it is shown anew.
    """

    seconds: float

    def show(self, view: Callable[[], JobView], *, is_awaited: bool) -> None:
        """Show how a job is doing.

        Args:
            view: Returns the job as it is now.
            is_awaited: Whether somebody waits for its end.
        """

    def leave(self, text: str | None) -> bool:
        """Leave the last line of a job; None if there is nothing to say of it. Return whether it can be read now."""


def place_for(configuration: Configuration) -> Place | None:
    """Return where a job's line is to be; None for nowhere."""
    wish = configuration.get(options.PROGRESS)
    seconds = configuration.get(options.PROGRESS_INTERVAL).to_millis() / 1000
    if wish == "off":
        return None
    if is_notebook():
        return InNotebook()
    if is_terminal(sys.stderr):
        return InTerminal(_ROW)
    return InLog(seconds, is_always_shown=wish == "on") if seconds else None


class SharedRow:
    """The terminal's last row, which the jobs of a process show by turns.

    Args:
        row: The row.
        clock: Tells the time, in seconds.
    """

    def __init__(self, row: TerminalRow, clock: Callable[[], float] = time.monotonic) -> None:
        self.row = row
        self.jobs: list[InTerminal] = []
        self._clock = clock
        self._lock = threading.Lock()

    def enter(self, job: InTerminal) -> None:
        """Give a job turns too."""
        with self._lock:
            self.jobs.append(job)
            self.row.open()

    def leave(self, job: InTerminal, text: str | None) -> None:
        """Leave the last line of a job, if there is one, and give the job no turns any more."""
        with self._lock:
            self.row.clear()
            if text is not None:
                self.row.leave(text)
            self.jobs.remove(job)
            if not self.jobs:
                self.row.close()

    def place_of(self, job: InTerminal) -> str | None:
        """Return which of the jobs this one is, as `[2/3] `, if it has its turn; None if not."""
        with self._lock:
            turn = int(self._clock() / _SECONDS_A_TURN) % len(self.jobs)
            if self.jobs[turn] is not job:
                return None
            return f"[{turn + 1}/{len(self.jobs)}] " if len(self.jobs) > 1 else ""


_ROW: Final = SharedRow(TerminalRow())


class InTerminal:
    """The last row of the terminal.

    In a shell for Python it is shown only while somebody waits for the job: else it would be where he types.

    Args:
        shared: The row.
        clock: Tells the time, in seconds.
        spent: Tells how many seconds of a processor the thread has taken.
    """

    seconds = 0.1
    _SECONDS_A_VIEW = 0.5

    def __init__(
        self,
        shared: SharedRow,
        clock: Callable[[], float] = time.monotonic,
        spent: Callable[[], float] = time.thread_time,
    ) -> None:
        self._shared = shared
        self._view: JobView | None = None
        self._pace = Pace(self._SECONDS_A_VIEW, clock, spent)
        self._line: tuple[int, str] | None = None
        self._is_shell = hasattr(sys, "ps1")
        shared.enter(self)

    def show(self, view: Callable[[], JobView], *, is_awaited: bool) -> None:
        if self._is_shell and not is_awaited:
            return
        place = self._shared.place_of(self)
        if place is None:
            return
        row = self._shared.row
        row.show(place + self._text(view, row.columns() - len(place)))

    def _text(self, view: Callable[[], JobView], columns: int) -> str:
        """Return the line; one that was made stays while it says the same, and only the wheel before it turns."""
        if self._view is None or self._pace.is_due:
            with self._pace.making():
                self._view = view()
            self._line = None
        if self._line is None or self._line[0] != columns:
            with self._pace.adding():
                self._line = columns, job_line(self._view, columns)
        return self._line[1]

    def leave(self, text: str | None) -> bool:
        self._shared.leave(self, text)
        return text is not None


class InNotebook:
    """A line below the cell that runs."""

    seconds = 1.0

    def __init__(self) -> None:
        self._line = NotebookLine()
        self._line.show("")

    def show(self, view: Callable[[], JobView], *, is_awaited: bool) -> None:
        self._line.show(job_line(view()))

    def leave(self, text: str | None) -> bool:
        self._line.show(text or "")
        return text is not None


class InLog:
    """Lines of the log `penstock`, of the level INFO.

    Where nobody has configured a log they are on standard error, as warnings are: Python alone would drop them.

    Args:
        seconds: After how many seconds the next one comes.
        is_always_shown: Whether they are on standard error in any case.
    """

    def __init__(self, seconds: float, *, is_always_shown: bool = False) -> None:
        self.seconds = seconds
        self._is_always_shown = is_always_shown

    def show(self, view: Callable[[], JobView], *, is_awaited: bool) -> None:
        now = view()
        # Its last line is about to come, and nobody needs another before.
        if now.status is not JobStatus.CANCELLING:
            self._say(job_line(now))

    def leave(self, text: str | None) -> bool:
        return text is not None and self._say(text)

    def _say(self, text: str) -> bool:
        if not self._is_always_shown and _LOG.hasHandlers():
            _LOG.info("%s", text)
            return _LOG.isEnabledFor(logging.INFO)
        with suppress(OSError, ValueError):  # nobody reads it any more
            sys.stderr.write(
                f"{time.strftime('%y/%m/%d %H:%M:%S')} INFO penstock: {writable(text)}\n"
            )
            sys.stderr.flush()
        return True


def at_interrupt(text: str) -> str:
    """Return a line as Ctrl-C leaves it: a terminal has written ^C before."""
    return f"{chr(10) if is_terminal(sys.stderr) else ''}{writable(text)}\n"
