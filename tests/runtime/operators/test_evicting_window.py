from __future__ import annotations

from typing import Any

from tests.runtime.operators.test_window import (
    Told,
    backends,
    event_timers,
    ready,
    state,
)

from penstock.runtime.operators.window_contents import (
    ReducedRecords,
)
from penstock.runtime.operators.window_kinds import window_operator
from penstock.runtime.windowing.count_trigger import CountTrigger
from penstock.runtime.windowing.evictor import Evictor
from penstock.runtime.windowing.evictors import CountEvictor
from penstock.runtime.windowing.global_windows import GlobalWindows
from penstock.runtime.windowing.trigger import TriggerResult
from penstock.runtime.windowing.tumbling import (
    TumblingEventTimeWindows,
)
from penstock.runtime.windowing.window import TimeWindow


class Watching(Evictor[Any, Any]):
    """Evicts what is 0 before, and what is negative after, the function is called."""

    def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        assert size == len(elements)
        elements[:] = [element for element in elements if element.value != 0]

    def evict_after(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        assert size == len(elements)
        elements[:] = [element for element in elements if element.value >= 0]


@backends
def test_what_an_evictor_takes_is_gone_for_good(backend: str) -> None:
    harness = ready(
        GlobalWindows.create(),
        CountTrigger.of(3),
        kind=window_operator,
        evictor=Watching(),
        backend=backend,
    )
    harness.process([1, 0, -1], None, ["k"] * 3)
    assert harness.output.values() == [1, -1]
    harness.process([2, 0, 3], None, ["k"] * 3)

    assert harness.output.values() == [1, -1, 1, 2, 3]


def test_records_are_joined_when_an_evicting_window_fires() -> None:
    harness = ready(
        GlobalWindows.create(),
        CountTrigger.of(2),
        contents=ReducedRecords(lambda a, b: a + b),
        kind=window_operator,
        evictor=CountEvictor.of(3),
    )
    harness.process([1, 2, 3, 4], None, ["k"] * 4)
    assert harness.output.values() == [3, 9]

    nothing = ready(
        GlobalWindows.create(),
        CountTrigger.of(1),
        contents=ReducedRecords(max),
        kind=window_operator,
        evictor=CountEvictor.of(0),
    )
    nothing.process([1, 2], None, ["k"] * 2)
    assert nothing.output.values() == []


def test_an_evicting_window_without_contents_is_cleaned_up_too() -> None:
    harness = ready(
        TumblingEventTimeWindows.of(10),
        Told(),
        kind=window_operator,
        evictor=CountEvictor.of(0),
    )
    harness.process([TriggerResult.FIRE_AND_PURGE], [3], ["k"])
    assert event_timers(harness) == [(9, "k", TimeWindow(0, 10))]
    harness.operator.process_watermark(9)

    assert state(harness) == []
