"""The words in which checkpoints hold windows: with others, no job would go on that has such windows."""

from __future__ import annotations

from typing import Any

import pytest
from tests.semantics.windows.test_own_windows import Shifts

from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.assigners.count_windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from penstock.runtime.windows.assigners.global_windows import GlobalWindows
from penstock.runtime.windows.assigners.session import (
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
)
from penstock.runtime.windows.assigners.sliding import SlidingEventTimeWindows
from penstock.runtime.windows.assigners.tumbling import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.runtime.windows.evictors import CountEvictor
from penstock.runtime.windows.operator.window_call import WindowCall
from penstock.runtime.windows.operator.window_contents import (
    AggregatedRecords,
    ListedRecords,
    ReducedRecords,
    WindowContents,
)
from penstock.runtime.windows.operator.window_sets import window_operator
from penstock.runtime.windows.triggers.count_trigger import CountTrigger


class Count:
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator


class Own(WindowAssigner[Any, Any]):
    def assign_windows(self, element: Any, timestamp: Any, context: Any) -> Any:
        return []

    def get_default_trigger(self, env: Any) -> Any:
        return CountTrigger.of(2)

    def is_event_time(self) -> bool:
        return True


LISTED = ListedRecords()
REDUCED = ReducedRecords(max)
SLIDING = SlidingEventTimeWindows(20, 5, -1)


@pytest.mark.parametrize(
    ("assigner", "contents", "words"),
    [
        (TumblingEventTimeWindows(10, 0), LISTED, "windows of event time, each by itself, {}"),
        (SLIDING, LISTED, "windows of event time, each by itself, {}"),
        (Own(), LISTED, "windows of event time of an assigner of its own, each by itself, {}"),
        (
            TumblingProcessingTimeWindows(10, 0),
            REDUCED,
            "windows of processing time, each by itself, {}",
        ),
        (
            SLIDING,
            REDUCED,
            "windows of event time, as panes shared by windows of 20 ms every 5 ms (offset 4 ms), {}",
        ),
        (
            EventTimeSessionWindows(5),
            AggregatedRecords(Count()),
            "windows of event time, as sessions with one gap under the default trigger, {}",
        ),
        (
            DynamicProcessingTimeSessionWindows(lambda element: 5),
            REDUCED,
            "windows of processing time, as windows that merge, {}",
        ),
        (GlobalWindows(), LISTED, "the global window, each by itself, {}"),
        (
            CountTumblingWindowAssigner(3),
            LISTED,
            "windows of 3 records every 3, each by itself, {}",
        ),
        (
            CountSlidingWindowAssigner(3, 1),
            LISTED,
            "windows of 3 records every 1, each by itself, {}",
        ),
    ],
)
def test_are_these(assigner: Any, contents: WindowContents, words: str) -> None:
    kept = {
        ListedRecords: "with their records",
        ReducedRecords: "with what their records are reduced to",
        AggregatedRecords: "with accumulators",
    }
    trigger = assigner.get_default_trigger(None)

    operator = window_operator(assigner, trigger, contents, WindowCall(), allowed_lateness=5)

    assert operator.kept_windows == words.format(kept[type(contents)])


def test_a_serializer_of_the_users_is_one_of_them() -> None:
    operator = window_operator(
        Shifts(), Shifts().get_default_trigger(None), LISTED, WindowCall(), allowed_lateness=5
    )

    assert operator.kept_windows == (
        "windows of event time of an assigner of its own, as windows that merge, with their records, "
        "written by ShiftSerializer"
    )


@pytest.mark.parametrize("contents", [LISTED, REDUCED])
def test_an_evictor_needs_records_and_timestamps(contents: WindowContents) -> None:
    assigner = EventTimeSessionWindows(5)
    trigger, evictor = assigner.get_default_trigger(None), CountEvictor.of(3)

    operator = window_operator(assigner, trigger, contents, WindowCall(), evictor=evictor)

    assert operator.kept_windows == (
        "windows of event time, as windows that merge, with their records and timestamps, for an evictor"
    )
