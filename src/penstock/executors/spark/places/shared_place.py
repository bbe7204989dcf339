"""Sees before a job runs whether its workers write checkpoints to the place that the driver reads them from."""

from __future__ import annotations

import uuid
from typing import Final

from pyspark.sql import SparkSession

from penstock.checkpoint.storage import Storage, open_storage
from penstock.errors import CheckpointNotSharedError
from penstock.executors.spark.frames.called_on_workers import called_on_workers

_MOST_FILES: Final = 64


def check_shared(spark: SparkSession, storage: Storage, what: str) -> None:
    """Have workers write files to a job's checkpoint location, and look for them here.

    There are as many tasks as run at once, but 64 at most, so that each executor has some unless there are many.

    Args:
        spark: The session, whose workers have penstock.
        storage: The location.
        what: What is to run, as in "Job 'x'".

    Raises:
        CheckpointNotSharedError: If one of the files is not there.
        PenstockError: If a worker cannot write.
    """
    location, folder = storage.location, f"probe-{uuid.uuid4().hex}"

    def write() -> str:
        name = f"{folder}/{uuid.uuid4().hex}"
        open_storage(location).write(name, [b"penstock"])
        return name

    try:
        written = called_on_workers(spark.range(_MOST_FILES), write)
        if not set(written) <= set(storage.names(folder)):
            raise CheckpointNotSharedError(
                f"{what} cannot keep its state: workers have written files to the checkpoint location {location}, and the "
                "driver does not find all of them there. Under this path machines have disks of their own.",
                hint="Set execution.checkpointing.dir to an object store, such as s3://bucket/folder, or to a folder that is "
                "mounted on all machines. See docs/object-stores.md.",
            )
    finally:
        storage.delete_folder(folder)
