from __future__ import annotations

from typing import Any

from penstock.runtime.keys.window_values import CountWindow
from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.serializers import PickledWindowSerializer
from penstock.runtime.windows.triggers.count_trigger import CountTrigger
from penstock.runtime.windows.triggers.trigger import Trigger


class ByLength(WindowAssigner[str, CountWindow]):
    def assign_windows(self, element: str, timestamp: Any, context: Any) -> list[CountWindow]:
        return [CountWindow(len(element))]

    def get_default_trigger(self, env: Any) -> Trigger[str, CountWindow]:
        return CountTrigger(2)

    def is_event_time(self) -> bool:
        return False


def test_an_assigner_need_not_say_how_windows_are_written_nor_keep_anything() -> None:
    assigner = ByLength()
    assert isinstance(assigner.get_window_serializer(), PickledWindowSerializer)
    assert assigner.snapshot() is None
    assigner.restore(None)
