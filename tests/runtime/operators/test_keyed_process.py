from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import Harness, records_of
from tests.runtime.strategies import blocks

from penstock.common import Time, Types
from penstock.datastream import KeyedProcessFunction, StateTtlConfig, ValueStateDescriptor
from penstock.errors import UserFunctionError
from penstock.runtime.context import RuntimeContext
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.operators.keyed_process import KeyedProcessContext, KeyedProcessOperator
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.timers.internal_timer import TimeDomain
from penstock.runtime.timestamp import MIN_TIMESTAMP

backends = pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
SIDE = OutputTag("side")


class Timers:
    """Does with each record what it says: pairs of the name of a method and a time."""

    def process_element(self, value: Any, ctx: KeyedProcessContext) -> Iterable[Any] | None:
        for order, time in value:
            getattr(ctx.timer_service(), f"{order}_time_timer")(time)
        return None

    def on_timer(self, timestamp: int, ctx: KeyedProcessContext) -> Iterator[Any]:
        timers = ctx.timer_service()
        yield timestamp, ctx.get_current_key(), ctx.time_domain(), timers.current_watermark()
        yield SIDE, ctx.timestamp()


def ready(backend: str = "hashmap", function: Any = None) -> Harness:
    return Harness(KeyedProcessOperator(function or Timers()), name="Mine", backend=backend)


@given(blocks(with_timestamps=None, with_keys=True))
def test_the_context_tells_timestamp_and_key_of_the_record(block: Block) -> None:
    def asked(value: Any, context: KeyedProcessContext) -> Iterator[Any]:
        yield value, context.timestamp(), context.get_current_key()

    harness = ready(function=asked)
    harness.process(block.values, block.timestamps, block.keys)

    assert harness.output.values() == records_of(block)
    assert [time for _, time in harness.output.records()] == [t for _, t, _ in records_of(block)]


@backends
def test_timers_fire_before_the_watermark_goes_on(backend: str) -> None:
    harness = ready(backend)
    orders = [("register_event", 5), ("register_event", 9), ("register_event", 7)]
    harness.process([orders, [("delete_event", 7)], [("register_event", 3)]], None, ["a", "a", "b"])
    harness.operator.process_watermark(8)

    event = TimeDomain.EVENT_TIME
    assert harness.output.records() == [((3, "b", event, 8), 3), ((5, "a", event, 8), 5)]
    assert harness.output.records("side") == [(3, 3), (5, 5)]
    assert harness.output.log[-1] == ("watermark", 8)
    assert [kind for kind, _ in harness.output.log] == ["side side", "main", "watermark"]


@backends
def test_timers_of_the_clock_fire_when_it_is_moved(backend: str) -> None:
    harness = ready(backend)
    orders = [("register_processing", time) for time in (5, 9, 7)]
    harness.process([orders, [("delete_processing", 7)]], None, ["a", "a"])
    harness.time.set_current_time(8)

    expected = (5, "a", TimeDomain.PROCESSING_TIME, MIN_TIMESTAMP)
    assert harness.output.records() == [(expected, 5)]
    assert harness.output.records("side") == [(5, 5)]
    harness.time.set_current_time(9)
    assert [value[0] for value in harness.output.values()] == [5, 9]


def test_a_generator_is_run_under_the_key_of_its_record() -> None:
    def late(value: Any, context: KeyedProcessContext) -> Iterator[Any]:
        yield context.get_current_key()
        yield context.get_current_key()

    harness = ready(function=late)
    harness.process([1, 2], None, ["a", "b"])

    assert harness.output.values() == ["a", "a", "b", "b"]


@pytest.mark.parametrize("error", [ZeroDivisionError, StopIteration])
def test_an_error_tells_its_record(error: type[Exception]) -> None:
    def fail(value: int, context: KeyedProcessContext) -> list[int]:
        if value == 2:
            raise error("mine")
        return [value]

    with pytest.raises(UserFunctionError, match="mine") as raised:
        ready(function=fail).process([1, 2, 3], None, ["a", "b", "c"])
    assert (raised.value.operator, raised.value.record) == ("Mine", "2")


def test_an_error_of_a_timer_tells_its_time_and_key() -> None:
    class Failing(Timers):
        def on_timer(self, timestamp: int, ctx: KeyedProcessContext) -> Iterator[Any]:
            yield 1 // 0

    harness = ready(function=Failing())
    harness.process([[("register_event", 5)]], None, ["a"])
    with pytest.raises(UserFunctionError, match="on the timer for 5 of the key 'a'") as raised:
        harness.operator.process_watermark(8)
    assert raised.value.operator == "Mine"


