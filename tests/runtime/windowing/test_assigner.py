from __future__ import annotations

from typing import Any

from penstock.runtime.windowing.assigner import WindowAssigner
from penstock.runtime.windowing.count_trigger import CountTrigger
from penstock.runtime.windowing.serializers import PickledWindowSerializer
from penstock.runtime.windowing.trigger import Trigger
from penstock.runtime.windowing.window import CountWindow


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
