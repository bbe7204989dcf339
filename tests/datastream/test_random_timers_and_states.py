"""Random programs of timers and state, on every backend and parallelism, wherever epochs are cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.datastream.event_time import MAX, MIN, PER_RECORD, own_time, results, with_backend
from tests.strategies import any_of, from_zero

from penstock.common import Types
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.testing import TestingSource

Order = tuple[str, int]
"""`add` to the sum, `clear` it, or `register` or `delete` a timer for a time."""

Event = tuple[int, int, tuple[Order, ...]]
"""A time, a key, and what to do."""


class Random(KeyedProcessFunction):
    """Does what the events say; timers emit the sum, and some of them register or delete others."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))
        self.log = runtime_context.get_list_state(ListStateDescriptor("log", Types.INT()))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        for order, number in value[2]:
            if order == "add":
                self.sum.update((self.sum.value() or 0) + number)
            elif order == "clear":
                self.sum.clear()
            elif order == "register":
                timers.register_event_time_timer(number)
            else:
                timers.delete_event_time_timer(number)
        self.log.add(value[0])
        yield (
            ctx.get_current_key(),
            "record",
            value[0],
            self.sum.value(),
            timers.current_watermark(),
        )

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        timers = ctx.timer_service()
        if timestamp % 3 == 0:
            timers.register_event_time_timer(timestamp + 4)
        if timestamp % 5 == 0:
            timers.delete_event_time_timer(timestamp + 2)
        if timestamp % 7 == 0:
            self.sum.clear()
        log = list(self.log.get() or ())
        self.log.clear()
        key = ctx.get_current_key()
        yield key, "timer", timestamp, self.sum.value(), timers.current_watermark(), log


def model(events: Sequence[Event]) -> list[Any]:
    """What each key's results are, with a watermark behind every record."""
    found: list[Any] = []
    sums: dict[int, int | None] = {}
    logs: dict[int, list[int]] = {}
    timers: set[tuple[int, int]] = set()
    watermark = MIN

    def advance(to: int) -> None:
        while due := [timer for timer in timers if timer[0] <= to]:
            time, key = min(due)
            timers.remove((time, key))
            if time % 3 == 0:
                timers.add((time + 4, key))
            if time % 5 == 0:
                timers.discard((time + 2, key))
            if time % 7 == 0:
                sums[key] = None
            found.append((key, "timer", time, sums.get(key), to, logs.pop(key, [])))

    for time, key, orders in events:
        for order, number in orders:
            if order == "add":
                sums[key] = (sums.get(key) or 0) + number
            elif order == "clear":
                sums[key] = None
            elif order == "register":
                timers.add((number, key))
            else:
                timers.discard((number, key))
        logs.setdefault(key, []).append(time)
        found.append((key, "record", time, sums.get(key), watermark))
        if time > watermark:
            watermark = time
            advance(watermark)
    advance(MAX)
    return found


def by_key(found: Sequence[Any]) -> dict[int, list[Any]]:
    """Only what one key sees has an order."""
    return {key: [entry for entry in found if entry[0] == key] for key in {e[0] for e in found}}


ORDERS = [
    *product(["register", "register", "delete"], range(41)),
    *product(["add", "clear"] * 6, from_zero(-5, 5)),
]
EVENTS = st.tuples(any_of(range(31), range(5)), st.lists(st.sampled_from(ORDERS), max_size=3)).map(
    lambda drawn: (*drawn[0], tuple(drawn[1]))
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(EVENTS, max_size=8), min_size=1, max_size=4),
    any_of([1, 2, 5], ["hashmap"] * 2 + ["rocksdb"], [1, 3, 1024]),
)
def test_random_programs_do_what_the_model_does(
    epochs: list[list[Event]], where: tuple[int, str, int]
) -> None:
    parallelism, backend, block_size = where
    env = with_backend(backend, parallelism)
    strategy = PER_RECORD.with_timestamp_assigner(own_time)
    source = TestingSource(epochs, block_size=block_size)
    stream = env.from_source(source, strategy, "events").set_parallelism(1)
    found = results(stream.key_by(lambda event: event[1]).process(Random()))
    assert by_key(found) == by_key(model([event for epoch in epochs for event in epoch]))
