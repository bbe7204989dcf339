"""Interrupts the query that a bounded job is.

Spark interrupts by tag only what the calling thread has tagged, which is then busy with the query; so
tasks note the query's number where the driver finds it. Where they do not share a disk with the driver,
a job that is cancelled ends with its epoch.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import uuid
from typing import Final

from pyspark import TaskContext
from pyspark.sql import SparkSession

from penstock.executors.spark.ctrl_c import JAVAS_LOG

_POLL_SECONDS: Final = 0.05


def note_of(job_id: str) -> str:
    """Return the file in which the number of a job's query is to be noted."""
    return os.path.join(tempfile.gettempdir(), f"penstock-query-{job_id}", "query")


def note_query(path: str) -> None:
    """Note the number of the query that the running task belongs to."""
    context = TaskContext.get()
    if context is not None:
        write_note(path, context.getLocalProperty("spark.sql.execution.id"))


def write_note(path: str, query: str | None) -> None:
    """Note the number of a query, if the place is there."""
    if query is not None:
        with contextlib.suppress(OSError):
            # On another machine the folder may be anybody's: nothing that lies there is written to.
            draft = f"{path}.{uuid.uuid4().hex}"
            with open(draft, "x", encoding="ascii") as file:
                file.write(query)
            os.replace(draft, path)


class Interruption:
    """Interrupts the query that a job is at.

    Args:
        spark: The session it runs in.
        job_id: The job.

    Attributes:
        note: The file in which the query's number is to be noted.
    """

    def __init__(self, spark: SparkSession, job_id: str) -> None:
        self._spark = spark
        self.note = note_of(job_id)
        os.mkdir(os.path.dirname(self.note), 0o700)
        self._ended = threading.Event()

    def begin(self) -> None:
        """Interrupt the query, as soon as it is known which it is."""
        threading.Thread(target=self._interrupt, name="interruption", daemon=True).start()

    def _interrupt(self) -> None:
        JAVAS_LOG.hush()
        while not self._ended.is_set():
            with contextlib.suppress(FileNotFoundError), open(self.note, encoding="ascii") as file:
                query = file.read()
                try:
                    self._spark.interruptOperation(query)
                except Exception:  # noqa: BLE001 - the session has ended, and all that ran in it
                    return
            self._ended.wait(_POLL_SECONDS)

    def end(self) -> None:
        """The job has ended: there is nothing to interrupt any more."""
        self._ended.set()
        shutil.rmtree(os.path.dirname(self.note), ignore_errors=True)
