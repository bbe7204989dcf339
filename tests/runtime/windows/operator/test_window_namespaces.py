from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.windows.operator.test_window_operator import backends, event_timers, ready, state
from tests.semantics.windows.test_own_windows import Shift, Shifts, ShiftSerializer

from penstock.errors import InvalidWindowError
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.windows.assigners.tumbling import TumblingEventTimeWindows
from penstock.runtime.windows.operator.window_namespaces import WindowNamespaces


@backends
def test_state_and_timers_have_what_the_serializer_writes(backend: str) -> None:
    harness = ready(Shifts(), backend=backend)
    harness.process([("k", "a", 0, 1), ("k", "a", 5, 2)], [0, 5], ["k"] * 2)
    written = b'["a", 0, 15]'
    assert [timer[2] for timer in event_timers(harness)] == [written]
    entries = {entry[0]: entry for entry in harness.operator.state.entries()}
    assert entries["merging-window-set"][3] == {written: b'["a", 0, 10]'}
    assert entries["trigger: seen"][1:] == (written, "k", 2)
    harness.operator.process_watermark(14)
    assert len(harness.output.records()) == 2
    assert state(harness) == []


def test_windows_that_no_serializer_of_the_users_writes_stand_for_themselves() -> None:
    namespaces = WindowNamespaces(TumblingEventTimeWindows.of(10), "Mine")
    window = TimeWindow(0, 10)
    assert namespaces.of(window) is window
    assert namespaces.window_of(window) is window


def test_a_window_that_is_written_otherwise_when_it_was_read_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serialize = ShiftSerializer.serialize

    def with_notes(self: Any, element: Shift, stream: Any) -> None:
        serialize(self, element, stream)
        stream.write(b" " * len(element.notes))

    monkeypatch.setattr(ShiftSerializer, "serialize", with_notes)
    noted = Shift("a", 0, 11)
    noted.notes.append("one")
    with pytest.raises(InvalidWindowError, match="'Mine'"):
        WindowNamespaces(Shifts(), "Mine").of(noted)
