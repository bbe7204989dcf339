from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.windows.fakes import FakeTriggerContext

from penstock.errors import InvalidTriggerError, UnsupportedOperationError
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.windows.triggers.count_trigger import CountTrigger
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult, trigger_of


class Silent(Trigger[Any, Any]):
    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("result", "is_fire", "is_purge"),
    [
        (TriggerResult.CONTINUE, False, False),
        (TriggerResult.FIRE, True, False),
        (TriggerResult.PURGE, False, True),
        (TriggerResult.FIRE_AND_PURGE, True, True),
    ],
)
def test_results(result: TriggerResult, *, is_fire: bool, is_purge: bool) -> None:
    assert result.is_fire() is is_fire
    assert result.is_purge() is is_purge


def test_a_trigger_cannot_merge_unless_it_says_so() -> None:
    window = TimeWindow(0, 1)
    assert not Silent().can_merge()
    with pytest.raises(UnsupportedOperationError, match="The trigger Silent has no on_merge"):
        Silent().on_merge(window, FakeTriggerContext(window))


def test_a_trigger_is_an_object_of_a_trigger_class() -> None:
    trigger: Any = CountTrigger.of(1)
    assert trigger_of(trigger, "trigger()") is trigger
    for value in (None, CountTrigger, 5):
        with pytest.raises(InvalidTriggerError, match=r"trigger\(\) was given"):
            trigger_of(value, "trigger()")
