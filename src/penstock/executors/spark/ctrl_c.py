"""Ctrl-C while a job starts on Spark or runs there, as far as it is about Java. Only classic pyspark has a process of it.

A start takes seconds, most of them in calls of the Java process. Spark's own handler calls it too, in the middle of the
call that Ctrl-C interrupts, and fails with two tracebacks; and py4j, which makes the calls, logs one of each that is
interrupted.

A terminal sends Ctrl-C to all of its processes. A Java process that pyspark starts ignores it, but that of spark-submit
does not: it ends while the program still uses it, and says so at length.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from penstock.executors.driver.interrupts import JOBS
from penstock.executors.spark.connect import is_client_alone

_LOGGERS: Final = ("root", "py4j.java_gateway", "py4j.clientserver")
_HANDLER: Final = "signal_handler"
_SECONDS_HUSHED: Final = 5.0
"""Spark kills a task that does not end by itself after two."""
_SECONDS_HUSHING: Final = 0.5


class _Unheard(logging.Filter):
    """Drops what is logged of calls that Ctrl-C interrupts, while jobs run or start.

    Attributes:
        dropped: How often it has.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dropped = 0

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        is_unheard = error is not None and _comes_of_ctrl_c(error) and len(JOBS) > 0
        self.dropped += is_unheard
        return not is_unheard


def _comes_of_ctrl_c(error: BaseException) -> bool:
    found: BaseException | None = error
    while found is not None and not _is_of_ctrl_c(found):
        found = found.__context__
    return found is not None


def _is_of_ctrl_c(error: BaseException) -> bool:
    """Whether an error is Ctrl-C, or that of a call which Spark's handler makes in the middle of another."""
    return (
        isinstance(error, KeyboardInterrupt)
        or (isinstance(error, RuntimeError) and "reentrant call" in str(error))
        or any(
            frame.f_code.co_name == _HANDLER and "pyspark" in frame.f_code.co_filename
            for frame, _ in traceback.walk_tb(error.__traceback__)
        )
    )


_UNHEARD: Final = _Unheard()


@contextmanager
def interruptible_start() -> Iterator[None]:
    """Let Ctrl-C end what is being started inside with nothing but Python's own `KeyboardInterrupt`."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_UNHEARD)
    with JOBS.starting():
        before = _UNHEARD.dropped
        try:
            yield
        except Exception:
            # Of Ctrl-C that comes in a call, Spark 3.5 leaves the failed call alone.
            if _UNHEARD.dropped > before:
                raise KeyboardInterrupt from None
            raise


@contextmanager
def java_ends_at_interrupt() -> Iterator[None]:
    """Have the Java process that is started inside end in silence if Ctrl-C comes meanwhile."""
    try:
        yield
    except KeyboardInterrupt as error:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            # It would stay, as pyspark has not come to know it.
            if frame.f_code.co_name == "launch_gateway" and "proc" in frame.f_locals:
                frame.f_locals["proc"].kill()
                raise
        JOBS.note_interrupt()
        # This thread's way to it stands in the middle of a call.
        hushing = threading.Thread(target=JAVAS_LOG.hush, daemon=True)
        hushing.start()
        hushing.join(_SECONDS_HUSHING)
        raise


def keep_java_running() -> None:
    """Have the Java process of spark-submit ignore Ctrl-C, as do the workers that it starts from now on.

    It ends with the program.
    """
    from pyspark import SparkContext

    SparkContext._ensure_initialized()  # noqa: SLF001 - there is no public way to the gateway
    jvm = _jvm()
    with suppress(Exception):  # with -Xrs Java leaves signals alone
        jvm.sun.misc.Signal.handle(jvm.sun.misc.Signal("INT"), jvm.sun.misc.SignalHandler.SIG_IGN)


def _jvm() -> Any:
    """Return the way to Spark's Java process; None if this process has none."""
    if is_client_alone():
        return None
    from pyspark import SparkContext

    return SparkContext._jvm  # noqa: SLF001 - there is no public way


class JavasLog:
    """The log of Spark's Java process.

    Args:
        seconds: For how many seconds it is silent when it is hushed.
    """

    def __init__(self, seconds: float = _SECONDS_HUSHED) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._is_hushed = False

    def hush(self) -> None:
        """Have nothing logged for some seconds, if Ctrl-C is why something is stopped now.

        Java warns of each task that it kills, and if it ends itself meanwhile reports errors that are none.
        """
        with self._lock:
            if JOBS.interrupted_at is None or self._is_hushed:
                return
            with suppress(Exception):  # it is gone, is none of this process, or logs otherwise
                log4j = _jvm().org.apache.logging.log4j
                level = log4j.LogManager.getRootLogger().getLevel()
                set_level = log4j.core.config.Configurator.setRootLevel
                set_level(log4j.Level.OFF)
                self._is_hushed = True
                timer = threading.Timer(self._seconds, self._speak, (set_level, level))
                timer.daemon = True
                timer.start()

    def _speak(self, set_level: Callable[[Any], None], level: Any) -> None:
        with self._lock:
            self._is_hushed = False
            with suppress(Exception):  # it has ended meanwhile
                set_level(level)


JAVAS_LOG: Final = JavasLog()
