from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common import Types
from penstock.errors import (
    InvalidFunctionError,
    NoKeyError,
    ReadOnlyStateError,
    StateTypeMismatchError,
    UnknownBroadcastStateError,
)
from penstock.runtime.exchange.elements import StreamRecord, Watermark
from penstock.runtime.operators.broadcast_process import (
    BroadcastOperator,
    BroadcastProcessOperator,
    KeyedBroadcastProcessOperator,
)
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.testing import TwoInputOperatorHarness

backends = pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
SIDE = OutputTag("side")
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
OTHER = MapStateDescriptor("other", Types.STRING(), Types.LONG())
COUNT = ValueStateDescriptor("count", Types.LONG())


class Ruled:
    """Multiplies records by what the rule of their name says; a record of None drops a rule."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        factor = ctx.get_broadcast_state(RULES).get(value[0])
        yield value[0], factor and factor * value[1], ctx.timestamp(), ctx.current_watermark()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        if value[1] is None:
            del rules[value[0]]
        else:
            rules[value[0]] = value[1]
        yield SIDE, (value, ctx.timestamp(), ctx.current_watermark(), ctx.current_processing_time())


def plain(function: Any = None) -> TwoInputOperatorHarness:
    return TwoInputOperatorHarness(BroadcastProcessOperator(function or Ruled(), (RULES, OTHER)))


def keyed(function: Any, backend: str = "hashmap") -> TwoInputOperatorHarness:
    operator = KeyedBroadcastProcessOperator(function, (RULES,))
    return TwoInputOperatorHarness(operator, key_selector1=0, state_backend=backend)


class Reading:
    """Calls what it is given with the context of a record of the given input."""

    def __init__(self, number: int, ask: Callable[[Any], Any]) -> None:
        self._number = number
        self._ask = ask

    def process_element(self, value: Any, ctx: Any) -> Any:
        return [self._ask(ctx)] if self._number == 1 else None

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return [self._ask(ctx)] if self._number == 2 else None


class TestWithoutKeys:
    def test_what_is_broadcast_rules_the_records_after_it(self) -> None:
        with plain() as harness:
            harness.process_both_watermarks(3)
            harness.process_element1(("a", 1), timestamp=5)
            harness.process_element2(("a", 10), timestamp=4)
            harness.process_element1(("a", 2), timestamp=6)
            harness.process_element2(("a", None))
            harness.process_element1(("a", 3))

            assert harness.get_output() == [
                Watermark(3),
                StreamRecord(("a", None, 5, 3), 5),
                StreamRecord(("a", 20, 6, 3), 6),
                StreamRecord(("a", None, None, 3), None),
            ]
            assert harness.get_side_output(SIDE)[0] == StreamRecord((("a", 10), 4, 3, 0), 4)

    def test_the_state_goes_along_to_the_next_epoch(self) -> None:
        with plain() as harness:
            harness.process_element2(("a", 10))
            snapshot = harness.snapshot()
            harness.process_element2(("a", 20))
            harness.process_element2(("b", 20))
            harness.restore(snapshot)
            harness.process_element1(("a", 1))
            harness.process_element1(("b", 1))

            assert [value[1] for value in harness.extract_output_values()] == [10, None]

    def test_an_epoch_writes_what_it_changed(self) -> None:
        with plain() as harness:
            for number in range(1000):
                harness.process_element2((f"rule {number}", number))
            whole = harness.snapshot()
            harness.process_element2(("rule 7", 70))
            assert isinstance(harness.operator, BroadcastOperator)
            changes = b"".join(harness.operator.broadcast_state.changes())

            assert len(changes) < 300 < len(whole)
            assert b"rule 7" in changes

    @pytest.mark.parametrize(
        "change",
        [
            lambda state: state.put("a", 1),
            lambda state: state.put_all({"a": 1}),
            lambda state: state.remove("a"),
            lambda state: state.clear(),
            lambda state: state.__setitem__("a", 1),
            lambda state: state.__delitem__("a"),
        ],
    )
    def test_the_other_side_may_only_read(self, change: Callable[[Any], Any]) -> None:
        function = Reading(1, lambda ctx: change(ctx.get_broadcast_state(RULES)))
        with (
            plain(function) as harness,
            pytest.raises(ReadOnlyStateError, match=r"'rules'"),
        ):
            harness.process_element1(1)

    def test_the_other_side_reads_all_there_is(self) -> None:
        def ask(ctx: Any) -> Any:
            state = ctx.get_broadcast_state(RULES)
            return (
                sorted(state.items()),
                sorted(state.keys()),
                sorted(state.values()),
                sorted(state),
                state.is_empty(),
                "a" in state,
                state.contains("z"),
                state["b"],
                state.get("z"),
            )

        class Full(Reading):
            def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
                ctx.get_broadcast_state(RULES).put_all(value)

        with plain(Full(1, ask)) as harness:
            harness.process_element1(1)
            harness.process_element2({"a": 1, "b": 2})
            harness.process_element1(1)
            empty, full = harness.extract_output_values()

        assert empty == ([], [], [], [], True, False, False, None, None)
        assert full == (
            [("a", 1), ("b", 2)], ["a", "b"], [1, 2], ["a", "b"], False, True, False, 2, None
        )  # fmt: skip

    @pytest.mark.parametrize("number", [1, 2])
    @pytest.mark.parametrize(
        "unknown", [MapStateDescriptor("unknown", Types.STRING(), Types.LONG()), "unknown"]
    )
    def test_a_state_that_was_not_declared_is_refused(self, number: int, unknown: Any) -> None:
        with (
            plain(Reading(number, lambda ctx: ctx.get_broadcast_state(unknown))) as harness,
            pytest.raises(UnknownBroadcastStateError) as raised,
        ):
            getattr(harness, f"process_element{number}")(1)

        assert "the broadcast state 'unknown'; broadcast() was told of 'rules', 'other'" in (
            raised.value.message
        )

    def test_the_name_of_a_declared_state_is_not_enough(self) -> None:
        with (
            plain(Reading(2, lambda ctx: ctx.get_broadcast_state("rules"))) as harness,
            pytest.raises(UnknownBroadcastStateError),
        ):
            harness.process_element2(1)

    def test_a_state_of_another_type_than_was_declared_is_refused(self) -> None:
        other = MapStateDescriptor("rules", Types.LONG(), Types.LONG())
        with (
            plain(Reading(1, lambda ctx: ctx.get_broadcast_state(other))) as harness,
            pytest.raises(StateTypeMismatchError),
        ):
            harness.process_element1(1)


class Counting:
    """Counts records per key, tells the count at a timer, and takes orders over the broadcast."""

    def open(self, context: Any) -> None:
        self.count = context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        step = ctx.get_broadcast_state(RULES).get("step") or 1
        self.count.update((self.count.value() or 0) + step)
        ctx.timer_service().register_event_time_timer(value[1])
        yield ctx.get_current_key(), self.count.value()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        seen = []

        def add(key: Any, state: Any) -> None:
            seen.append((key, state.value()))
            state.update(state.value() + value)

        ctx.get_broadcast_state(RULES).put("step", value)
        ctx.apply_to_keyed_state(COUNT, add)
        yield sorted(seen)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        step = ctx.get_broadcast_state(RULES).get("step")
        yield "timer", ctx.get_current_key(), self.count.value(), step, ctx.time_domain().name


class TestWithKeys:
    @backends
    def test_state_timers_and_all_keys_at_once(self, backend: str) -> None:
        with keyed(Counting(), backend) as harness:
            harness.process_element1(("a", 5), timestamp=1)
            harness.process_element1(("b", 6), timestamp=1)
            harness.process_element1(("a", 5), timestamp=1)
            harness.restore(harness.snapshot())
            harness.process_element2(100)
            harness.process_element1(("a", 7), timestamp=2)
            harness.process_both_watermarks(6)

            assert harness.extract_output_values() == [
                ("a", 1),
                ("b", 1),
                ("a", 2),
                [("a", 2), ("b", 1)],
                ("a", 202),
                ("timer", "a", 202, 100, "EVENT_TIME"),
                ("timer", "b", 101, 100, "EVENT_TIME"),
            ]

    @backends
    def test_keyed_state_has_no_key_where_something_was_broadcast(self, backend: str) -> None:
        class Wrong(Counting):
            def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
                ctx.apply_to_keyed_state(COUNT, lambda key, state: None)
                yield self.count.value()

        with keyed(Wrong(), backend) as harness:
            harness.process_element1(("a", 5))
            with pytest.raises(NoKeyError, match=r"'KeyedBroadcastProcess'"):
                harness.process_element2(1)

    def test_a_generator_cannot_be_applied(self) -> None:
        def never_run(key: Any, state: Any) -> Iterator[Any]:
            yield key

        class Wrong(Counting):
            def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
                ctx.apply_to_keyed_state(COUNT, never_run)

        with (
            keyed(Wrong()) as harness,
            pytest.raises(InvalidFunctionError),
        ):
            harness.process_element2(1)

    def test_a_timer_may_only_read(self) -> None:
        class Wrong(Counting):
            def on_timer(self, timestamp: int, ctx: Any) -> Any:
                ctx.get_broadcast_state(RULES).clear()

        with keyed(Wrong()) as harness:
            harness.process_element1(("a", 5))
            with pytest.raises(ReadOnlyStateError):
                harness.process_both_watermarks(9)
