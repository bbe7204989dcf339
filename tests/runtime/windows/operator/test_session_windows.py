from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.programs import Harness
from tests.runtime.windows.operator.test_window_operator import (
    LATE,
    backends,
    event_timers,
    ready,
    state,
)

from penstock.errors import InvalidTimestampError, UserFunctionError
from penstock.runtime.windows.assigners.session import EventTimeSessionWindows
from penstock.runtime.windows.operator.session_windows import Sessions
from penstock.runtime.windows.operator.window_call import ApplyCall, ProcessCall
from penstock.runtime.windows.operator.window_contents import ReducedRecords
from penstock.runtime.windows.operator.window_operator import WindowOperator


def sessions(backend: str = "hashmap", **options: Any) -> Harness:
    assigner = EventTimeSessionWindows.with_gap(10)
    return ready(assigner, make=WindowOperator, windows=Sessions, backend=backend, **options)


class Told:
    def __init__(self) -> None:
        self.gone: list[Any] = []

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return [(tuple(context.window()), list(elements))]

    def clear(self, context: Any) -> None:
        self.gone.append(tuple(context.window()))


def add(first: int, second: int) -> int:
    return first + second


@backends
def test_a_session_that_grows_has_one_timer(backend: str) -> None:
    harness = sessions(backend, contents=ReducedRecords(add))
    harness.process([1] * 5, [0, 8, 5, 14, 20], ["k"] * 5)
    assert event_timers(harness) == [(9, "k", None)]

    harness.operator.process_watermark(15)
    assert event_timers(harness) == [(29, "k", None)]
    harness.operator.process_watermark(29)
    assert harness.output.records() == [(5, 29)]
    assert (state(harness), event_timers(harness)) == ([], [])


@backends
def test_sessions_of_a_key_are_kept_in_order(backend: str) -> None:
    harness = sessions(backend)
    harness.process(list("abcd"), [40, 0, 20, 41], ["k"] * 4)
    entries = harness.operator.state.entries()

    assert [
        [start, end]
        for name, _, _, value in entries
        if name == "window-sessions"
        for start, end, _ in value
    ] == [[0, 10], [20, 30], [40, 51]]
    # The records in between make one session of two, in the order of time.
    harness.process(["e"], [30], ["k"])
    harness.operator.process_watermark(100)
    assert harness.output.values() == ["b", "c", "a", "d", "e"]
    assert (state(harness), event_timers(harness)) == ([], [])


def test_a_late_record_that_makes_a_fired_session_longer_has_it_fire_again() -> None:
    harness = sessions(contents=ReducedRecords(add), allowed_lateness=50, late_tag=LATE)
    harness.process([1], [0], ["k"])
    harness.operator.process_watermark(12)
    assert harness.output.records() == [(1, 9)]

    harness.process([10], [5], ["k"])
    assert harness.output.records() == [(1, 9)]
    harness.operator.process_watermark(14)
    assert harness.output.records() == [(1, 9), (11, 14)]
    harness.operator.process_watermark(64)
    assert (state(harness), event_timers(harness)) == ([], [])
    harness.process([100], [5], ["k"])
    assert harness.output.records("late") == [(100, 5)]


def test_a_failing_reduce_function_is_told_with_record_and_key() -> None:
    def fail(first: str, second: str) -> str:
        raise ValueError("no")

    harness = sessions(contents=ReducedRecords(fail))
    with pytest.raises(UserFunctionError) as failure:
        harness.process(["x", "y", "z"], [9, 9, 9], ["k", "l", "l"])

    assert "the record 'z', the key 'l'" in str(failure.value)
    assert failure.value.record == "'z'"


def test_a_failing_window_function_is_told_with_key_and_window() -> None:
    def fail(key: Any, window: Any, inputs: list[Any]) -> Any:
        raise ValueError("no")

    harness = sessions(call=ApplyCall(fail))
    harness.process(["x"], [9], ["k"])
    with pytest.raises(UserFunctionError, match="ValueError: no") as failure:
        harness.operator.process_watermark(50)

    assert "failed on the key 'k' and the window TimeWindow(start=9, end=19)" in str(failure.value)


def test_a_window_function_is_told_of_sessions_that_are_gone() -> None:
    harness = sessions(call=ProcessCall(Told()), allowed_lateness=5)
    harness.process(["x"], [9], ["k"])
    harness.operator.process_watermark(18)
    assert harness.output.values() == [((9, 19), ["x"])]
    harness.operator.process_watermark(22)
    function = harness.operator.call.function.function  # type: ignore[attr-defined]
    assert function.gone == []
    harness.operator.process_watermark(23)
    assert function.gone == [(9, 19)]


def test_records_without_timestamps_are_refused() -> None:
    harness = sessions()
    with pytest.raises(InvalidTimestampError, match="the record 'y' has none"):
        harness.process(["x", "y"], [9, None], ["k", "k"])
