"""What workers of Spark hold of a job's state is bounded, wherever its epochs run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.executors.spark.conftest import StreamOf

from penstock.common import Configuration, Types
from penstock.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.runtime.task import registry

pytestmark = pytest.mark.spark

KEYS, EPOCHS, SUBTASKS = 320, 8, 16
LIMIT = 256 << 10
VALUE = 2_000


class Counting(KeyedProcessFunction):
    """Counts the records of a key beside a value of two kilobytes; tells what its process holds."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(
            ValueStateDescriptor("state", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.state.value() or (0, ""))[0] + 1
        self.state.update((count, f"{value.key}" * (VALUE // len(f"{value.key}"))))
        yield value.key, count, os.getpid(), registry._MEMORY.held


def test_each_process_holds_a_part_of_the_state(spark: SparkSession, stream_of: StreamOf) -> None:
    configuration = Configuration().set_string("execution.epoch.available-now", "true")
    configuration.set_string("state.backend.memory.limit", f"{LIMIT} bytes")
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    rows = [{"key": key} for key in range(KEYS)]
    counts = (
        env.set_parallelism(SUBTASKS)
        .from_data_frame(stream_of("key int", *[rows] * EPOCHS))
        .key_by(lambda row: row.key)
        .process(Counting())
    )

    found = list(counts.execute_and_collect())

    assert sorted(record[:2] for record in found) == [
        (key, count) for key in range(KEYS) for count in range(1, EPOCHS + 1)
    ]
    held: dict[int, int] = {}
    for _, _, process, size in found:
        held[process] = max(held.get(process, 0), size)
    # All of it is more than twice the limit; beyond the limit is what the running subtask has by itself.
    assert KEYS * VALUE > 2 * LIMIT
    assert all(0 < size <= LIMIT + 4 * KEYS * VALUE // SUBTASKS for size in held.values()), held
