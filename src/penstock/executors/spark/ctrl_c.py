"""Ctrl-C while a job is being started on Spark, which takes seconds, most of them in calls of the Java process.

Spark's own handler calls the Java process too, in the middle of the call that Ctrl-C interrupts, and fails with two
tracebacks; and py4j, which makes the calls, logs one of each that is interrupted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from penstock.executors.driver.interrupts import JOBS, take_interrupts

_LOGGERS: Final = ("root", "py4j.java_gateway", "py4j.clientserver")


class _Unheard(logging.Filter):
    """Drops what is logged of calls that Ctrl-C interrupts, while jobs run or start."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        while error is not None and not isinstance(error, KeyboardInterrupt):
            error = error.__context__
        return error is None or not len(JOBS)


_UNHEARD: Final = _Unheard()


@contextmanager
def interruptible_start() -> Iterator[None]:
    """Let Ctrl-C end what is being started inside with nothing but Python's own `KeyboardInterrupt`."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_UNHEARD)
    with JOBS.starting():
        take_interrupts()
        yield
