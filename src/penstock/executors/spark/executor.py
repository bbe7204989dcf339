"""Runs programs on Spark."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.common.running_job import RunningJob
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.driver.observation.running_jobs import observed
from penstock.executors.driver.rest.outside import seen_from_outside
from penstock.executors.driver.start import DriverSide, start
from penstock.executors.port import JobRequest
from penstock.executors.spark.connect import refuse_connector
from penstock.executors.spark.ctrl_c import interruptible_start
from penstock.executors.spark.failures import spark_errors
from penstock.executors.spark.frames.frame_result import results_frame
from penstock.executors.spark.hosted.host import run_job
from penstock.executors.spark.hosted.submission import submit_to_server
from penstock.executors.spark.hosted.where import is_for_server
from penstock.executors.spark.places.platforms import refuse_endless
from penstock.executors.spark.places.shared_place import check_shared
from penstock.executors.spark.prepared_job import PreparedJob
from penstock.executors.spark.runs.attempts import Attempts, EpochRun
from penstock.executors.spark.runs.driven import DrivenRun
from penstock.executors.spark.runs.streaming import StreamingRun
from penstock.executors.spark.session import is_local
from penstock.executors.spark.workers import note_end
from penstock.graph.watermarks import refuse_alignment


class SparkExecutor:
    """Runs programs on Spark: those with a stream of Spark's under `foreachBatch`, others as batch actions."""

    def submit(self, request: JobRequest) -> RunningJob:
        """Start a job.

        Raises:
            PenstockError: If the program cannot be run.
        """
        title = f"Job {request.name!r}"
        with observed(request) as seen, spark_errors(title), interruptible_start():
            refuse_endless(request)
            seen_from_outside(request, by_default=True)
            if is_for_server(request):
                return submit_to_server(request, seen, run_here)
            job = PreparedJob(request, seen, is_cancellable=True)
            if job.compiled.is_streaming:
                refuse_connector(job.spark, job.title)
            return _started(job, seen)

    def to_data_frame(self, request: JobRequest, collect_id: str, schema: Any) -> DataFrame:
        """See `Executor.to_data_frame`.

        Raises:
            PenstockError: If the program is not bounded, or cannot run.
        """
        with spark_errors("to_data_frame"):
            return results_frame(PreparedJob(request), collect_id, schema)


def run_here(payload: bytes, spark: SparkSession) -> None:
    """Run a job that a client has sent to this process of a server.

    Args:
        payload: The job.
        spark: The session that the process has been given.
    """
    run_job(payload, spark, _submit_here)


def _submit_here(request: JobRequest, seen: ObservedJob) -> RunningJob:
    title = f"Job {request.name!r}"
    with spark_errors(title):
        return _started(PreparedJob(request, seen, is_cancellable=True), seen)


def _started(job: PreparedJob, seen: ObservedJob) -> RunningJob:
    if job.compiled.has_streams:
        refuse_alignment(job.request.graph)
    return start(job.compiled, partial(_attempts, job), seen)


def _attempts(job: PreparedJob, driver: DriverSide) -> Attempts:
    if driver.checkpoints.is_durable and not is_local(job.spark):
        check_shared(job.spark, driver.checkpoints.storage, job.title)
    job.compiled = replace(job.compiled, program=driver.program)
    driver.at_end.callback(note_end, job.job_id)
    driver.at_end.enter_context(driver.publisher.opened())
    attempts = Attempts(job, partial(_run, job, driver))
    driver.at_end.callback(attempts.clean_up)
    return attempts


def _run(job: PreparedJob, driver: DriverSide, at_end: ExitStack) -> EpochRun:
    if job.compiled.is_streaming:
        return StreamingRun(job, driver.runner, driver.checkpoints, at_end)
    return DrivenRun(job, driver.runner, at_end)
