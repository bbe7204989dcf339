"""Runs programs on Spark."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from penstock.common.options import PROFILE
from penstock.common.running_job import RunningJob
from penstock.errors import NoCheckpointLocationWarning
from penstock.executors.checkpoints import Checkpoints
from penstock.executors.client import Job
from penstock.executors.driver.start import releasing
from penstock.executors.epoch_feed import EpochFeed
from penstock.executors.job import EpochRunner
from penstock.executors.key_groups import with_known_key_groups
from penstock.executors.port import JobRequest
from penstock.executors.profile_log import ProfileLog
from penstock.executors.publishing import Publisher, drop_uncommitted, open_files_of
from penstock.executors.spark.attempts import Attempts
from penstock.executors.spark.bounded import BoundedRun
from penstock.executors.spark.failures import spark_errors
from penstock.executors.spark.frame_result import results_frame
from penstock.executors.spark.prepared_job import PreparedJob
from penstock.executors.spark.streaming import StreamingRun
from penstock.executors.spark.workers import note_end
from penstock.graph.alignment import refuse_alignment
from penstock.runtime.user_code import stack_level_of_user


class SparkExecutor:
    """Runs programs on Spark: streaming ones under `foreachBatch`, bounded ones as batch actions."""

    def submit(self, request: JobRequest) -> RunningJob:
        """Start a job.

        Raises:
            PenstockError: If the program cannot be run.
        """
        with spark_errors(f"Job {request.name!r}"):
            return self._submit(request)

    def _submit(self, request: JobRequest) -> RunningJob:
        job = PreparedJob(request, is_cancellable=not request.is_awaited)
        if job.is_streaming:
            refuse_alignment(request.graph)
        with releasing() as taken:
            return self._start(request, job, taken)

    def _start(self, request: JobRequest, job: PreparedJob, taken: ExitStack) -> RunningJob:
        epochs = max(job.bounded.values(), default=1)
        checkpoints = Checkpoints(
            request.configuration,
            has_epochs=job.is_streaming or epochs > 1,
            has_files=bool(job.sinks),
            open_files=partial(open_files_of, job.sinks),
            drop=partial(drop_uncommitted, job.sinks),
        )
        taken.callback(checkpoints.close)
        taken.callback(note_end, job.job_id)
        if job.is_streaming and not checkpoints.is_durable:
            _warn_of_state(request)
        job.program = with_known_key_groups(job.program, checkpoints)
        feed = EpochFeed()
        if request.configuration.get(PROFILE):
            job.program = replace(job.program, is_profiled=True)
            feed.profile = ProfileLog(job.program)
        publisher = Publisher(job.sinks, checkpoints.location, lambda: checkpoints.kept)
        publisher.open()
        taken.callback(publisher.close)
        runner = EpochRunner(
            job.program,
            job.job_id,
            checkpoints,
            publisher,
            feed,
            job.bounded,
            main_classes=job.main_classes,
        )

        def make_run() -> BoundedRun | StreamingRun:
            if job.is_streaming:
                return StreamingRun(job, runner, checkpoints, request.configuration)
            return BoundedRun(job, runner, epochs)

        attempts = Attempts(job, make_run)
        taken.callback(attempts.clean_up)
        return Job(
            job.job_id,
            request,
            job.program,
            feed,
            attempts,
            attempts.interrupt,
            taken.close,
        )

    def to_data_frame(self, request: JobRequest, collect_id: str, schema: Any) -> DataFrame:
        """See `Executor.to_data_frame`.

        Raises:
            PenstockError: If the program is not bounded, or cannot run.
        """
        with spark_errors("to_data_frame"):
            return results_frame(PreparedJob(request), collect_id, schema)


def _warn_of_state(request: JobRequest) -> None:
    """Say so where state will be lost with the job."""
    operators = [node.operator for node in request.graph.nodes.values()]
    if any(operator.is_stateful or operator.has_broadcast_state for operator in operators):
        warnings.warn(
            NoCheckpointLocationWarning(
                f"The streaming job {request.name!r} has state and no checkpoint location: when it ends, "
                "by whatever cause, it can only begin anew.\n\nHint: Set execution.checkpointing.dir to "
                "a folder that the driver and all workers reach."
            ),
            stacklevel=stack_level_of_user(),
        )
