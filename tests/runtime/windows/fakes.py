"""What assigners, triggers and evictors are called with, without an operator around them."""

from __future__ import annotations

from typing import Any

from penstock.runtime.context import RuntimeContext
from penstock.runtime.keys.window_values import TimeWindow, Window
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.state.descriptors import StateDescriptor
from penstock.runtime.state.factory import create_backend
from penstock.runtime.timestamp import MIN_TIMESTAMP
from penstock.runtime.windows.assigners.assigner import MergingWindowAssigner, WindowAssigner
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult


class FakeAssignerContext(WindowAssigner.WindowAssignerContext):
    """Has one key, and a clock that the test sets."""

    def __init__(self, now: int = 0, task: str = "windows", subtask: int = 0) -> None:
        self.now = now
        self.backend = new_backend()
        self._context = RuntimeContext(task, subtask, keyed_state=self.backend)

    def get_current_processing_time(self) -> int:
        return self.now

    def get_runtime_context(self) -> RuntimeContext:
        return self._context


class FakeTriggerContext(Trigger.OnMergeContext):
    """Has timers and state for each window of one key; the test fires the timers."""

    def __init__(self, window: Window, watermark: int = MIN_TIMESTAMP, now: int = 0) -> None:
        self.window = window
        self.merged: list[Window] = []
        self.watermark = watermark
        self.now = now
        self.event_timers: set[tuple[Window, int]] = set()
        self.processing_timers: set[tuple[Window, int]] = set()
        self.backend = new_backend()

    def get_current_processing_time(self) -> int:
        return self.now

    def get_metric_group(self) -> MetricGroup:
        return MetricGroup()

    def get_current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self.processing_timers.add((self.window, time))

    def register_event_time_timer(self, time: int) -> None:
        self.event_timers.add((self.window, time))

    def delete_processing_time_timer(self, time: int) -> None:
        self.processing_timers.discard((self.window, time))

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.discard((self.window, time))

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        return self.backend.get_state(state_descriptor, self.window)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        for window in self.merged:
            state: Any = self.backend.get_state(state_descriptor, window)
            value = state.get()
            state.clear()
            if value is not None:
                self.get_partitioned_state(state_descriptor).add(value)

    def times(self) -> tuple[list[int], list[int]]:
        """The event timers and the processing timers of the window."""
        return (
            sorted(time for window, time in self.event_timers if window == self.window),
            sorted(time for window, time in self.processing_timers if window == self.window),
        )

    def is_empty(self) -> bool:
        """Whether nothing is left of the window."""
        parts = list(self.backend.everything())
        return self.times() == ([], []) and not parts

    def advance_watermark(self, trigger: Trigger[Any, Any], watermark: int) -> list[TriggerResult]:
        """Fire the timers that a watermark completes, those that are registered meanwhile included."""
        self.watermark = watermark
        return self._fire(self.event_timers, watermark, trigger.on_event_time)

    def advance_clock(self, trigger: Trigger[Any, Any], now: int) -> list[TriggerResult]:
        """Fire the timers that are due."""
        self.now = now
        return self._fire(self.processing_timers, now, trigger.on_processing_time)

    def _fire(self, timers: set[tuple[Window, int]], until: int, call: Any) -> list[TriggerResult]:
        results = []
        while due := [time for window, time in timers if window == self.window and time <= until]:
            timers.remove((self.window, min(due)))
            results.append(call(min(due), self.window, self))
            assert len(results) < 1000
        return results

    def merge(
        self, trigger: Trigger[Any, Any], merged: list[TimeWindow], target: TimeWindow
    ) -> None:
        """Make one window of several, as the operator does."""
        self.window, self.merged = target, [window for window in merged if window != target]
        trigger.on_merge(target, self)
        for window in self.merged:
            self.window = window
            trigger.clear(window, self)
        self.window = target


class Merges(MergingWindowAssigner.MergeCallback[Any]):
    """Notes what becomes one."""

    def __init__(self) -> None:
        self.found: list[tuple[list[Any], Any]] = []

    def merge(self, to_be_merged: Any, merge_result: Any) -> None:
        self.found.append((sorted(to_be_merged), merge_result))


def new_backend() -> Any:
    backend = create_backend(
        "hashmap",
        max_parallelism=1,
        key_groups=range(1),
        clock=lambda: 0,
        directory="",
        operator="test",
    )
    backend.set_current_key("key")
    return backend
