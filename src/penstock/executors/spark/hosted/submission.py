"""Starts a streaming job on a server of Spark Connect, or finds it running there, and follows it."""

from __future__ import annotations

import hashlib
import logging
import pickle
import re
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.checkpoint.storage import LocalStorage, open_storage
from penstock.common.configuration import options
from penstock.common.plain_text import shown_name
from penstock.common.running_job import RunningJob
from penstock.errors import (
    JobRunsElsewhereError,
    ObjectStoreError,
    ObstoreNotFoundError,
    StreamingOnConnectError,
    WorkerPythonError,
)
from penstock.executors.driver.epoch_feed import EpochFeed
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.port import JobRequest
from penstock.executors.spark.hosted import carried
from penstock.executors.spark.hosted.by_value import travels_by_code
from penstock.executors.spark.hosted.client_files import client_files
from penstock.executors.spark.hosted.code import code_of
from penstock.executors.spark.hosted.living import living_driver
from penstock.executors.spark.hosted.mailbox import Mailbox
from penstock.executors.spark.hosted.noting import note_of
from penstock.executors.spark.hosted.remote_job import RemoteJob
from penstock.executors.spark.hosted.remote_run import RemoteRun
from penstock.executors.spark.hosted.starting import is_too_late, started
from penstock.executors.spark.hosted.travel import Views, packed, packed_for, whole_place
from penstock.executors.spark.page.names import query_name
from penstock.executors.spark.prepared_job import PreparedJob
from penstock.graph.watermarks import refuse_alignment
from penstock.job_notes import JobNote, drop_note, keep_note
from penstock.runtime.planned.source_function import FunctionSource

_OF_CLIENT: Final = ("execution.progress", "rest.", "spark.remote")
"""Settings of a client, which may be others for each that follows a job."""
_PATTERN: Final = re.compile(r"[\[\]{}*?]")
_LOG: Final = logging.getLogger("penstock")


RunThere = Callable[[bytes, SparkSession], None]
"""Runs a job on the server, given its program and the session there."""


def submit_to_server(request: JobRequest, seen: ObservedJob, run: RunThere) -> RunningJob:
    """Start a job whose driver's side runs on the server of its session, or follow it if it runs there already.

    Args:
        request: The program.
        seen: What is noted of the job.
        run: A function of a module, which is called there.

    Raises:
        StreamingOnConnectError: If it cannot run there.
        JobRunsElsewhereError: If another program runs at its checkpoint location.
        PenstockError: If the program cannot run.
    """
    location = _location_of(request)
    _refuse_functions(request)
    views = Views(seen.job_id, request.graph)
    program: bytes | Exception
    try:
        program = packed(request, views)
    except Exception as error:  # noqa: BLE001 - what is compiled is pickled too, which says what is wrong
        program = error
    job = PreparedJob(request, seen, is_cancellable=True, is_hosted=True)
    refuse_alignment(request.graph)
    if isinstance(program, Exception):
        raise program
    return _Submission(job, seen, location, views, program, run).start()


def _location_of(request: JobRequest) -> str:
    place = request.configuration.get(options.CHECKPOINT_DIR)
    title = f"Job {request.name!r}"
    if not place:
        raise StreamingOnConnectError(
            f"{title} reads a stream by Spark, its SparkSession is one of Spark Connect, and it has no checkpoint location. "
            "Its driver's side runs on the server, and reports there.",
            hint="Set execution.checkpointing.dir to a folder that the server and its workers reach.",
        )
    whole = whole_place(place)
    try:
        storage = open_storage(whole)
    except (ObjectStoreError, ObstoreNotFoundError):
        return whole  # the server may have what this process lacks
    if isinstance(storage, LocalStorage) and _PATTERN.search(storage.location):
        raise StreamingOnConnectError(
            f"{title} is to have its checkpoints at {storage.location}, which Spark, through which its client hears of it, "
            "takes for a pattern of many paths.",
            hint="Give it a location without any of the characters [ ] { } * ? in execution.checkpointing.dir.",
        )
    return storage.location


def _refuse_functions(request: JobRequest) -> None:
    for node in request.graph.sources:
        if isinstance(node.source, FunctionSource):
            raise StreamingOnConnectError(
                f"{node.name!r} is a SourceFunction, which runs in this process, and Job {request.name!r} reads a stream by "
                "Spark as well: in a session of Spark Connect, the driver's side of such a job runs on the server.",
                hint="Give each a job of its own, or run the program in a classic session: "
                "SparkSession.builder.master(...), or spark-submit.",
            )


