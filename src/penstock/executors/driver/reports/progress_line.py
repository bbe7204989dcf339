"""A line in the terminal that shows how far a job has come."""

from __future__ import annotations

import shutil
import sys
import time

from penstock.common.configuration import options
from penstock.common.configuration.configuration import Configuration
from penstock.common.job_status import JobStatus
from penstock.common.plain_text import Size, counted
from penstock.common.running_job import JobProgress

_WHEEL = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SECONDS_A_TURN = 0.1
_WORRIES = {
    "in_flight": "in flight",
    "retried": "retried",
    "timed_out": "timed out",
    "failed": "failed",
}


class ProgressLine:
    """A line in the terminal that shows how far a job has come, and moves while it runs.

    Shown on standard error, if that is a terminal; `execution.progress` (`on`, `off`) decides otherwise.

    Args:
        name: The job's name.
        configuration: The job's configuration.
    """

    def __init__(self, name: str, configuration: Configuration) -> None:
        wish = configuration.get(options.PROGRESS)
        self._is_on = sys.stderr.isatty() if wish == "auto" else wish == "on"
        self._moves = sys.stderr.isatty()
        self._name = name
        self._started = time.perf_counter()
        self._shown = 0.0
        self._turn = 0

    def show(self, progress: JobProgress) -> None:
        """Show the state of the job after an epoch."""
        if self._is_on:
            self._write(_WHEEL[self._turn % len(_WHEEL)], progress, "" if self._moves else "\n")

    def turn(self, progress: JobProgress) -> None:
        """Show that the job goes on, ten times a second."""
        now = time.perf_counter()
        if self._is_on and self._moves and now - self._shown >= _SECONDS_A_TURN:
            self._shown = now
            self._turn += 1
            self.show(progress)

    def clear(self) -> None:
        """Make room for a line of output."""
        if self._is_on and self._moves:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def finish(self, progress: JobProgress) -> None:
        """Show the last state, and leave it."""
        if self._is_on:
            self._write("■", progress, "\n")

    def _write(self, sign: str, progress: JobProgress, end: str) -> None:
        seconds = time.perf_counter() - self._started
        rate = progress.records_in / seconds if seconds else 0
        start = "\r\033[K" if self._moves else ""
        text = (
            f"{sign} {self._name}: {counted(progress.epochs, 'epoch')} · "
            f"{progress.records_in:,} records · {rate:,.0f} records/s{_calls(progress)} · {seconds:.1f} s"
        )
        for extra in _extras(progress):
            if not self._moves or len(text) + len(extra) < shutil.get_terminal_size().columns:
                text += extra
        sys.stderr.write(f"{start}{text}{end}")
        sys.stderr.flush()


def _extras(progress: JobProgress) -> list[str]:
    """Return what is shown if there is room, the most important first."""
    extras = []
    if progress.status is JobStatus.RESTARTING:
        extras.append(" · restarting")
    if progress.restarts:
        extras.append(f" · {counted(progress.restarts, 'restart')}")
    if progress.state_size:
        extras.append(f" · {Size(progress.state_size)} of state")
    return extras


def _calls(progress: JobProgress) -> str:
    """Return what there is to say of asynchronous calls; nothing if there are none."""
    users = [report["user"] for report in progress.operators.values()]
    counts = {
        what: sum(user.get(f"async.{what}", 0) for user in users)
        for what in ("completed", *_WORRIES)
    }
    if not any(counts.values()):
        return ""
    shown = [f"{counts['completed']:,} calls"]
    shown += [f"{counts[what]:,} {text}" for what, text in _WORRIES.items() if counts[what]]
    return " · " + ", ".join(shown)
