"""Streaming jobs on Spark go on from what the version before committed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.executors.old_checkpoints import make_old

from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Configuration, Row
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import KeyFieldOrderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Job:
    """Sums what comes under the keys that a function makes of numbers."""

    def __init__(self, spark: SparkSession, folder: Path, backend: str) -> None:
        self._spark = spark
        self._inputs = folder / "inputs"
        self.location = folder / "job"
        self._backend = backend
        self._files = 0

    def run(self, key: Callable[[int], Any], *numbers: int) -> list[int]:
        self._inputs.mkdir(exist_ok=True)
        path = self._inputs / f"{self._files:03d}.json"
        path.write_text("\n".join(json.dumps({"number": number}) for number in numbers))
        os.utime(path, (self._files, self._files))
        self._files += 1
        configuration = Configuration().set_string("state.backend.type", self._backend)
        configuration.set_string("execution.checkpointing.dir", str(self.location))
        configuration.set_string("execution.epoch.available-now", "true")
        configuration.set_string("execution.epoch.end-of-input", "false")
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=self._spark)
        reader = self._spark.readStream.schema("number int").option("maxFilesPerTrigger", 1)
        rows = env.set_parallelism(2).from_data_frame(reader.json(str(self._inputs))).uid("rows")
        numbers_ = rows.map(lambda row: int(row.number)).uid("numbers")
        return sorted(numbers_.key_by(key).sum().uid("sums").execute_and_collect())


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_rows_that_are_other_keys_now_are_refused_and_sorted_ones_go_on(
    spark: SparkSession, tmp_path: Path, backend: str
) -> None:
    job = Job(spark, tmp_path, backend)
    assert job.run(lambda number: Row(item=number % 3, shop="s"), 1, 2, 3) == [1, 2, 3]
    make_old(job.location)
    epochs = StoredEpochs(LocalStorage(str(job.location))).numbers()

    with pytest.raises(KeyFieldOrderError, match=r"uid 'sums'.*\(shop, item\)"):
        job.run(lambda number: Row(shop="s", item=number % 3), 4, 5)
    assert StoredEpochs(LocalStorage(str(job.location))).numbers() == epochs

    assert job.run(lambda number: Row(item=number % 3, shop="s"), 6) == [5, 7, 9]
