"""Records that went nowhere are counted and shown, on both executors."""

from __future__ import annotations

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.observation.test_view import timed, view_of

from penstock.common import Time, Types
from penstock.datastream import AsyncDataStream, AsyncFunction, AsyncOptions, OnFailure, OutputTag
from penstock.datastream.formats import DeserializeFunction
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import LateRecordsDroppedWarning


def test_late_records(new_environment: NewEnvironment, executor: str) -> None:
    env = new_environment()
    name = f"late on {executor}"
    numbers = env.from_source(*timed([[1_000, 9_000], [2_000, 9_500]]), "numbers")
    windows = numbers.key_by(lambda number: 0).window(TumblingEventTimeWindows.of(Time.seconds(5)))
    windows.reduce(max).name("Greatest").print()
    with pytest.warns(LateRecordsDroppedWarning):
        env.execute(name)
    view = view_of(name)

    assert (view.late_records, view.failed_records) == (1, 0)
    (sample,) = view.samples
    assert (sample.kind, sample.operator, sample.record) == ("late", "Greatest", "2000")
    assert sample.reason == "6,999 ms behind the watermark"


def test_dead_letters(new_environment: NewEnvironment, executor: str) -> None:
    env = new_environment()
    name = f"dead on {executor}"
    ids = Types.ROW_NAMED(["id"], [Types.INT()])
    schema = JsonRowDeserializationSchema.builder().type_info(ids).build()
    read = DeserializeFunction(schema, dead_letters=OutputTag("dead"))
    env.from_collection([b'{"id": 1}', b"?"]).process(read).name("Read").print()
    env.execute(name)
    view = view_of(name)

    assert (view.late_records, view.failed_records) == (0, 1)
    (sample,) = view.samples
    assert (sample.kind, sample.operator, sample.record) == ("failed", "Read", "b'?'")
    assert sample.reason


class FailOnTwo(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        if value == 2:
            raise ValueError("two")
        return [value]


def test_calls_that_failed_and_went_to_a_side_output(
    new_environment: NewEnvironment, executor: str
) -> None:
    env = new_environment()
    name = f"calls on {executor}"
    numbers = env.from_collection([1, 2, 3])
    options = AsyncOptions(on_failure=OnFailure.side_output(OutputTag("failed")))
    calls = AsyncDataStream.ordered_wait(numbers, FailOnTwo(), Time.seconds(30), options=options)
    calls.name("Call").print()
    env.execute(name)
    view = view_of(name)

    assert view.failed_records == 1
    (sample,) = view.samples
    found = sample.kind, sample.operator, sample.record, sample.reason
    assert found == ("failed", "Call", "2", "ValueError: two")