def test_refuses_records_without_keys() -> None:
    with pytest.raises(TypeError, match="'Mine' got records without keys"):
        ready().process([[]])


def test_an_epoch_that_failed_leaves_no_results() -> None:
    def fail(value: int, context: KeyedProcessContext) -> Iterator[int]:
        yield 1 // value

    harness = ready(function=fail)
    with pytest.raises(UserFunctionError):
        harness.process([1, 0], None, ["a", "a"])
    harness.begin_epoch()
    harness.process([1], None, ["a"])

    assert harness.output.values() == [1]


class Cleaned:
    """Counts the records of each key, in a state whose clean-up follows every record."""

    def open(self, context: RuntimeContext) -> None:
        config = (
            StateTtlConfig.new_builder(Time.hours(1))
            .cleanup_incrementally(1, run_cleanup_for_every_record=True)
            .build()
        )
        descriptor = ValueStateDescriptor("count", Types.LONG())
        descriptor.enable_time_to_live(config)
        self.count = context.get_state(descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessContext) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def test_keys_are_told_to_a_state_that_is_cleaned_at_every_record() -> None:
    harness = ready(function=Cleaned())
    for _ in range(2):
        harness.process([0, 0, 0], None, ["a", "b", "a"])
    assert harness.output.values() == [
        ("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2), ("a", 4)
    ]  # fmt: skip


@pytest.mark.parametrize("timestamp", [None, 7])
def test_many_results_of_a_record_leave_in_blocks(timestamp: int | None) -> None:
    def repeated(value: int, _: KeyedProcessContext) -> Iterator[Any]:
        for number in range(value):
            yield number
            yield SIDE, -number

    harness = ready(function=repeated)
    count = 2 * BLOCK_SIZE + 1
    harness.process([count], None if timestamp is None else [timestamp], ["a"])

    assert harness.output.records() == [(number, timestamp) for number in range(count)]
    assert harness.output.records("side") == [(-number, timestamp) for number in range(count)]


class WithoutTimers(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value)


def test_only_functions_with_timers_of_their_own_want_epochs_without_records() -> None:
    assert ready().operator.wants_wake_ups
    without = ready(function=WithoutTimers())
    assert not without.operator.wants_wake_ups
    assert not ready(function=lambda value, ctx: None).operator.wants_wake_ups
    without.process([5], None, ["a"])
    without.operator.process_watermark(9)
    assert without.output.records() == []


class Shapes:
    """Gives values of all shapes, and changes afterwards what can be changed in them."""

    def process_element(self, value: list[str], ctx: KeyedProcessContext) -> Iterator[Any]:
        for shape in value:
            found = SHAPES[shape]()
            yield found
            for item in (found, *found) if isinstance(found, (list, tuple)) else ():
                if isinstance(item, list):
                    item.append("changed")


SHAPES: dict[str, Any] = {
    "number": lambda: 1,
    "text": lambda: "a",
    "none": lambda: None,
    "pair": lambda: (1, "a"),
    "other pair": lambda: ("a", 2.5),
    "empty": tuple,
    "one": lambda: (1,),
    "wide": lambda: (1, 2, 3),
    "nested": lambda: (1, (2, 3)),
    "list": lambda: [1, 2],
    "list in a pair": lambda: (1, [2]),
    "list in a wide one": lambda: (1, 2, [3]),
    "dict": lambda: {1: [2]},
}


@given(st.binary(min_size=43, max_size=43))
def test_results_of_all_shapes_come_out_as_they_were(drawn: bytes) -> None:
    """Up to six records with up to six results; the first byte of a record says how many."""
    names = sorted(SHAPES)
    shapes = [
        [names[number % len(names)] for number in drawn[place + 1 :][: drawn[place] % 7]]
        for place in range(1, 7 * (drawn[0] % 7), 7)
    ]
    harness = ready(function=Shapes())
    found: list[str] = []
    harness.output.collect = lambda block: found.extend(map(repr, block.values))  # type: ignore[method-assign]
    harness.process(shapes, None, [0] * len(shapes))

    assert found == [repr(SHAPES[shape]()) for record in shapes for shape in record]
