"""Sees before a job runs whether its workers write checkpoints to the place that the driver reads them from."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.checkpoint.storage import Storage, open_storage
from penstock.errors import CheckpointNotSharedError, PenstockError


def check_shared(spark: SparkSession, storage: Storage, what: str) -> None:
    """Have a worker write a file to a job's checkpoint location, and look for it here.

    Args:
        spark: The session, whose workers have penstock.
        storage: The location.
        what: What is to run, as in "Job 'x'".

    Raises:
        CheckpointNotSharedError: If the file is not there.
        PenstockError: If a worker cannot write.
    """
    location, folder = storage.location, f"probe-{uuid.uuid4().hex}"

    def write_and_tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                open_storage(location).write(f"{folder}/file", [b"penstock"])
            except PenstockError as error:
                yield pa.RecordBatch.from_pydict({"error": [pickle.dumps(error)]})

    try:
        for row in spark.range(0, 1, 1, 1).mapInArrow(write_and_tell, "error binary").collect():
            raise pickle.loads(row.error)
        if not storage.names(folder):
            raise CheckpointNotSharedError(
                f"{what} cannot keep its state: a worker has written a file to the checkpoint location {location}, and the "
                "driver does not find it there. Under this path each machine has a disk of its own.",
                hint="Set execution.checkpointing.dir to an object store, such as s3://bucket/folder, or to a folder that is "
                "mounted on all machines. See docs/object-stores.md.",
            )
    finally:
        storage.delete_folder(folder)
