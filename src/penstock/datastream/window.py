"""Windows: what they are, which records they hold, when they fire, what they let go."""

from __future__ import annotations

from penstock.runtime.keys.window_values import CountWindow, GlobalWindow, TimeWindow, Window
from penstock.runtime.windows.assigners.assigner import MergingWindowAssigner, WindowAssigner
from penstock.runtime.windows.assigners.count_windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from penstock.runtime.windows.assigners.global_windows import GlobalWindows
from penstock.runtime.windows.assigners.session import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.runtime.windows.assigners.sliding import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
)
from penstock.runtime.windows.assigners.stagger import WindowStagger
from penstock.runtime.windows.assigners.tumbling import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.runtime.windows.evictors import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
    TimestampedValue,
)
from penstock.runtime.windows.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    PickledWindowSerializer,
    TimeWindowSerializer,
)
from penstock.runtime.windows.triggers.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from penstock.runtime.windows.triggers.count_trigger import CountTrigger
from penstock.runtime.windows.triggers.delta_trigger import DeltaTrigger
from penstock.runtime.windows.triggers.global_triggers import EndOfStreamTrigger, NeverTrigger
from penstock.runtime.windows.triggers.purging_trigger import PurgingTrigger
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.runtime.windows.triggers.timeout_trigger import ProcessingTimeoutTrigger
from penstock.runtime.windows.triggers.trigger import Trigger, TriggerResult

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
    "WindowStagger",
]
