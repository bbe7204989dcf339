from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from tests.runtime.programs import Harness

from penstock.common import Duration, Types
from penstock.errors import (
    InvalidTimestampError,
    InvalidTriggerError,
    InvalidWindowError,
    TypeMismatchError,
    UnsupportedOperationError,
)
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.state.descriptors import (
    ListStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.windows.assigners.count_windows import CountSlidingWindowAssigner
from penstock.runtime.windows.assigners.global_windows import GlobalWindows
from penstock.runtime.windows.assigners.sliding import SlidingEventTimeWindows
from penstock.runtime.windows.assigners.tumbling import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.runtime.windows.operator.general_windows import GeneralWindows
from penstock.runtime.windows.operator.window_call import ProcessCall, WindowCall
from penstock.runtime.windows.operator.window_contents import (
    AggregatedRecords,
    ListedRecords,
    ReducedRecords,
)
from penstock.runtime.windows.operator.window_operator import WindowOperator
from penstock.runtime.windows.operator.window_sets import window_operator
from penstock.runtime.windows.triggers.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from penstock.runtime.windows.triggers.count_trigger import CountTrigger
from penstock.runtime.windows.triggers.global_triggers import NeverTrigger
from penstock.runtime.windows.triggers.purging_trigger import PurgingTrigger
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.runtime.windows.triggers.timeout_trigger import ProcessingTimeoutTrigger
from penstock.runtime.windows.triggers.trigger import TriggerResult

LATE, SIDE = OutputTag("late"), OutputTag("side")
SEEN = ListStateDescriptor("seen", Types.LONG())
CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
backends = pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])

general_operator = partial(WindowOperator, windows=GeneralWindows)
"""Runs all windows as those of which nothing is known."""


class Told(EventTimeTrigger):
    """Keeps a log, and does for a record what it says."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        self.log.append(("element", element, timestamp, tuple(window)))
        ctx.get_partitioned_state(SEEN).add(timestamp)
        return element if isinstance(element, TriggerResult) else CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        self.log.append(("time", time, tuple(window)))
        return FIRE

    def on_merge(self, window: Any, ctx: Any) -> None:
        self.log.append(("merge", tuple(window)))
        ctx.merge_partitioned_state(SEEN)

    def clear(self, window: Any, ctx: Any) -> None:
        self.log.append(("clear", tuple(window)))
        ctx.get_partitioned_state(SEEN).clear()


class Numbered:
    """Yields how often the window and the key have had results, and the records."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        seen = ReducingStateDescriptor("seen", lambda a, b: a + b, Types.LONG())
        of_window = context.window_state().get_reducing_state(seen)
        of_window.add(1)
        found = of_window.get()
        of_key = context.global_state().get_reducing_state(seen)
        of_key.add(1)
        yield key, found, of_key.get(), list(elements)
        yield SIDE, tuple(context.window())

    def clear(self, context: Any) -> None:
        self.log.append(tuple(context.window()))
        seen = ReducingStateDescriptor("seen", lambda a, b: a + b, Types.LONG())
        context.window_state().get_reducing_state(seen).clear()


def ready(
    assigner: Any,
    trigger: Any = None,
    contents: Any = None,
    call: Any = None,
    *,
    backend: str = "hashmap",
    make: Any = general_operator,
    batch: bool = False,
    **options: Any,
) -> Harness:
    operator = make(
        assigner,
        trigger or assigner.get_default_trigger(None),
        contents or ListedRecords(),
        call or WindowCall(),
        **options,
    )
    return Harness(operator, name="Mine", backend=backend, batch=batch)


def event_timers(harness: Harness) -> list[Any]:
    (service,) = harness.operator.timers.services  # type: ignore[union-attr]
    timers = service.event_time_queue.iterate()
    return sorted((timer.timestamp, timer.key, timer.namespace) for timer in timers)


def state(harness: Harness) -> list[Any]:
    return sorted(map(repr, harness.operator.state.entries()))


@backends
def test_a_trigger_is_asked_when_the_record_is_there_already(backend: str) -> None:
    harness = ready(TumblingEventTimeWindows.of(10), Told(), backend=backend)
    harness.process([1, FIRE], [3, 4], ["k", "k"])

    assert harness.output.values() == [1, FIRE]
    assert harness.operator.trigger.log == [  # type: ignore[attr-defined]
        ("element", 1, 3, (0, 10)),
        ("element", FIRE, 4, (0, 10)),
    ]


