from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Harness, records_of
from tests.runtime.strategies import blocks

from penstock.errors import UnsupportedOperationError, UserFunctionError
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.operators.process import ProcessContext, ProcessOperator
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.timestamp import MIN_TIMESTAMP

LATE, ODD = OutputTag("late"), OutputTag("odd")


def routed(value: int, context: ProcessContext) -> Iterable[Any] | None:
    """Send records to the main output, to side outputs, to several, or nowhere."""
    match value % 4:
        case 0:
            return None
        case 1:
            return [(ODD, value)]
        case 2:
            return iter([value, -value])
    return [value, (ODD, value), (LATE, str(value))]


@given(blocks(range(101), with_timestamps=None))
def test_emits_results_and_side_results_with_their_timestamps(block: Block) -> None:
    harness = Harness(ProcessOperator(routed))
    harness.process(block.values, block.timestamps)

    expected: dict[str | None, list[Any]] = {None: [], "odd": [], "late": []}
    for value, timestamp, _ in records_of(block):
        if value % 4 == 2:
            expected[None] += [(value, timestamp), (-value, timestamp)]
        if value % 4 == 3:
            expected[None].append((value, timestamp))
            expected["late"].append((str(value), timestamp))
        if value % 2:
            expected["odd"].append((value, timestamp))
    for tag, records in expected.items():
        assert harness.output.records(tag) == records
    assert len(harness.output.blocks()) <= 1


@given(blocks(with_timestamps=None))
def test_the_context_tells_the_timestamp_of_the_record(block: Block) -> None:
    def asked(value: Any, context: ProcessContext) -> Iterator[Any]:
        yield value, context.timestamp(), None

    harness = Harness(ProcessOperator(asked))
    harness.process(block.values, block.timestamps)

    assert harness.output.values() == records_of(block)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 2 * BLOCK_SIZE + 1), max_size=3), st.booleans())
def test_many_results_are_cut_into_blocks(sizes: list[int], timed: bool) -> None:
    def several(size: int, context: ProcessContext) -> Iterator[Any]:
        for number in range(size):
            yield number
            yield LATE, number

    harness = Harness(ProcessOperator(several))
    harness.process(sizes, list(range(len(sizes))) if timed else None)

    for tag in (None, "late"):
        assert harness.output.records(tag) == [
            (number, place if timed else None)
            for place, size in enumerate(sizes)
            for number in range(size)
        ]
        lengths = [len(block) for block in harness.output.blocks(tag)]
        assert all(length == BLOCK_SIZE for length in lengths[:-1])
        assert all(length <= BLOCK_SIZE for length in lengths)


@pytest.mark.parametrize(
    "result", [("late", 1), (LATE,), (LATE, 1, 2), [LATE, 1], (1, LATE), LATE, None, (LATE, LATE)]
)
def test_only_a_pair_that_begins_with_a_tag_goes_aside(result: Any) -> None:
    harness = Harness(ProcessOperator(lambda value, context: [result]))
    harness.process([1])

    is_side = result == (LATE, LATE)
    assert harness.output.values("late") == [LATE] * is_side
    assert harness.output.values() == [result] * (not is_side)


def test_a_generator_that_raises_half_way_tells_its_record() -> None:
    def results(value: int, context: ProcessContext) -> Iterator[int]:
        yield value
        if value == 2:
            raise ZeroDivisionError("half way")

    harness = Harness(ProcessOperator(results), name="Mine")
    with pytest.raises(UserFunctionError) as raised:
        harness.process([1, 2, 3], [1, 2, 3], ["a", "b", "c"])

    assert (raised.value.operator, raised.value.record) == ("Mine", "2")
    assert str(raised.value).startswith(f'Traceback (most recent call last):\n  File "{__file__}"')


def test_the_records_of_a_block_that_fails_leave_nothing_for_the_next() -> None:
    def results(value: int, context: ProcessContext) -> Iterator[int]:
        yield value // (value - 2)

    harness = Harness(ProcessOperator(results))
    with pytest.raises(UserFunctionError):
        harness.process([3, 2])
    harness.begin_epoch()
    harness.process([4])

    assert harness.output.values() == [2]


class TestTimers:
    @pytest.mark.parametrize("action", ["register", "delete"])
    @pytest.mark.parametrize("domain", ["event", "processing"])
    def test_are_refused(self, action: str, domain: str) -> None:
        def asked(value: int, context: ProcessContext) -> None:
            getattr(context.timer_service(), f"{action}_{domain}_time_timer")(7)

        with pytest.raises(
            UnsupportedOperationError, match="only supported on a keyed stream"
        ) as raised:
            Harness(ProcessOperator(asked), name="Mine").process([1])

        assert str(raised.value).startswith("Operator 'Mine' set or deleted a timer for 7.")
        assert (raised.value.operator, raised.value.record) == ("Mine", "1")

    def test_tell_the_time(self) -> None:
        def asked(value: int, context: ProcessContext) -> Iterator[Any]:
            timers = context.timer_service()
            yield timers.current_processing_time(), timers.current_watermark()

        harness = Harness(ProcessOperator(asked))
        harness.process([1])
        harness.time.set_current_time(70)
        harness.metrics.input_watermark = 5
        harness.process([1])

        assert harness.output.values() == [(0, MIN_TIMESTAMP), (70, 5)]
