"""Lines of the log to test with."""

from __future__ import annotations

import logging
from typing import Any

from penstock.runtime.task.logs.log_line import LogLine
from penstock.runtime.task_place import TaskPlace

PLACE = TaskPlace("job", "clean", 1, 4, 7)


def record_of(
    message: Any, *args: Any, level: int = logging.INFO, **more: Any
) -> logging.LogRecord:
    """Return a record as loggers make them."""
    logger = logging.getLogger(more.pop("name", "shop"))
    return logger.makeRecord(
        logger.name, level, "shop.py", 3, message, args, more.pop("exc_info", None), extra=more
    )


def line_of(message: Any, *args: Any, **more: Any) -> LogLine:
    """Return the line of such a record."""
    return LogLine.of(record_of(message, *args, **more), PLACE)