@backends
def test_purging_drops_the_records_alone(backend: str) -> None:
    harness = ready(
        TumblingEventTimeWindows.of(10), Told(), call=ProcessCall(Numbered()), backend=backend
    )
    fire_and_purge = TriggerResult.FIRE_AND_PURGE
    harness.process([1, fire_and_purge, 2, FIRE], [3, 4, 5, 6], ["k"] * 4)

    # The function's state of the window outlives the purge, and so does that of the trigger.
    assert harness.output.records() == [
        (("k", 1, 1, [1, fire_and_purge]), 9),
        (("k", 2, 2, [2, FIRE]), 9),
    ]
    assert harness.output.records("side") == [((0, 10), 9), ((0, 10), 9)]
    assert harness.operator.call.function.function.log == []  # type: ignore[attr-defined]
    assert event_timers(harness) == [(9, "k", TimeWindow(0, 10))]
    harness.operator.process_watermark(9)

    # One timer for the end and for the cleanup: the trigger first, then all goes.
    log = harness.operator.trigger.log  # type: ignore[attr-defined]
    assert log[-2:] == [("time", 9, (0, 10)), ("clear", (0, 10))]
    assert harness.operator.call.function.function.log == [(0, 10)]  # type: ignore[attr-defined]
    assert [entry for entry in harness.operator.state.entries() if entry[1] is not None] == []
    assert event_timers(harness) == []


@backends
def test_a_window_stays_for_the_allowed_lateness(backend: str) -> None:
    harness = ready(TumblingEventTimeWindows.of(10), allowed_lateness=5, backend=backend)
    harness.process([1], [3], ["k"])
    assert [time for time, *_ in event_timers(harness)] == [9, 14]
    harness.operator.process_watermark(13)
    harness.process([2], [4], ["k"])
    harness.operator.process_watermark(14)
    harness.process([3], [5], ["k"])

    assert harness.output.records() == [(1, 9), (1, 9), (2, 9)]
    assert state(harness) == []
    counts = harness.metrics.user.take_counts()
    assert counts.pop("num_late_records_dropped") == 1
    # The window went at 14, and the watermark has come to it.
    assert counts.pop("late_records_lateness_ms").summary()["max"] == 1
    assert counts == {}


def test_the_function_is_not_called_without_contents() -> None:
    harness = ready(TumblingEventTimeWindows.of(10), Told())
    harness.process([1, TriggerResult.PURGE], [3, 4], ["k", "k"])
    assert event_timers(harness) == [(9, "k", TimeWindow(0, 10))]
    harness.operator.process_watermark(9)

    assert harness.output.values() == []
    assert state(harness) == []


def test_a_record_is_late_if_it_is_for_all_its_windows() -> None:
    harness = ready(SlidingEventTimeWindows.of(10, 5), late_tag=LATE)
    harness.operator.process_watermark(9)
    harness.process(["some", "late"], [7, 4], ["k", "k"])
    harness.operator.process_watermark(MAX_TIMESTAMP)

    assert harness.output.records() == [("some", 14)]
    assert harness.output.records("late") == [("late", 4)]
    assert harness.metrics.user.take_counts() == {"num_late_records_dropped": 0}


@pytest.mark.parametrize("lateness", [MAX_TIMESTAMP, MAX_TIMESTAMP - 9])
def test_a_cleanup_time_beyond_64_bits_never_comes(lateness: int) -> None:
    harness = ready(TumblingEventTimeWindows.of(10), allowed_lateness=lateness, late_tag=LATE)
    harness.process([1], [3], ["k"])
    assert [time for time, *_ in event_timers(harness)] == [9]
    harness.operator.process_watermark(MAX_TIMESTAMP - 1)
    harness.process([2], [3], ["k"])

    assert harness.output.records() == [(1, 9), (1, 9), (2, 9)]


def test_the_last_timestamps_there_are_have_a_window() -> None:
    harness = ready(TumblingEventTimeWindows.of(10))
    harness.process([1, 2], [MAX_TIMESTAMP, -(2**63)], ["k", "k"])
    harness.operator.process_watermark(MAX_TIMESTAMP)

    assert sorted(harness.output.values()) == [1, 2]
    assert state(harness) == []


@backends
def test_windows_of_processing_time_end_by_the_clock(backend: str) -> None:
    harness = ready(
        TumblingProcessingTimeWindows.of(10), allowed_lateness=100, late_tag=LATE, backend=backend
    )
    harness.time.set_current_time(3)
    harness.process([1], [-1000], ["k"])
    harness.operator.process_watermark(500)
    harness.process([2], None, ["k"])
    assert harness.output.values() == []
    harness.time.set_current_time(9)

    assert harness.output.records() == [(1, 9), (2, 9)]
    assert state(harness) == []


