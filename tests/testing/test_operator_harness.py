from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.common import WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from penstock.errors import (
    FunctionNotSerializableError,
    InvalidArgumentError,
    InvalidConfigurationValueError,
    InvalidFunctionError,
    InvalidKeyError,
    UnsupportedOperationError,
)
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block
from penstock.runtime.keys.key_groups import key_group, key_group_range
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.testing import (
    OneInputOperatorHarness,
    StateEntry,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)

BACKENDS = ["hashmap", "rocksdb"]


def plus(left: int, right: int) -> int:
    return left + right


def summing(**options: Any) -> OneInputOperatorHarness:
    options.setdefault("key_selector", lambda number: number % 3)
    return OneInputOperatorHarness(ReduceOperator(plus), **options)


class Odd(WatermarkGenerator):
    """Emits a watermark behind each odd number."""

    def on_event(self, event: int, event_timestamp: int, output: WatermarkOutput) -> None:
        if event % 2:
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Diary(StreamOperator):
    """Emits what it is called for."""

    def _write(self, what: Any) -> None:
        self.output.collect(Block([what]))

    def open(self) -> None:
        self._write("open")

    def begin_epoch(self, epoch: Epoch) -> None:
        self._write(("begin", epoch.number))

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self._write(value)

    def snapshot(self) -> bytes:
        self._write("snapshot")
        return b"kept"

    def restore(self, snapshot: bytes | None) -> None:
        self._write(("restore", snapshot))

    def flush(self) -> None:
        self._write("flush")

    def end_input(self) -> None:
        self._write("end")

    def close(self) -> None:
        self._write("close")


def test_an_operator_lives_as_in_a_job() -> None:
    harness = OneInputOperatorHarness(Diary())
    harness.process_element("record")
    snapshot = harness.snapshot()
    harness.restore(snapshot)
    harness.end_input()
    harness.close()
    assert harness.extract_output_values() == [
        *["open", ("restore", None), ("begin", 0), "record", "flush", "snapshot"],
        *[("restore", b"kept"), ("begin", 1), "close"],
        *["open", ("restore", b"kept"), ("begin", 0), "end", "flush", "close"],
    ]


def test_an_operator_without_keys_gets_records_watermarks_and_status() -> None:
    harness = OneInputOperatorHarness(MapOperator(str))
    harness.process_element(1, timestamp=10)
    harness.process_element(2)
    harness.process_watermark(10)
    harness.process_watermark_status(WatermarkStatus.IDLE)
    harness.end_input()

    assert harness.get_output() == [
        StreamRecord("1", 10),
        StreamRecord("2"),
        Watermark(10),
        WatermarkStatus.IDLE,
        Watermark(MAX_TIMESTAMP),
    ]
    assert harness.extract_output_values() == ["1", "2"]
    assert harness.keyed_state_entries() == []
    assert harness.num_event_time_timers() == harness.num_processing_time_timers() == 0
    metrics = harness.operator.metrics
    assert (metrics.records_in, metrics.records_out) == (2, 2)
    assert metrics.input_watermark == metrics.output_watermark == MAX_TIMESTAMP

    harness.clear_output()
    assert harness.get_output() == []


@pytest.mark.parametrize("before", BACKENDS)
@pytest.mark.parametrize("after", BACKENDS)
def test_state_is_shown_and_restored_on_any_backend(before: str, after: str) -> None:
    with summing(state_backend=before) as harness:
        for number in [1, 2, 4]:
            harness.process_element(number)
        entries = harness.keyed_state_entries()
        assert sorted(entries) == [StateEntry("reduce", 1, 5), StateEntry("reduce", 2, 2)]
        assert harness.num_keyed_state_entries() == 2
        snapshot = harness.snapshot()
        harness.process_element(7)
        assert harness.extract_output_values() == [1, 2, 5, 12]

    with summing(state_backend=after) as restored:
        restored.restore(snapshot)
        assert sorted(restored.keyed_state_entries()) == sorted(entries)
        restored.process_element(7)
        assert restored.extract_output_values() == [12]


