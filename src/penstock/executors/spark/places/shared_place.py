"""Sees before a job runs whether its workers write checkpoints to the place that the driver reads them from."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.checkpoint.storage import Storage, open_storage
from penstock.errors import CheckpointNotSharedError, PenstockError

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

    def write_and_tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            name = f"{folder}/{uuid.uuid4().hex}"
            told: str | PenstockError = name
            try:
                open_storage(location).write(name, [b"penstock"])
            except PenstockError as error:
                told = error
            yield pa.RecordBatch.from_pydict({"told": [pickle.dumps(told)]})

    try:
        # Tasks without a row write nothing.
        rows = spark.range(_MOST_FILES).mapInArrow(write_and_tell, "told binary").collect()
        told = [pickle.loads(row.told) for row in rows]
        for error in told:
            if isinstance(error, PenstockError):
                raise error
        if not set(told) <= set(storage.names(folder)):
            raise CheckpointNotSharedError(
                f"{what} cannot keep its state: workers have written files to the checkpoint location {location}, and the "
                "driver does not find all of them there. Under this path machines have disks of their own.",
                hint="Set execution.checkpointing.dir to an object store, such as s3://bucket/folder, or to a folder that is "
                "mounted on all machines. See docs/object-stores.md.",
            )
    finally:
        storage.delete_folder(folder)