class _Submission:
    """A job on its way to the server.

    Args:
        job: The job, as it is compiled here.
        seen: What is noted of it.
        location: Its checkpoint location.
        views: Its DataFrames.
        program: The program, pickled.
        run: What is called on the server.
    """

    def __init__(
        self,
        job: PreparedJob,
        seen: ObservedJob,
        location: str,
        views: Views,
        program: bytes,
        run: RunThere,
    ) -> None:
        self._run = pickle.dumps(run)
        self._job = job
        self._spark: SparkSession = job.spark
        self._seen = seen
        self._location = location
        self._files = client_files(job.spark, location)
        self._views = views
        self._program = program
        self._code = code_of(job.request.python_files)
        self._digest = _digest_of(job, self._code.version)
        self._host: Mailbox | None = None
        self._note: JobNote | None = None

    def start(self) -> RunningJob:
        """Start it, or find it."""
        self._host = self._running()
        request, seen = self._job.request, self._seen
        feed = EpochFeed()
        run = RemoteRun(
            self._job.title,
            self._spark,
            self._begun,
            feed,
            seen,
            collects=bool(request.collectors),
            find=self._running,
        )
        with ExitStack() as at_end:
            at_end.callback(self._views.drop)
            at_end.callback(self._drop_note, run)
            kept = at_end.pop_all()
        return RemoteJob(
            run,
            job_id=seen.job_id,
            request=request,
            program=self._job.compiled.program,
            feed=feed,
            clean_up=kept.close,
            observed=seen,
            patience=15.0,
        )

    def _begun(self) -> tuple[StreamingQuery | None, Mailbox]:
        found = self._begin()
        name = self._job.request.name
        self._note = note_of(self._spark, self._location, self._seen.job_id, name)
        if self._note is not None:
            keep_note(self._note)
        return found

    def _drop_note(self, run: RemoteRun) -> None:
        if self._note is not None and run.is_over:
            drop_note(self._note)

    def _begin(self) -> tuple[StreamingQuery | None, Mailbox]:
        found, self._host = self._host, None
        if found is not None:
            return None, found
        job_id, files = self._seen.job_id, self._job.compiled.program.files
        folder = f"{time.time_ns() // 1_000_000:015d}-{job_id}-{self._digest}"
        self._views.make()
        session: Any = self._spark
        payload = packed_for(job_id, folder, session.session_id, files, self._program)
        travels_by_code(carried)
        host: Any = carried.host_of(*self._code, self._run, payload)
        batch = self._spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        writer = batch.writeStream.foreachBatch(host).trigger(availableNow=True)
        with query_name(self._spark, self._job.request.name) as name:
            try:
                query = started(writer.queryName(f"{name} (driver)"))
            except PySparkException as error:
                raise _as_lack_of_packages(error, self._job.title) from error
        return query, Mailbox(self._files, folder)

    def _running(self) -> Mailbox | None:
        """Return the way to the driver that runs the job already; None if there is none.

        Raises:
            JobRunsElsewhereError: If it runs another program.
        """
        folder = living_driver(self._files)
        if folder is None:
            return None
        _, job_id, digest = folder.split("-", 2)
        if digest != self._digest:
            raise JobRunsElsewhereError(
                f"A job runs at the checkpoint location {self._location}, on a server of Spark Connect, whose program is another "
                f"one than that of {self._job.title}, or another version of it: its operators, its settings, its script or the "
                "modules that it imports are not the same.",
                hint="Stop that job first, with 'penstock stop', or penstock.spark.attach() and stop(). Or give this one a "
                "location of its own in execution.checkpointing.dir.",
            )
        _LOG.warning(
            "%s runs already, on the server of Spark Connect: it goes on, and this program follows it.",
            shown_name(self._job.request.name),
        )
        self._seen.job_id = job_id
        found = Mailbox(self._files, folder)
        found.skip_to_now()
        return found


def _as_lack_of_packages(error: PySparkException, title: str) -> Exception:
    """Return the error of a job for which the server's Python does not start; else the same."""
    if not is_too_late(error):
        return error
    return WorkerPythonError(
        f"{title} cannot run with the Python of the server, which does not start for a streaming query.",
        hint="Install in it what Spark itself needs for foreachBatch there: pip install 'pyspark[connect]'. The server's log "
        "says what is missing. If nothing is, it was too busy to start a process within ten seconds: start the program again.",
    )


def _digest_of(job: PreparedJob, code: str) -> str:
    """Return what tells versions of a program apart: its operators, its settings, its modules and its script."""
    structure = [
        (
            vertex.vertex_id,
            vertex.parallelism,
            vertex.max_parallelism,
            vertex.source,
            [(operator.operator_id, operator.name) for operator in vertex.operators],
        )
        for vertex in job.compiled.program.vertices
    ]
    main = getattr(sys.modules["__main__"], "__file__", None)
    script = Path(main).read_bytes() if main and Path(main).is_file() else b""
    parts = [
        repr(structure).encode(),
        repr(_settings_of(job)).encode(),
        code.encode(),
        script,
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _settings_of(job: PreparedJob) -> list[tuple[str, str]]:
    settings = job.request.configuration.to_dict().items()
    return sorted((key, value) for key, value in settings if not key.startswith(_OF_CLIENT))
