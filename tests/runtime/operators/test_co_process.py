from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Types
from penstock.errors import (
    UnsupportedOperationError,
    UserFunctionError,
)
from penstock.runtime.exchange.elements import Block, StreamRecord, Watermark
from penstock.runtime.operators.co_process import CoProcessOperator, KeyedCoProcessOperator
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.state.descriptors import ListStateDescriptor
from penstock.runtime.timers.internal_timer import TimeDomain
from penstock.testing import TwoInputOperatorHarness

backends = pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
SIDE = OutputTag("side")


class Sides:
    """Tells which input a record came through, and its timestamp."""

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield 1, value, ctx.timestamp()

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield 2, value, ctx.timestamp()
        yield SIDE, value


class Shared:
    """Keeps what comes through both inputs in one list of the key, and tells it at a timer."""

    def open(self, context: Any) -> None:
        self.seen = context.get_list_state(ListStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, value: Any, ctx: Any) -> None:
        self.seen.add(("left", value))
        ctx.timer_service().register_event_time_timer(value[1])

    def process_element2(self, value: Any, ctx: Any) -> None:
        self.seen.add(("right", value))
        ctx.timer_service().register_processing_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), ctx.time_domain(), list(self.seen.get())
        yield SIDE, timestamp


class TestWithoutKeys:
    def test_each_input_has_its_method(self) -> None:
        with TwoInputOperatorHarness(CoProcessOperator(Sides())) as harness:
            harness.process_element2("b", timestamp=7)
            harness.process_element1("a", timestamp=5)
            harness.process_element1("c")

            assert harness.get_output() == [
                StreamRecord((2, "b", 7), 7),
                StreamRecord((1, "a", 5), 5),
                StreamRecord((1, "c", None), None),
            ]
            assert harness.get_side_output(SIDE) == [StreamRecord("b", 7)]

    def test_blocks_go_through_whole(self) -> None:
        with TwoInputOperatorHarness(CoProcessOperator(Sides())) as harness:
            harness.operator.process_block2(Block(["a", "b"], [1, 2]))

            assert harness.extract_output_values() == [(2, "a", 1), (2, "b", 2)]

    def test_timers_are_refused(self) -> None:
        class Timed(Sides):
            def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
                ctx.timer_service().register_event_time_timer(1)
                yield from ()

        with (
            TwoInputOperatorHarness(CoProcessOperator(Timed())) as harness,
            pytest.raises(UnsupportedOperationError),
        ):
            harness.process_element2("a")

    @pytest.mark.parametrize("number", [1, 2])
    def test_what_a_method_raises_is_told_with_the_record(self, number: int) -> None:
        class Failing:
            def process_element1(self, value: Any, ctx: Any) -> Any:
                raise ValueError("first")

            def process_element2(self, value: Any, ctx: Any) -> Any:
                raise ValueError("second")

        with (
            TwoInputOperatorHarness(CoProcessOperator(Failing())) as harness,
            pytest.raises(UserFunctionError) as raised,
        ):
            getattr(harness, f"process_element{number}")("the record")

        assert ("first", "second")[number - 1] in raised.value.message
        assert raised.value.record == "'the record'"


class TestWithKeys:
    @backends
    def test_both_inputs_share_state_and_timers(self, backend: str) -> None:
        operator = KeyedCoProcessOperator(Shared())
        with TwoInputOperatorHarness(
            operator, key_selector1=0, key_selector2=0, state_backend=backend
        ) as harness:
            harness.process_element1(("a", 50), timestamp=1)
            harness.process_element2(("b", 60), timestamp=2)
            harness.restore(harness.snapshot())
            harness.process_element2(("a", 70), timestamp=3)
            harness.set_processing_time(65)
            harness.process_both_watermarks(55)

            assert harness.get_output() == [
                StreamRecord(("b", TimeDomain.PROCESSING_TIME, [("right", ("b", 60))]), 60),
                StreamRecord(
                    ("a", TimeDomain.EVENT_TIME, [("left", ("a", 50)), ("right", ("a", 70))]), 50
                ),
                Watermark(55),
            ]
            assert [record.value for record in harness.get_side_output(SIDE)] == [60, 50]

    def test_timers_wait_for_the_slower_input(self) -> None:
        operator = KeyedCoProcessOperator(Shared())
        with TwoInputOperatorHarness(operator, key_selector1=0, key_selector2=0) as harness:
            harness.process_element1(("a", 50), timestamp=1)
            harness.process_watermark1(100)
            assert harness.get_output() == []
            harness.process_watermark2(50)
            assert len(harness.extract_output_values()) == 1

    def test_records_without_keys_are_a_defect(self) -> None:
        with (
            TwoInputOperatorHarness(KeyedCoProcessOperator(Shared())) as harness,
            pytest.raises(TypeError, match="without keys"),
        ):
            harness.process_element2(("a", 1))
