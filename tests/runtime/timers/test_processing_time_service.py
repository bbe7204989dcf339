from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.timers.manual_clock import ManualClock

from penstock.errors import ProcessingTimeServiceShutDownError
from penstock.runtime.timers.processing_time_service import (
    MonotonicClock,
    ProcessingTimeService,
    SystemProcessingTimeService,
    TestProcessingTimeService,
    system_clock,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(now=100)


@pytest.fixture
def service(clock: ManualClock) -> SystemProcessingTimeService:
    return SystemProcessingTimeService(clock)


def test_a_callback_comes_a_millisecond_after_its_time(
    clock: ManualClock, service: SystemProcessingTimeService
) -> None:
    calls: list[int] = []
    service.register_timer(105, calls.append)
    clock.now = 105
    assert service.fire_due() == 0
    clock.now = 106
    assert service.fire_due() == 1
    assert service.fire_due() == 0
    assert calls == [105]


def test_a_callback_for_the_past_comes_at_once(service: SystemProcessingTimeService) -> None:
    calls: list[int] = []
    service.register_timer(99, calls.append)
    service.register_timer(100, calls.append)
    service.fire_due()
    assert calls == [99]


def test_callbacks_come_in_the_order_of_their_times(service: SystemProcessingTimeService) -> None:
    calls: list[str] = []
    for name, due in {"b": 7, "d": 9, "a": 3, "c": 7}.items():
        service.register_timer(due, lambda _, name=name: calls.append(name))  # type: ignore[misc]
    assert service.next_timestamp() == 3
    service.fire_due()
    assert calls == ["a", "b", "c", "d"]
    assert service.next_timestamp() is None


def test_the_time_may_be_given(service: SystemProcessingTimeService) -> None:
    calls: list[int] = []
    service.register_timer(500, calls.append)
    service.fire_due(500)
    assert calls == []
    service.fire_due(501)
    assert calls == [500]


def test_a_cancelled_callback_does_not_come(service: SystemProcessingTimeService) -> None:
    calls: list[int] = []
    kept, cancelled = (service.register_timer(due, calls.append) for due in (1, 2))
    assert cancelled.is_pending
    assert cancelled.cancel()
    assert not cancelled.is_pending
    assert not cancelled.cancel()
    service.fire_due()
    assert calls == [1]
    assert not kept.is_pending
    assert not kept.cancel()


def test_callbacks_may_register_and_cancel(service: SystemProcessingTimeService) -> None:
    calls: list[int] = []

    def again(timestamp: int) -> None:
        calls.append(timestamp)
        victim.cancel()
        service.register_timer(timestamp + 30, again)

    service.register_timer(10, again)
    victim = service.register_timer(20, calls.append)
    service.fire_due()
    assert calls == [10, 40, 70]
    assert service.next_timestamp() == 100


def test_after_quiesce_nothing_is_called(service: SystemProcessingTimeService) -> None:
    calls: list[int] = []
    before = service.register_timer(1, calls.append)
    service.quiesce()
    after = service.register_timer(1, calls.append)
    assert service.fire_due() == 0
    assert not before.is_pending
    assert not after.is_pending
    assert service.current_processing_time() == 100
    assert calls == []


def test_a_callback_may_quiesce_the_service(service: SystemProcessingTimeService) -> None:
    calls: list[int] = []
    service.register_timer(1, lambda _: service.quiesce())
    service.register_timer(2, calls.append)
    service.fire_due()
    assert calls == []


def test_after_shutdown_nothing_can_be_registered(service: SystemProcessingTimeService) -> None:
    calls: list[int] = []
    service.register_timer(1, calls.append)
    service.shutdown()
    service.quiesce()
    service.fire_due()
    assert calls == []
    with pytest.raises(ProcessingTimeServiceShutDownError, match="Hint: "):
        service.register_timer(1, calls.append)


def test_what_a_callback_raises_is_seen_and_the_rest_still_comes(
    service: SystemProcessingTimeService,
) -> None:
    calls: list[int] = []

    def fail(timestamp: int) -> None:
        raise ValueError(timestamp)

    service.register_timer(1, fail)
    service.register_timer(2, calls.append)
    with pytest.raises(ValueError, match="1"):
        service.fire_due()
    service.fire_due()
    assert calls == [2]


def test_the_end_of_time_never_comes(clock: ManualClock) -> None:
    service = SystemProcessingTimeService(clock)
    service.register_timer(MAX_TIMESTAMP, lambda _: None)
    assert service.fire_due(MAX_TIMESTAMP) == 0


def test_in_tests_a_callback_comes_at_its_time() -> None:
    service = TestProcessingTimeService(now=3)
    calls: list[int] = []
    service.register_timer(5, calls.append)
    service.advance(1)
    assert calls == []
    service.set_current_time(5)
    assert calls == [5]


@given(st.lists(st.integers(-10, 10)))
def test_a_monotonic_clock_shows_the_latest_time_ever_read(readings: list[int]) -> None:
    source = iter(readings)
    clock = MonotonicClock(lambda: next(source), previous=0)
    shown = [clock() for _ in readings]
    assert shown == [max([0, *readings[: index + 1]]) for index in range(len(readings))]
    assert clock.previous == max([0, *readings])


def test_the_system_clock_counts_milliseconds() -> None:
    assert abs(system_clock() - time.time() * 1000) < 60_000


REGISTRATIONS = st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=30)


@given(REGISTRATIONS, st.lists(st.integers(0, 25), max_size=5))
def test_what_is_due_and_not_cancelled_is_called_once_in_order(
    registrations: list[tuple[int, bool]], times: list[int]
) -> None:
    service: ProcessingTimeService = TestProcessingTimeService()
    calls: list[tuple[int, int]] = []
    handles = [
        service.register_timer(due, lambda at, number=number: calls.append((at, number)))  # type: ignore[misc]
        for number, (due, _) in enumerate(registrations)
    ]
    for handle, (_, is_cancelled) in zip(handles, registrations, strict=True):
        if is_cancelled:
            handle.cancel()
    for now in sorted(times):
        service.fire_due(now)
    due = sorted(
        (at, number)
        for number, (at, is_cancelled) in enumerate(registrations)
        if not is_cancelled and at <= max(times, default=-1)
    )
    assert calls == due
