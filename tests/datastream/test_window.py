"""Windows under the names of PyFlink."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import penstock.datastream
from penstock.datastream import window

PYFLINK = [
    "Window",
    "TimeWindow",
    "CountWindow",
    "GlobalWindow",
    "WindowAssigner",
    "TumblingProcessingTimeWindows",
    "TumblingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "SlidingEventTimeWindows",
    "ProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "DynamicEventTimeSessionWindows",
    "GlobalWindows",
    "MergingWindowAssigner",
    "CountTumblingWindowAssigner",
    "CountSlidingWindowAssigner",
    "TriggerResult",
    "Trigger",
    "EventTimeTrigger",
    "ProcessingTimeTrigger",
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "NeverTrigger",
    "PurgingTrigger",
    "CountTrigger",
    "TimeWindowSerializer",
    "CountWindowSerializer",
    "GlobalWindowSerializer",
    "SessionWindowTimeGapExtractor",
]

IN_THE_PACKAGE = [
    "Window",
    "TimeWindow",
    "CountWindow",
    "GlobalWindow",
    "WindowAssigner",
    "MergingWindowAssigner",
    "TriggerResult",
    "Trigger",
]

ASSIGNER = (
    "assign_windows(element,timestamp,context) get_default_trigger(env) get_window_serializer() "
    "is_event_time()"
)
TRIGGER = (
    "on_element(element,timestamp,window,ctx) on_processing_time(time,window,ctx) "
    "on_event_time(time,window,ctx) on_merge(window,ctx) clear(window,ctx) can_merge()"
)
CONTINUOUS = (
    "__init__(interval) register_next_fire_timestamp(time,window,ctx,fire_timestamp_state) "
)
SERIALIZER = "serialize(element,stream) deserialize(stream)"
MERGING = "merge_windows(windows,callback) "

METHODS = {
    "Window": "max_timestamp()",
    "TimeWindow": "max_timestamp() intersects(other) cover(other)",
    "CountWindow": "max_timestamp()",
    "GlobalWindow": "__init__() max_timestamp()",
    "WindowAssigner": ASSIGNER,
    "WindowAssigner.WindowAssignerContext": "get_current_processing_time() get_runtime_context()",
    "MergingWindowAssigner": MERGING + ASSIGNER,
    "MergingWindowAssigner.MergeCallback": "merge(to_be_merged,merge_result)",
    "TumblingProcessingTimeWindows": "__init__(size,offset) " + ASSIGNER,
    "TumblingEventTimeWindows": "__init__(size,offset) " + ASSIGNER,
    "SlidingProcessingTimeWindows": "__init__(size,slide,offset) " + ASSIGNER,
    "SlidingEventTimeWindows": "__init__(size,slide,offset) " + ASSIGNER,
    "ProcessingTimeSessionWindows": "__init__(session_gap) " + MERGING + ASSIGNER,
    "EventTimeSessionWindows": "__init__(session_gap) " + MERGING + ASSIGNER,
    "DynamicProcessingTimeSessionWindows": "__init__(session_window_time_gap_extractor) "
    + MERGING
    + ASSIGNER,
    "DynamicEventTimeSessionWindows": "__init__(session_window_time_gap_extractor) "
    + MERGING
    + ASSIGNER,
    "GlobalWindows": "__init__() " + ASSIGNER,
    "CountTumblingWindowAssigner": "__init__(window_size) " + ASSIGNER,
    "CountSlidingWindowAssigner": "__init__(window_size,window_slide) " + ASSIGNER,
    "SessionWindowTimeGapExtractor": "extract(element)",
    "Trigger": TRIGGER,
    "Trigger.TriggerContext": "get_current_processing_time() get_metric_group() "
    "get_current_watermark() register_processing_time_timer(time) register_event_time_timer(time) "
    "delete_processing_time_timer(time) delete_event_time_timer(time) "
    "get_partitioned_state(state_descriptor)",
    "Trigger.OnMergeContext": "merge_partitioned_state(state_descriptor)",
    "TriggerResult": "is_fire() is_purge()",
    "EventTimeTrigger": TRIGGER,
    "ProcessingTimeTrigger": TRIGGER,
    "ContinuousEventTimeTrigger": CONTINUOUS + TRIGGER,
    "ContinuousProcessingTimeTrigger": CONTINUOUS + TRIGGER,
    "PurgingTrigger": "__init__(nested_trigger) " + TRIGGER,
    "CountTrigger": "__init__(window_size) " + TRIGGER,
    "NeverTrigger": TRIGGER,
    "TimeWindowSerializer": SERIALIZER,
    "CountWindowSerializer": SERIALIZER,
    "GlobalWindowSerializer": SERIALIZER,
}

STATIC = {
    "TimeWindow": "get_window_start_with_offset(timestamp,offset,window_size) "
    "merge_windows(windows,callback)",
    "GlobalWindow": "get()",
    "TumblingProcessingTimeWindows": "of(size,offset=None)",
    "TumblingEventTimeWindows": "of(size,offset=None)",
    "SlidingProcessingTimeWindows": "of(size,slide,offset=None)",
    "SlidingEventTimeWindows": "of(size,slide,offset=None)",
    "ProcessingTimeSessionWindows": "with_gap(size) with_dynamic_gap(extractor)",
    "EventTimeSessionWindows": "with_gap(size) with_dynamic_gap(extractor)",
    "DynamicProcessingTimeSessionWindows": "with_dynamic_gap(extractor)",
    "DynamicEventTimeSessionWindows": "with_dynamic_gap(extractor)",
    "GlobalWindows": "create()",
    "CountTumblingWindowAssigner": "of(window_size)",
    "CountSlidingWindowAssigner": "of(window_size,window_slide)",
    "EventTimeTrigger": "create()",
    "ProcessingTimeTrigger": "create()",
    "ContinuousEventTimeTrigger": "of(interval)",
    "ContinuousProcessingTimeTrigger": "of(interval)",
    "PurgingTrigger": "of(nested_trigger)",
    "CountTrigger": "of(window_size)",
}


def class_of(name: str) -> Any:
    found: Any = window
    for part in name.split("."):
        found = getattr(found, part)
    return found


def signature_of(function: Any, *, skip: int) -> str:
    """The parameters, without those by keyword only, which are penstock's own."""
    parameters = [
        parameter.name + ("" if parameter.default is parameter.empty else f"={parameter.default!r}")
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    return f"({','.join(parameters[skip:])})"


def test_names_are_where_pyflink_has_them() -> None:
    assert set(PYFLINK) <= set(window.__all__)
    for name in window.__all__:
        assert hasattr(window, name)
    for name in IN_THE_PACKAGE:
        assert getattr(penstock.datastream, name) is getattr(window, name)
        assert name in penstock.datastream.__all__


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_pyflinks(name: str) -> None:
    for text in METHODS[name].split():
        method = text.partition("(")[0]
        found = getattr(class_of(name), method)
        if found is not object.__init__:
            assert method + signature_of(found, skip=1) == text


@pytest.mark.parametrize("name", STATIC)
def test_static_methods_are_pyflinks(name: str) -> None:
    for text in STATIC[name].split():
        method = text.partition("(")[0]
        found = class_of(name)
        assert isinstance(inspect.getattr_static(found, method), staticmethod)
        assert method + signature_of(getattr(found, method), skip=0) == text


def test_windows_are_made_as_pyflinks() -> None:
    assert window.TimeWindow(start=0, end=5) == window.TimeWindow(0, 5)
    assert window.CountWindow(id=3).id == 3
    names = [result.name for result in window.TriggerResult]
    assert names == ["CONTINUE", "FIRE_AND_PURGE", "FIRE", "PURGE"]
