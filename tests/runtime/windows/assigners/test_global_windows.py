from __future__ import annotations

import pickle
from typing import Any

import pytest
from tests.runtime.windows.fakes import FakeAssignerContext, FakeTriggerContext

from penstock.runtime.keys.window_values import GlobalWindow
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.windows.assigners.global_windows import GlobalWindows
from penstock.runtime.windows.serializers import GlobalWindowSerializer
from penstock.runtime.windows.triggers.global_triggers import EndOfStreamTrigger, NeverTrigger
from penstock.runtime.windows.triggers.trigger import TriggerResult

WINDOW = GlobalWindow.get()


@pytest.mark.parametrize(
    ("assigner", "trigger"),
    [
        (GlobalWindows(), NeverTrigger),
        (GlobalWindows.create(), NeverTrigger),
        (GlobalWindows.create_with_end_of_stream_trigger(), EndOfStreamTrigger),
    ],
)
def test_all_records_are_in_one_window(assigner: Any, trigger: type) -> None:
    assigner = pickle.loads(pickle.dumps(assigner))
    assert list(assigner.assign_windows(1, None, FakeAssignerContext())) == [WINDOW]
    assert type(assigner.get_default_trigger(None)) is trigger
    assert not assigner.is_event_time()
    assert isinstance(assigner.get_window_serializer(), GlobalWindowSerializer)


def test_never() -> None:
    trigger: NeverTrigger = NeverTrigger()
    ctx = FakeTriggerContext(WINDOW)
    assert trigger.on_element(1, 5, WINDOW, ctx) is TriggerResult.CONTINUE
    assert trigger.on_event_time(MAX_TIMESTAMP, WINDOW, ctx) is TriggerResult.CONTINUE
    assert trigger.on_processing_time(MAX_TIMESTAMP, WINDOW, ctx) is TriggerResult.CONTINUE
    trigger.on_merge(WINDOW, ctx)
    trigger.clear(WINDOW, ctx)
    assert not trigger.can_merge()
    assert ctx.is_empty()


def test_the_end_of_the_stream_fires_once() -> None:
    trigger = EndOfStreamTrigger.create()
    ctx = FakeTriggerContext(WINDOW)
    for record in range(3):
        assert trigger.on_element(record, 5, WINDOW, ctx) is TriggerResult.CONTINUE
    assert ctx.advance_watermark(trigger, MAX_TIMESTAMP - 1) == []
    assert trigger.on_event_time(5, WINDOW, ctx) is TriggerResult.CONTINUE
    assert ctx.advance_watermark(trigger, MAX_TIMESTAMP) == [TriggerResult.FIRE]
    assert ctx.is_empty()


def test_the_end_of_the_stream_can_be_cleared() -> None:
    trigger = EndOfStreamTrigger.create()
    ctx = FakeTriggerContext(WINDOW)
    trigger.on_element(1, 5, WINDOW, ctx)
    trigger.clear(WINDOW, ctx)
    assert ctx.is_empty()
