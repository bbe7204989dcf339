from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.timers.manual_clock import ManualClock
from tests.runtime.timers.test_queues import MAKERS, Maker

from penstock.errors import InvalidTimerError
from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.timers.internal_timer_service import InternalTimerService
from penstock.runtime.timers.processing_time_service import (
    SystemProcessingTimeService,
    TestProcessingTimeService,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

OnTimer = Callable[[str, InternalTimer], None]


class Keys:
    """A key context, and one who is told of timers: notes each with the key that is current."""

    def __init__(self) -> None:
        self.current_key: Any = None
        self.fired: list[tuple[str, InternalTimer]] = []
        self.on_timer: OnTimer = lambda domain, timer: None

    def set_current_key(self, key: Any) -> None:
        self.current_key = key

    def on_event_time(self, timer: InternalTimer) -> None:
        self._fire("event", timer)

    def on_processing_time(self, timer: InternalTimer) -> None:
        self._fire("processing", timer)

    def _fire(self, domain: str, timer: InternalTimer) -> None:
        assert self.current_key == timer.key
        self.fired.append((domain, timer))
        self.on_timer(domain, timer)

    def take(self) -> list[tuple[int, Any]]:
        found = [(timer.timestamp, timer.key) for _, timer in self.fired]
        self.fired.clear()
        return found


class CountingService(TestProcessingTimeService):
    """Keeps the times that callbacks were registered for."""

    def __init__(self) -> None:
        super().__init__()
        self.registered: list[int] = []

    def register_timer(self, timestamp: int, callback: Callable[[int], None]) -> Any:
        self.registered.append(timestamp)
        return super().register_timer(timestamp, callback)


class Fixture:
    def __init__(self, make: Maker) -> None:
        self.keys = Keys()
        self.time = CountingService()
        self.timers = InternalTimerService(self.keys, make(), make(), self.time, self.keys)

    def event(self, timestamp: int, key: Any = "a", namespace: Any = None) -> None:
        self.keys.current_key = key
        self.timers.register_event_time_timer(namespace, timestamp)

    def processing(self, timestamp: int, key: Any = "a", namespace: Any = None) -> None:
        self.keys.current_key = key
        self.timers.register_processing_time_timer(namespace, timestamp)


@pytest.fixture(params=MAKERS)
def on(request: pytest.FixtureRequest) -> Fixture:
    return Fixture(request.param)


def test_a_watermark_fires_the_timers_up_to_it(on: Fixture) -> None:
    for timestamp, key in [(3, "a"), (1, "b"), (2, "a"), (4, "c")]:
        on.event(timestamp, key)
    on.timers.advance_watermark(3)
    assert on.keys.take() == [(1, "b"), (2, "a"), (3, "a")]
    on.timers.advance_watermark(MAX_TIMESTAMP)
    assert on.keys.take() == [(4, "c")]


def test_the_watermark_is_known_before_timers_fire(on: Fixture) -> None:
    seen: list[int] = []
    on.keys.on_timer = lambda domain, timer: seen.append(on.timers.current_watermark)
    on.event(3)
    assert on.timers.current_watermark == MIN_TIMESTAMP
    on.timers.advance_watermark(10)
    assert seen == [10]


def test_a_timer_for_the_past_waits_for_the_next_watermark(on: Fixture) -> None:
    on.timers.advance_watermark(10)
    on.event(5)
    assert on.keys.take() == []
    on.timers.advance_watermark(11)
    assert on.keys.take() == [(5, "a")]


def test_timers_that_timers_register_fire_in_the_same_pass(on: Fixture) -> None:
    def again(domain: str, timer: InternalTimer) -> None:
        on.timers.register_event_time_timer(None, timer.timestamp + 2)

    on.keys.on_timer = again
    on.event(1, "a")
    on.event(2, "b")
    on.timers.advance_watermark(5)
    assert on.keys.take() == [(1, "a"), (2, "b"), (3, "a"), (4, "b"), (5, "a")]


def test_a_timer_may_delete_and_renew_others(on: Fixture) -> None:
    def change(domain: str, timer: InternalTimer) -> None:
        if timer == InternalTimer(1, "a", None):
            on.timers.delete_event_time_timer(None, 2)
            on.timers.delete_event_time_timer(None, 1)
            on.timers.register_event_time_timer("renewed", 1)

    on.event(1)
    on.event(2)
    on.event(2, "b")
    on.keys.on_timer = change
    on.timers.advance_watermark(1)
    assert [timer.namespace for _, timer in on.keys.fired] == [None, "renewed"]
    on.keys.take()
    on.timers.advance_watermark(9)
    assert on.keys.take() == [(2, "b")]


def test_timers_are_told_apart_by_time_key_namespace_and_clock(on: Fixture) -> None:
    on.event(1, "a", None)
    on.event(1, "a", None)
    on.event(1, "a", "window")
    on.event(1, "b", None)
    on.processing(1, "a", None)
    on.keys.current_key = "a"
    on.timers.delete_event_time_timer("other window", 1)
    on.timers.delete_event_time_timer(None, 2)
    on.timers.delete_processing_time_timer("window", 1)
    on.timers.advance_watermark(1)
    assert len(on.keys.fired) == 3
    on.time.set_current_time(1)
    assert on.keys.fired[3:] == [("processing", InternalTimer(1, "a", None))]


def test_a_deleted_timer_does_not_fire(on: Fixture) -> None:
    on.event(1)
    on.processing(1)
    on.timers.delete_event_time_timer(None, 1)
    on.timers.delete_processing_time_timer(None, 1)
    on.timers.advance_watermark(5)
    on.time.set_current_time(5)
    assert on.keys.take() == []


def test_the_service_is_asked_for_the_first_timer_only(on: Fixture) -> None:
    for timestamp in (10, 20, 10, 5, 7):
        on.processing(timestamp)
    assert on.time.registered == [10, 5]
    assert on.time.next_timestamp() == 5
    on.time.set_current_time(5)
    assert on.time.registered == [10, 5, 7]
    on.time.set_current_time(100)
    assert on.time.registered == [10, 5, 7, 10, 20]
    assert on.keys.take() == [(5, "a"), (7, "a"), (10, "a"), (20, "a")]
    assert on.time.next_timestamp() is None


def test_deleting_leaves_the_call_registered(on: Fixture) -> None:
    on.processing(10)
    on.processing(20)
    on.timers.delete_processing_time_timer(None, 10)
    assert on.time.next_timestamp() == 10
    on.time.set_current_time(10)
    assert on.keys.take() == []
    assert on.time.next_timestamp() == 20


def test_timers_fire_up_to_the_time_that_was_asked_for_not_up_to_now(on: Fixture) -> None:
    order: list[tuple[str, int]] = []
    on.keys.on_timer = lambda domain, timer: order.append((domain, timer.timestamp))
    on.processing(10)
    on.processing(30)
    on.time.register_timer(20, lambda timestamp: order.append(("other", timestamp)))
    on.time.set_current_time(50)
    assert order == [("processing", 10), ("other", 20), ("processing", 30)]


def test_a_processing_time_timer_may_register_an_earlier_and_a_later_one(on: Fixture) -> None:
    def change(domain: str, timer: InternalTimer) -> None:
        if timer.timestamp == 10:
            on.timers.register_processing_time_timer(None, 5)
            on.timers.register_processing_time_timer(None, 15)

    on.keys.on_timer = change
    on.processing(10)
    on.processing(20)
    on.time.set_current_time(10)
    assert on.keys.take() == [(10, "a"), (5, "a")]
    assert on.time.next_timestamp() == 15
    on.time.set_current_time(20)
    assert on.keys.take() == [(15, "a"), (20, "a")]


def test_processing_time_timers_fire_after_their_time() -> None:
    keys, clock = Keys(), ManualClock()
    time = SystemProcessingTimeService(clock)
    timers = InternalTimerService(keys, MAKERS[0](), MAKERS[0](), time, keys)
    timers.register_processing_time_timer(None, 10)
    clock.advance(10)
    time.fire_due()
    assert keys.fired == []
    clock.advance(1)
    time.fire_due()
    assert keys.take() == [(10, None)]
    assert timers.current_processing_time() == 11


def test_after_the_end_of_input_no_processing_time_timer_fires(on: Fixture) -> None:
    on.processing(10)
    on.time.quiesce()
    on.processing(5)
    on.time.set_current_time(100)
    assert on.keys.take() == []
    assert on.timers.processing_time_queue.size() == 2


def test_a_copy_resumes_where_the_timers_were_left(on: Fixture) -> None:
    on.processing(10)
    on.event(10)
    time, keys = CountingService(), Keys()
    timers = InternalTimerService(
        keys, on.timers.event_time_queue, on.timers.processing_time_queue, time, keys
    )
    timers.resume(9)
    timers.resume(9)
    assert timers.current_watermark == 9
    time.set_current_time(10)
    assert [domain for domain, _ in keys.fired] == ["processing"]
    timers.advance_watermark(10)
    assert [domain for domain, _ in keys.fired] == ["processing", "event"]


def test_numpy_integers_are_times(on: Fixture) -> None:
    on.event(np.int64(3))  # type: ignore[arg-type]
    on.timers.advance_watermark(3)
    ((_, timer),) = on.keys.fired
    assert type(timer.timestamp) is int


@pytest.mark.parametrize("time", [1.5, "1", None, True, np.float64(1), np.True_, [1]])
def test_what_is_no_integer_is_no_time(on: Fixture, time: Any) -> None:
    for call in (
        on.timers.register_event_time_timer,
        on.timers.register_processing_time_timer,
        on.timers.delete_event_time_timer,
        on.timers.delete_processing_time_timer,
    ):
        with pytest.raises(InvalidTimerError, match=r"(?s)no integer.*Hint: "):
            call(None, time)


@pytest.mark.parametrize("time", [MIN_TIMESTAMP - 1, MAX_TIMESTAMP + 1, 10**30])
def test_a_time_has_64_bits(on: Fixture, time: int) -> None:
    on.keys.current_key = "k1"
    with pytest.raises(InvalidTimerError, match="'k1' has a time that does not fit into 64 bits"):
        on.timers.register_event_time_timer(None, time)


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["event", "processing", "unevent", "unprocessing", "watermark", "clock"]),
        st.integers(0, 12),
        st.sampled_from("abc"),
    ),
    max_size=40,
)


