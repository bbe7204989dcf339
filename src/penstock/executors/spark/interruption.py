"""Interrupts the query that a bounded job is.

A classic session interrupts by tag only what the calling thread has tagged, which is then busy with the query; so
tasks note the query's number where the driver finds it. Where they do not share a disk with the driver,
a job that is cancelled ends with its epoch. Spark Connect interrupts by tag whatever thread has tagged it, and so does
the context of Spark 3.5, whose classic sessions know no such interrupts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator
from typing import Final

from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.executors.spark.connect import is_connect
from penstock.executors.spark.ctrl_c import JAVAS_LOG
from penstock.executors.spark.versions.classic import interrupt_tagged, tag_thread
from penstock.executors.spark.versions.features import Feature, has

_POLL_SECONDS: Final = 0.05


@contextlib.contextmanager
def interruptible(spark: SparkSession, job_id: str) -> Iterator[None]:
    """Have what the calling thread does inside for a job be found when that is interrupted, where notes are of no use."""
    if is_connect(spark):
        spark.addTag(_tag_of(job_id))
        try:
            yield
        finally:
            spark.removeTag(_tag_of(job_id))
        return
    if not has(Feature.INTERRUPTION):
        tag_thread(spark, _tag_of(job_id))
    yield


def interrupt_epoch(spark: SparkSession, job_id: str) -> None:
    """Interrupt what a session of Spark Connect does for a job; a classic one ends that with the query it is part of."""
    if is_connect(spark):
        with contextlib.suppress(PySparkException):  # a server that is gone runs nothing
            spark.interruptTag(_tag_of(job_id))


def _tag_of(job_id: str) -> str:
    return f"penstock-{job_id}"


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
        self._tag = _tag_of(job_id)
        self.note = note_of(job_id)
        if not is_connect(spark):
            os.mkdir(os.path.dirname(self.note), 0o700)
        self._ended = threading.Event()

    def begin(self) -> None:
        """Interrupt the query, as soon as it is known which it is."""
        threading.Thread(target=self._interrupt, name="interruption", daemon=True).start()

    def _interrupt(self) -> None:
        JAVAS_LOG.hush()
        while not self._ended.is_set():
            try:
                self._interrupt_once()
            except Exception:  # noqa: BLE001 - the session has ended, and all that ran in it
                return
            self._ended.wait(_POLL_SECONDS)

    def _interrupt_once(self) -> None:
        if is_connect(self._spark):
            with contextlib.suppress(PySparkException):  # a server that is gone runs nothing
                self._spark.interruptTag(self._tag)
        elif not has(Feature.INTERRUPTION):
            interrupt_tagged(self._spark, self._tag)
        else:
            self._interrupt_noted()

    def _interrupt_noted(self) -> None:
        with contextlib.suppress(FileNotFoundError), open(self.note, encoding="ascii") as file:
            query = file.read()
            self._spark.interruptOperation(query)

    def end(self) -> None:
        """The job has ended: there is nothing to interrupt any more."""
        self._ended.set()
        shutil.rmtree(os.path.dirname(self.note), ignore_errors=True)
