"""The asynchronous operator, in virtual time: nobody sleeps."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.runtime.async_io.async_kit import BOTH, metrics, scripted, values
from tests.runtime.async_io.scripts import Ask, retries

from penstock.datastream import (
    AsyncOptions,
    OnFailure,
)
from penstock.errors import (
    InvalidArgumentError,
)
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block
from penstock.testing import AsyncFunctionHarness, StreamRecord, Watermark, WatermarkStatus


class TestOrder:
    def put_the_example(self, harness: AsyncFunctionHarness) -> None:
        harness.process_watermark(1)
        for name, delay in [("r1", 30), ("r2", 20), ("r3", 10)]:
            harness.process_element(Ask(name, (delay,)))
        harness.process_watermark(2)
        harness.process_element(Ask("r4", (5,)))

    def test_ordered(self) -> None:
        with scripted() as harness:
            self.put_the_example(harness)
            assert values(harness) == ["w1"]
            harness.set_processing_time(29)
            assert values(harness) == []
            harness.set_processing_time(30)
            assert values(harness) == ["r1", "r2", "r3", "w2", "r4"]

    def test_unordered(self) -> None:
        with scripted(ordered=False) as harness:
            self.put_the_example(harness)
            assert values(harness) == ["w1"]
            harness.set_processing_time(10)
            assert values(harness) == ["r3"]
            harness.set_processing_time(29)
            assert values(harness) == ["r2"]
            harness.set_processing_time(30)
            assert values(harness) == ["r1", "w2", "r4"]

    @BOTH
    def test_results_have_their_records_timestamps(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered) as harness:
            harness.process_element(Ask("a", (20,)), timestamp=7)
            harness.process_element(Ask("b", (20,)))
            harness.end_input()
            assert harness.get_output() == [
                StreamRecord("a", 7),
                StreamRecord("b"),
                Watermark(2**63 - 1),
            ]

    def test_a_change_of_status_keeps_its_place(self) -> None:
        with scripted() as harness:
            harness.process_element(Ask("a", (20,)))
            harness.process_watermark_status(WatermarkStatus.IDLE)
            assert harness.get_output() == []
            harness.set_processing_time(20)
            assert harness.get_output() == [StreamRecord("a"), WatermarkStatus.IDLE]

    def test_several_results_or_none(self) -> None:
        async def spread(number: int) -> list[int]:
            return [number] * number

        with AsyncFunctionHarness(spread) as harness:
            for number in (2, 0, 1):
                harness.process_element(number, timestamp=number)
            assert harness.get_output() == [
                *[StreamRecord(2, 2), StreamRecord(2, 2)],
                StreamRecord(1, 1),
            ]


class TestCapacity:
    @BOTH
    def test_a_full_queue_makes_the_task_wait(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered, capacity=2) as harness:
            for name in range(6):
                harness.process_element(Ask(name, (10,)))
            assert harness.get_processing_time() == 20
            assert sorted(values(harness)) == [0, 1, 2, 3]
            assert harness.function.most_running == 2
            harness.end_input()
            assert harness.function.most_running == 2

    @pytest.mark.parametrize("settings", [{"capacity": 0}, {"timeout": -1}])
    def test_what_the_harness_is_not_given(self, settings: dict[str, int]) -> None:
        with pytest.raises(InvalidArgumentError):
            scripted(**settings)

    def test_watermarks_take_room(self) -> None:
        with scripted(capacity=2) as harness:
            harness.process_element(Ask("a", (10,)))
            harness.process_watermark(1)
            assert harness.get_processing_time() == 0
            harness.process_watermark(2)
            assert harness.get_processing_time() == 10

    @BOTH
    def test_a_block_larger_than_the_capacity(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered, capacity=3) as harness:
            harness._entry.collect(Block([Ask(name, (10,)) for name in range(20)]))
            harness.end_input()
            assert values(harness)[:-1] == [*range(20)]
            assert harness.function.most_running == 3
            # Each begins when another ends, and not only when there is room in the queue.
            assert [time for _, time in harness.function.times] == [n // 3 * 10 for n in range(20)]

    def test_calls_that_do_not_end_when_cancelled_take_no_place(self) -> None:
        async def stubborn(value: int) -> list[int]:
            while value < 3:
                try:
                    await asyncio.sleep(10)
                    break
                except asyncio.CancelledError:
                    continue
            return [value]

        drop = AsyncOptions(on_failure=OnFailure.drop())
        with AsyncFunctionHarness(stubborn, timeout=100, capacity=1, options=drop) as harness:
            harness._entry.collect(Block([0, 1, 2, 3, 4]))
            harness.end_input()
            assert values(harness)[:-1] == [3, 4]

    def test_one_at_a_time(self) -> None:
        with scripted(capacity=1, ordered=False) as harness:
            for name in range(3):
                harness.process_element(Ask(name, (10,)))
                harness.process_watermark(name)
            harness.end_input()
            assert values(harness)[:-1] == [0, "w0", 1, "w1", 2, "w2"]


class TestEpochs:
    @BOTH
    def test_calls_that_end_in_time_are_waited_for(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered) as harness:
            harness.process_element(Ask("a", (9_999,)))
            harness.snapshot()
            assert values(harness) == ["a"]
            assert harness.operator.next_wake_up() is None

    @BOTH
    def test_a_call_that_hangs_is_waited_for_once(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered, drain_timeout=1000) as harness:
            harness.process_element(Ask("hangs", (30_000,)))
            harness.snapshot()
            assert harness.get_processing_time() == 1000
            harness.snapshot()
            assert harness.get_processing_time() == 1000
            harness.set_processing_time(30_000)
            assert values(harness) == ["hangs"]
            assert harness.function.calls == {"hangs": 1}

    @BOTH
    def test_the_last_epoch_of_a_run_waits_for_all_calls(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered, drain_timeout=1000) as harness:
            harness.process_element(Ask("hangs", (30_000,)))
            harness.snapshot()
            harness.operator.restore(harness.operator.snapshot())
            harness.operator.begin_epoch(Epoch("job", 1, settles=True))
            harness.process_element(Ask("slow", (60_000,)))
            harness.snapshot()
            assert values(harness) == ["hangs", "slow"]
            assert harness.operator.next_wake_up() is None
            assert harness.function.calls == {"hangs": 1, "slow": 1}

    def test_unordered_records_pass_a_call_that_hangs(self) -> None:
        with scripted(ordered=False, drain_timeout=1000) as harness:
            harness.process_element(Ask("hangs", (30_000,)))
            harness.snapshot()
            for name in range(3):
                harness.process_element(Ask(name, (10,)))
                harness.snapshot()
            assert values(harness) == [0, 1, 2]
            assert harness.get_processing_time() == 1030

    def test_another_copy_calls_again_and_keeps_order(self) -> None:
        with scripted(drain_timeout=1000) as harness:
            harness.process_element(Ask("a", (5_000,)), timestamp=1)
            harness.process_watermark(1)
            harness.process_element(Ask("b", (10,)), timestamp=2)
            snapshot = harness.snapshot()
            old = harness.function
            harness.restore(snapshot)
            assert old.cancelled == ["a"]
            harness.end_input()
            assert values(harness)[:-1] == ["a", "w1", "b"]
            assert harness.function.calls == {"a": 1, "b": 1}

    def test_an_epoch_that_was_given_up_leaves_nothing(self) -> None:
        with scripted(drain_timeout=1000) as harness:
            harness.process_element(Ask("a", (5_000,)))
            taken = harness.operator.snapshot
            harness.snapshot()
            committed = taken()
            # An attempt that ends nowhere, and then another one.
            harness.process_element(Ask("b", (50_000,)))
            harness.operator.restore(committed)
            harness.operator.begin_epoch(next(harness._epochs))
            harness.process_element(Ask("c", (10,)))
            harness.end_input()
            assert values(harness)[:-1] == ["a", "c"]
            assert harness.function.cancelled == ["b"]
            assert harness.function.calls["a"] == 1

    def test_what_was_emitted_in_an_epoch_that_was_given_up_is_called_again(self) -> None:
        with scripted(drain_timeout=1000) as harness:
            harness.process_element(Ask("a", (5_000,)))
            harness.snapshot()
            committed = harness.operator.snapshot()
            harness.set_processing_time(5_000)
            assert values(harness) == ["a"]
            harness.operator.restore(committed)
            harness.operator.begin_epoch(next(harness._epochs))
            harness.end_input()
            assert values(harness)[:-1] == ["a"]

    def test_more_than_the_capacity_can_be_taken_up(self) -> None:
        with scripted(capacity=10, drain_timeout=0) as harness:
            for name in range(10):
                harness.process_element(Ask(name, (100,)))
            snapshot = harness.snapshot()
        with scripted(capacity=3) as smaller:
            smaller.restore(snapshot)
            smaller.end_input()
            assert values(smaller)[:-1] == [*range(10)]
            assert smaller.function.most_running == 3

    def test_failures_of_calls_that_nobody_waits_for_are_not_heard(self) -> None:
        with scripted(drain_timeout=0) as harness:
            harness.process_element(Ask("a", (100,), failures=1))
            harness.snapshot()
            harness.operator.restore(None)
            harness.operator.begin_epoch(next(harness._epochs))
            harness.end_input()
            assert values(harness) == ["w9223372036854775807"]

    def test_wake_ups_come_later_and_later(self) -> None:
        with scripted(drain_timeout=0) as harness:
            harness.process_element(Ask("a", (60_000,)))
            harness.snapshot()
            waits = []
            for now in (0, 1000, 30_000):
                harness.set_processing_time(now)
                wake_up = harness.operator.next_wake_up()
                assert wake_up is not None
                waits.append(wake_up - now)
            assert waits == [50, 250, 1000]

    def test_records_that_cannot_be_pickled(self) -> None:
        async def waits(value: Any) -> list[Any]:
            await asyncio.sleep(100)
            return []

        from penstock.errors import ValueNotSerializableError

        with AsyncFunctionHarness(waits, drain_timeout=0) as harness:
            harness.process_element(lambda: None)
            with pytest.raises(ValueNotSerializableError, match="AsyncWait"):
                harness.snapshot()


def test_waiting_for_the_end_does_not_make_the_queue_full() -> None:
    with scripted(capacity=10) as harness:
        harness.process_element(Ask("a", (10,)))
        harness.end_input()
        assert metrics(harness)["queue"].summary()["max"] == 10


def test_metrics() -> None:
    with scripted(timeout=1000, retry=retries(1, 10), ordered=False, capacity=4) as harness:
        harness.process_element(Ask("a", (20,)))
        harness.process_element(Ask("b", (20,), failures=1))
        harness.process_element(Ask("c", (10**6,), late=()))
        found = metrics(harness)
        assert (found["in_flight"], found["completed"]) == (3, 0)
        assert found["queue"].summary()["max"] == 75.0
        harness.end_input()
        found = metrics(harness)
        assert (found["in_flight"], found["completed"], found["retried"]) == (-3, 3, 1)
        assert (found["timed_out"], found["failed"], found["cached"]) == (1, 0, 0)
        assert found["latency"].summary()["max"] == 1000.0
        assert found["latency"].percentile(0.3) == pytest.approx(20, rel=0.06)
