from __future__ import annotations

import io
from typing import Any

import pytest
from tests.runtime.keys.test_window_values import Day

from penstock.common.serializer import TypeSerializer
from penstock.runtime.keys.window_values import CountWindow, GlobalWindow, TimeWindow
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.windows.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    PickledWindowSerializer,
    TimeWindowSerializer,
)


@pytest.mark.parametrize(
    ("serializer", "windows", "size"),
    [
        (TimeWindowSerializer(), [TimeWindow(MIN_TIMESTAMP, MAX_TIMESTAMP), TimeWindow(-1, 0)], 32),
        (CountWindowSerializer(), [CountWindow(0), CountWindow(2**40)], 16),
        (GlobalWindowSerializer(), [GlobalWindow.get(), GlobalWindow.get()], 2),
        (PickledWindowSerializer(), [Day(1), CountWindow(1), Day(2)], None),
    ],
)
def test_windows_come_back_one_after_the_other(
    serializer: TypeSerializer[Any], windows: list[Any], size: int | None
) -> None:
    stream = io.BytesIO()
    for window in windows:
        serializer.serialize(window, stream)
    if size is not None:
        assert len(stream.getvalue()) == size
    stream.seek(0)
    found = [serializer.deserialize(stream) for _ in windows]
    assert found == windows
    assert [type(window) for window in found] == [type(window) for window in windows]