def test_a_harness_goes_back_to_its_own_snapshot() -> None:
    harness = summing()
    harness.process_element(1)
    harness.process_watermark(5)
    harness.set_processing_time(100)
    snapshot = harness.snapshot()
    harness.process_element(1)
    harness.process_watermark(8)
    harness.set_processing_time(200)
    before = harness.operator
    harness.restore(snapshot)

    assert harness.operator is not before
    assert harness.get_processing_time() == 200
    assert harness.operator.metrics.input_watermark == 5
    assert harness.operator.output.watermark == 5
    harness.process_watermark(6)
    harness.process_element(1)
    assert harness.extract_output_values() == [1, 2, 2]
    assert harness.get_output()[-2:] == [Watermark(6), StreamRecord(2)]


def test_each_snapshot_holds_everything() -> None:
    for backend in BACKENDS:
        with summing(state_backend=backend) as harness:
            harness.process_element(1)
            harness.snapshot()
            harness.process_element(2)
            last = harness.snapshot()
            assert list(harness.operator.state.changes()) == []
            harness.restore(last)
            assert len(harness.keyed_state_entries()) == 2


def test_an_operator_takes_along_what_it_keeps_beside_keyed_state() -> None:
    strategy = WatermarkStrategy.for_generator(Odd).with_timestamp_assigner(lambda event, _: event)
    harness = OneInputOperatorHarness(TimestampsAndWatermarksOperator(strategy, 200))
    for number in [2, 5, 4]:
        harness.process_element(number)
    snapshot = harness.snapshot()
    harness.restore(snapshot)
    harness.process_element(3)
    harness.process_element(7)

    assert harness.get_output() == [
        StreamRecord(2, 2),
        StreamRecord(5, 5),
        Watermark(5),
        StreamRecord(4, 4),
        StreamRecord(3, 3),
        StreamRecord(7, 7),
        Watermark(7),
    ]


def test_keys_are_found_by_field_too() -> None:
    harness = OneInputOperatorHarness(ReduceOperator(lambda left, right: right), key_selector=0)
    harness.process_element(("a", 1))
    assert harness.keyed_state_entries() == [StateEntry("reduce", "a", ("a", 1))]


def test_a_subtask_takes_only_its_own_keys() -> None:
    owned = [n for n in range(20) if key_group(n, 8) in key_group_range(1, 2, 8)]
    other = next(n for n in range(20) if n not in owned)
    harness = summing(
        key_selector=lambda number: number, parallelism=2, max_parallelism=8, subtask=1
    )
    harness.process_element(owned[0])
    with pytest.raises(InvalidArgumentError, match="belongs to subtask 0"):
        harness.process_element(other)
    assert harness.operator.context.get_task_name_with_subtasks() == "Reduce (2/2)"
    assert harness.operator.context.get_max_number_of_parallel_subtasks() == 8


def test_a_snapshot_of_another_subtask_is_refused() -> None:
    harness = summing()
    with pytest.raises(InvalidArgumentError, match=r"range\(0, 64\)"):
        harness.restore(summing(parallelism=2).snapshot())
    harness.process_element(1)
    assert harness.extract_output_values() == [1]


def test_time_does_not_go_back() -> None:
    harness = OneInputOperatorHarness(MapOperator(str), processing_time=50)
    assert harness.get_processing_time() == 50
    harness.set_processing_time(60)
    harness.process_watermark(7)
    harness.process_watermark(7)
    with pytest.raises(InvalidArgumentError, match="clock of the harness cannot go back from 60"):
        harness.set_processing_time(59)
    with pytest.raises(InvalidArgumentError, match="watermark of the harness cannot go back"):
        harness.process_watermark(MIN_TIMESTAMP)


def test_output_outlives_the_harness_and_nothing_else_does() -> None:
    harness = summing()
    harness.process_element(1)
    harness.close()
    harness.close()
    assert harness.extract_output_values() == [1]
    for late in (
        lambda: harness.process_element(1),
        lambda: harness.process_watermark(1),
        harness.end_input,
        harness.snapshot,
        harness.keyed_state_entries,
        harness.event_time_timers,
    ):
        with pytest.raises(UnsupportedOperationError, match="closed"):
            late()


def test_what_cannot_run_is_refused() -> None:
    lock = threading.Lock()
    with pytest.raises(FunctionNotSerializableError, match="'lock' is a lock"):
        OneInputOperatorHarness(MapOperator(lambda value: (value, lock)))
    with pytest.raises(InvalidFunctionError, match="one argument"):
        summing(key_selector=lambda: 0)
    with pytest.raises(InvalidConfigurationValueError, match="'redis'"):
        summing(state_backend="redis")
    with pytest.raises(InvalidKeyError):
        summing(key_selector=lambda number: {number}).process_element(1)