def test_a_global_window_has_no_end() -> None:
    harness = ready(GlobalWindows.create(), CountTrigger.of(2), contents=ReducedRecords(max))
    harness.process([3, 2, 1, 5], None, ["k"] * 4)
    harness.operator.process_watermark(MAX_TIMESTAMP)

    assert harness.output.records() == [(3, MAX_TIMESTAMP), (5, MAX_TIMESTAMP)]
    assert event_timers(harness) == []


@backends
def test_a_full_count_window_leaves_nothing_behind(backend: str) -> None:
    call = ProcessCall(Numbered())
    harness = ready(CountSlidingWindowAssigner.of(3, 2), call=call, backend=backend)
    harness.process([1, 2, 3, 4, 5], None, ["k"] * 5)

    assert harness.output.values() == [("k", 1, 1, [1, 2, 3]), ("k", 1, 2, [3, 4, 5])]
    kept = [(name, key, value) for name, _, key, value in harness.operator.state.entries()]
    assert ("window-contents", "k", [5]) in kept
    assert len(kept) == 4  # that, the trigger's count of it, the number of records, the key's own


@backends
@pytest.mark.parametrize(
    "contents",
    [ListedRecords(), ReducedRecords(lambda a, b: a + b)],
    ids=["list", "reduce"],
)
def test_in_batch_mode_the_end_of_the_input_is_the_end_of_time(backend: str, contents: Any) -> None:
    class Again(ProcessingTimeTrigger):
        """Would fire for ever."""

        def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
            ctx.register_processing_time_timer(time + 1)
            return FIRE

    harness = ready(
        TumblingProcessingTimeWindows.of(10),
        Again(),
        contents=contents,
        batch=True,
        backend=backend,
    )
    harness.process([5, 7], None, ["k", "l"])
    harness.operator.process_watermark(MAX_TIMESTAMP)

    assert sorted(harness.output.records()) == [(5, 9), (7, 9)]


def test_in_batch_mode_windows_of_event_time_are_gone_when_timers_of_the_clock_fire() -> None:
    """In Flink, too, event time ends first."""
    harness = ready(
        TumblingEventTimeWindows.of(10),
        ProcessingTimeoutTrigger.of(EventTimeTrigger(), Duration.of_seconds(5)),
        batch=True,
    )
    harness.process([5, 7], [5, 7], ["k", "k"])
    harness.operator.process_watermark(MAX_TIMESTAMP)

    assert harness.output.values() == [5, 7]


@pytest.mark.parametrize("make", [general_operator, window_operator])
def test_windows_of_event_time_need_timestamps(make: Any) -> None:
    harness = ready(TumblingEventTimeWindows.of(10), make=make)
    with pytest.raises(InvalidTimestampError, match=r"'Mine' .*'x' has none, with the key 'l'\."):
        harness.process(["y", "x"], [3, None], ["k", "l"])
    with pytest.raises(InvalidTimestampError, match=r"'x' has none, with the key 'k'\."):
        harness.process(["x", "y"], None, ["k", "l"])


class Sum:
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> Any:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


@pytest.mark.parametrize("make", [general_operator, window_operator])
def test_what_is_not_of_its_declared_type_is_told_with_key_and_window(make: Any) -> None:
    accumulator = AggregatedRecords(Sum(), Types.STRING())
    tumbling = TumblingEventTimeWindows.of(10)
    for contents, output_type in ((accumulator, None), (AggregatedRecords(Sum()), Types.STRING())):
        harness = ready(tumbling, contents=contents, make=make, output_type=output_type)
        harness.process([1, 2], [3, 4], ["k", "k"])
        with pytest.raises(TypeMismatchError) as failure:
            harness.operator.process_watermark(9)
        what = "the accumulator" if output_type is None else "the result"
        assert (
            f"Operator 'Mine', the key 'k' and the window TimeWindow(start=0, end=10): {what} is no"
        ) in str(failure.value)


def test_a_function_that_joins_records_has_no_state() -> None:
    class Stateful(Sum):
        def open(self, runtime_context: Any) -> None:
            assert runtime_context.get_task_name() == "Mine"
            runtime_context.get_state(ValueStateDescriptor("x", Types.LONG()))

    with pytest.raises(
        UnsupportedOperationError,
        match=r"'Mine' .* a function that joins the records of windows has none",
    ):
        ready(TumblingEventTimeWindows.of(10), contents=AggregatedRecords(Stateful()))


