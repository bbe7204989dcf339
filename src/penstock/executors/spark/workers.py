"""What is left to do in workers when a job has ended."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.runtime.task.logs.worker_log import echo_rest
from penstock.runtime.task.registry import forget

_MOST_IDLE: Final = 32
_ENDED: Final[deque[str]] = deque(maxlen=256)


class QuietTraceback:
    """Prints the traceback of what is handled, unless it is that Spark is gone."""

    @staticmethod
    def print_exc() -> None:
        if not isinstance(sys.exc_info()[1], BrokenPipeError):
            traceback.print_exc()

    format_exc = staticmethod(traceback.format_exc)


def end_quietly() -> None:
    """Let the running worker of Spark end without a word when Spark does.

    An idle worker whose JVM has ended reports that to the JVM, and what comes of it is a traceback on the
    terminal of whoever has just pressed Ctrl-C. Nor does it say anything of Ctrl-C itself, which reaches every process
    of a terminal: the driver stops the tasks.
    """
    daemon = sys.modules["__main__"]
    if getattr(daemon, "traceback", None) is traceback and hasattr(daemon, "worker"):
        daemon.traceback = QuietTraceback  # type: ignore[attr-defined]
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def note_end(job_id: str) -> None:
    """Note that a run of a job has ended: the tasks of other jobs close what it left open in workers."""
    _ENDED.append(job_id)


def ended_runs() -> tuple[str, ...]:
    """Return the runs of jobs of this process that ended last."""
    return tuple(_ENDED)


def close_functions(spark: SparkSession, job_id: str, cores: int) -> None:
    """Close the functions of a job in those workers that still live and take a task now."""

    def close(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        forget(job_id)
        echo_rest()
        # What was set aside for tasks to come (see `Survivors`) is looked through after this one.
        gc.unfreeze()

    # Spark gives tasks to idle workers in turn, and there may be more of them than cores.
    tasks = cores + min(3 * cores, _MOST_IDLE)
    try:
        spark.range(0, tasks, 1, tasks).mapInArrow(close, "id long").count()
    except PySparkException:
        # The session has ended, and its workers with it.
        return