@pytest.mark.parametrize("make", MAKERS)
@given(ACTIONS)
def test_each_timer_fires_once_when_due(make: Maker, actions: list[tuple[str, int, str]]) -> None:
    on = Fixture(make)
    model: dict[str, set[tuple[int, str]]] = {"event": set(), "processing": set()}
    for action, number, key in actions:
        on.keys.current_key = key
        if action in {"watermark", "clock"}:
            domain = "event" if action == "watermark" else "processing"
            due = {timer for timer in model[domain] if timer[0] <= number}
            model[domain] -= due
            if action == "watermark":
                on.timers.advance_watermark(number)
            else:
                on.time.set_current_time(number)
            fired = on.keys.take()
            assert sorted(fired) == sorted(due)
            assert [timestamp for timestamp, _ in fired] == sorted(t for t, _ in due)
        elif action in model:
            model[action].add((number, key))
            (on.event if action == "event" else on.processing)(number, key)
        elif action == "unevent":
            model["event"].discard((number, key))
            on.timers.delete_event_time_timer(None, number)
        else:
            model["processing"].discard((number, key))
            on.timers.delete_processing_time_timer(None, number)


class TestInBatchMode:
    @pytest.fixture(params=MAKERS)
    def on(self, request: pytest.FixtureRequest) -> Fixture:
        fixture = Fixture(request.param)
        keys, queues = fixture.keys, (request.param(), request.param())
        fixture.timers = InternalTimerService(keys, *queues, fixture.time, keys, at_end=True)
        return fixture

    def test_processing_time_timers_wait_for_the_end(self, on: Fixture) -> None:
        on.processing(2, "a")
        on.processing(1, "b")
        on.timers.resume(MIN_TIMESTAMP)
        on.time.advance(10)
        assert on.keys.take() == []
        assert on.time.registered == []

        on.timers.fire_processing_time_timers()
        assert on.keys.take() == [(1, "b"), (2, "a")]
        on.timers.fire_processing_time_timers()
        assert on.keys.take() == []

    def test_what_they_register_never_fires(self, on: Fixture) -> None:
        on.keys.on_timer = lambda domain, timer: on.processing(timer.timestamp + 1)
        on.processing(5)
        on.timers.fire_processing_time_timers()
        assert on.keys.take() == [(5, "a")]
        assert on.timers.processing_time_queue.size() == 0

    def test_a_timer_that_registers_itself_again_fires_once(self, on: Fixture) -> None:
        def register_again(domain: str, timer: InternalTimer) -> None:
            if len(on.keys.fired) < 3:
                on.processing(timer.timestamp)

        on.keys.on_timer = register_again
        on.processing(5)
        on.timers.fire_processing_time_timers()
        assert on.keys.take() == [(5, "a")]
        assert on.timers.processing_time_queue.size() == 0