def test_an_assigner_takes_along_what_it_must_know() -> None:
    class Counting(GlobalWindows):
        known = 0

        def snapshot(self) -> Any:
            return self.known

        def restore(self, snapshot: Any) -> None:
            self.known = snapshot or 0

    operator = ready(Counting(), NeverTrigger()).operator
    operator.assigner.known = 5  # type: ignore[attr-defined]
    snapshot = operator.snapshot()
    operator.restore(None)
    assert operator.assigner.known == 0  # type: ignore[attr-defined]
    operator.restore(snapshot)
    assert operator.assigner.known == 5  # type: ignore[attr-defined]
    assert ready(GlobalWindows.create(), NeverTrigger()).operator.snapshot() is None


def test_only_timers_of_processing_time_need_wake_ups() -> None:
    def wants(assigner: Any, trigger: Any = None) -> bool:
        return ready(assigner, trigger).operator.wants_wake_ups

    tumbling = TumblingEventTimeWindows.of(10)
    assert not wants(tumbling)
    assert wants(tumbling, PurgingTrigger.of(ProcessingTimeTrigger.create()))
    assert wants(TumblingProcessingTimeWindows.of(10))


class Deleting(EventTimeTrigger):
    """Deletes with each timer all that it might have registered."""

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.delete_event_time_timer(window.max_timestamp() + 5)
        return super().on_event_time(time, window, ctx)


@backends
def test_a_trigger_cannot_delete_the_cleanup_of_its_window(backend: str) -> None:
    assigner = TumblingEventTimeWindows.of(10)
    harness = ready(assigner, Deleting(), allowed_lateness=5, backend=backend)
    harness.process([1], [3], ["k"])
    harness.operator.process_watermark(9)
    assert harness.output.values() == [1]
    harness.operator.process_watermark(14)

    assert (state(harness), event_timers(harness)) == ([], [])


def test_a_timeout_that_begins_anew_leaves_the_cleanup_of_its_window() -> None:
    nested = ContinuousProcessingTimeTrigger.of(5)
    trigger = ProcessingTimeoutTrigger.of(nested, 9)
    harness = ready(TumblingProcessingTimeWindows.of(10), trigger)
    harness.process([1], None, ["k"])
    harness.time.set_current_time(5)
    assert harness.output.values() == [1]
    harness.time.set_current_time(10)

    assert state(harness) == []


@backends
def test_a_timeout_leaves_the_end_of_a_window_that_stays_for_late_records(backend: str) -> None:
    trigger = ProcessingTimeoutTrigger.of(ContinuousEventTimeTrigger.of(4), 100)
    harness = ready(TumblingEventTimeWindows.of(10), trigger, allowed_lateness=20, backend=backend)
    harness.process([1], [3], ["k"])
    harness.time.set_current_time(100)
    assert harness.output.values() == [1]
    harness.operator.process_watermark(9)
    assert harness.output.values() == [1, 1]
    # To this trigger any timer is a reason to fire, also the one for the cleanup.
    harness.operator.process_watermark(29)

    assert (harness.output.values(), state(harness), event_timers(harness)) == ([1, 1, 1], [], [])


def test_a_trigger_deletes_timers_of_its_own() -> None:
    class Once(Deleting):
        def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
            ctx.register_event_time_timer(5)
            ctx.delete_event_time_timer(5)
            ctx.register_processing_time_timer(9)
            ctx.delete_processing_time_timer(9)
            return CONTINUE

    harness = ready(TumblingEventTimeWindows.of(10), Once())
    harness.process([1], [3], ["k"])
    (service,) = harness.operator.timers.services  # type: ignore[union-attr]

    assert event_timers(harness) == [(9, "k", TimeWindow(0, 10))]
    assert list(service.processing_time_queue.iterate()) == []


class Mumbling(EventTimeTrigger):
    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> Any:
        return None


class Careless(TumblingEventTimeWindows):
    def assign_windows(self, element: Any, timestamp: Any, context: Any) -> Any:
        (window,) = super().assign_windows(element, timestamp, context)
        return window if element else None


def test_a_trigger_that_answers_nothing_is_told_what_to_answer() -> None:
    harness = ready(TumblingEventTimeWindows.of(10), Mumbling())
    with pytest.raises(InvalidTriggerError, match=r"Mumbling, .* 'Mine', returned None, .*'k'"):
        harness.process([1], [3], ["k"])


@pytest.mark.parametrize("record", [0, 1])
def test_an_assigner_that_returns_no_collection_is_told_so(record: int) -> None:
    harness = ready(Careless(10, 0), EventTimeTrigger())
    with pytest.raises(InvalidWindowError, match=r"for the record \d, with .*'k'") as error:
        harness.process([record], [3], ["k"])
    assert "Return a list" in str(error.value)
