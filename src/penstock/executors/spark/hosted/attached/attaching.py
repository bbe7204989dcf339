"""Finds jobs that run on a server of Spark Connect, by their checkpoint locations, for programs and for the command."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.common.configuration.configuration import Configuration
from penstock.common.job_client import JobClient
from penstock.errors import InvalidArgumentError
from penstock.executors.spark.hosted.attached.attached_job import AttachedJob, attached_job
from penstock.executors.spark.hosted.attached.brief_session import brief_session, let_go_at_end
from penstock.executors.spark.session import session


def attach(checkpoint_dir: str, *, spark: SparkSession | None = None) -> JobClient:
    """Follow a streaming job that runs on a server of Spark Connect, by its checkpoint location.

    The job's program is not needed, and that this process ends is nothing to the job. What the job logs, and what it
    is restarted after, is logged here too. What it prints, and results that its program collects, are not given here.

    Args:
        checkpoint_dir: The job's checkpoint location, as `execution.checkpointing.dir` has it.
        spark: A session of the server that it runs on, or any other that reaches the location. Default: the one there
            is, or else one of the server that `SPARK_REMOTE` names.

    Returns:
        The job's client, as `execute_async` gives it: `progress`, `savepoint`, `stop` and all else. Waiting for the
        job, as in `result`, raises what it fails with.

    Raises:
        NoRunningJobError: If no job runs there.
        InvalidArgumentError: If it is no location.

    Example:
        ```python
        import penstock.spark

        job = penstock.spark.attach("/checkpoints/clicks")
        print(job.name, job.progress().records_in)
        job.stop_with_savepoint(False, "/savepoints").result()
        ```
    """
    if not isinstance(checkpoint_dir, str) or not checkpoint_dir:
        raise InvalidArgumentError(
            f"{checkpoint_dir!r} is no checkpoint location.",
            hint="Give the path of a folder, or a URL, as execution.checkpointing.dir of the job has it.",
        )
    job = attached_job(session(spark, Configuration()), checkpoint_dir)
    job.look()
    return JobClient(job)


def attached_at(server: str, checkpoint_dir: str) -> AttachedJob:
    """Return a job that runs on a server, for the command: no call waits long for a server that is gone.

    Args:
        server: The server, as "sc://host:15002".
        checkpoint_dir: The job's checkpoint location.

    Raises:
        NoRunningJobError: If no job runs there.
        PenstockError: If the server does not answer.
    """
    spark = brief_session(server)
    found = attached_job(spark, checkpoint_dir)
    let_go_at_end(spark)
    return found
