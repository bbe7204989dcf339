"""Windows: what they are, which records they hold, when they fire, what they let go."""

from __future__ import annotations

from penstock.runtime.windowing.assigner import MergingWindowAssigner, WindowAssigner
from penstock.runtime.windowing.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from penstock.runtime.windowing.count_trigger import CountTrigger
from penstock.runtime.windowing.count_windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from penstock.runtime.windowing.delta_trigger import DeltaTrigger
from penstock.runtime.windowing.evictor import Evictor, TimestampedValue
from penstock.runtime.windowing.evictors import CountEvictor, DeltaEvictor, TimeEvictor
from penstock.runtime.windowing.global_triggers import EndOfStreamTrigger, NeverTrigger
from penstock.runtime.windowing.global_windows import GlobalWindows
from penstock.runtime.windowing.purging_trigger import PurgingTrigger
from penstock.runtime.windowing.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    PickledWindowSerializer,
    TimeWindowSerializer,
    WindowSerializer,
)
from penstock.runtime.windowing.session import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.runtime.windowing.sliding import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
)
from penstock.runtime.windowing.stagger import WindowStagger
from penstock.runtime.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.runtime.windowing.timeout_trigger import ProcessingTimeoutTrigger
from penstock.runtime.windowing.trigger import Trigger, TriggerResult
from penstock.runtime.windowing.tumbling import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.runtime.windowing.window import CountWindow, GlobalWindow, TimeWindow, Window

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "DeltaEvictor",
    "DeltaTrigger",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EndOfStreamTrigger",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "MergingWindowAssigner",
    "NeverTrigger",
    "PickledWindowSerializer",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimeWindowSerializer",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
    "WindowSerializer",
    "WindowStagger",
]
