"""What penstock logs on the driver's side of a job, on its way to the client, in whose log it belongs."""

from __future__ import annotations

import logging
import threading
from typing import Final

from penstock.executors.driver.reports.recent_log import (
    CLIENT_TELLS,
    LOGGER,
    OF_TASK,
    own_loggers,
)
from penstock.executors.driver.reports.task_lines import TaskLines
from penstock.runtime.task.logs.log_line import LogLine

_MOST: Final = 20


class HostLog:
    """Keeps warnings and errors of penstock's own loggers until they are taken, and no more than some.

    Args:
        most: How many lines are kept.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._lines: list[LogLine] = []
        self._left_out = 0

    def listen(self) -> None:
        """Hear of what is logged from now on, until this process ends, by all loggers that there are by now."""
        for logger in own_loggers():
            # A handler would keep it from the server's log, where no other is.
            logger.addFilter(self._hear)

    def _hear(self, record: logging.LogRecord) -> bool:
        is_told = hasattr(record, OF_TASK) or hasattr(record, CLIENT_TELLS)
        if record.levelno >= logging.WARNING and not is_told:
            self._keep(record)
        return True

    def _keep(self, record: logging.LogRecord) -> None:
        with self._lock:
            if len(self._lines) < self._most:
                self._lines.append(LogLine.of(record, None))
            else:
                self._left_out += 1

    def take(self) -> TaskLines | None:
        """Return what was logged since the last call; None if nothing was."""
        with self._lock:
            lines, self._lines = self._lines, []
            left_out, self._left_out = self._left_out, 0
        if left_out:
            lines.append(_left_out_line(left_out))
        return TaskLines(lines) if lines else None


def _left_out_line(count: int) -> LogLine:
    text = "%d more lines were logged on the driver's side: see the log of the server."
    record = logging.LogRecord(LOGGER, logging.WARNING, __file__, 0, text, (count,), None)
    return LogLine.of(record, None)
