"""Windows as the namespaces of state and timers, on both backends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.keys.test_window_values import ALL

from penstock.common import Types
from penstock.runtime.keys.window_values import TimeWindow, Window
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.runtime.state.factory import create_backend
from penstock.runtime.timers.internal_timer import InternalTimer

VALUE = ValueStateDescriptor("value", Types.STRING())
LIST = ListStateDescriptor("list", Types.STRING())
SUM = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.STRING())
MAP = MapStateDescriptor("map", Types.PICKLED_BYTE_ARRAY(), Types.STRING())
WINDOWS: list[Window] = [*ALL, TimeWindow(-5, 6), TimeWindow(2**62, 2**63 - 1)]


def new_backend(kind: str, directory: Path) -> KeyedStateBackend:
    backend = create_backend(
        kind,
        max_parallelism=4,
        key_groups=range(4),
        clock=lambda: 0,
        directory=str(directory),
        operator="test",
    )
    backend.set_current_key("key")
    return backend


@pytest.fixture(params=["hashmap", "rocksdb"])
def backends(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[KeyedStateBackend, KeyedStateBackend]]:
    both = new_backend(request.param, tmp_path / "one"), new_backend(request.param, tmp_path / "b")
    yield both
    for backend in both:
        backend.close()


def fill(backend: KeyedStateBackend, window: Window) -> None:
    text = repr(window)
    backend.get_state(VALUE, window).update(text)
    backend.get_state(LIST, window).add(text)
    backend.get_state(LIST, window).add("more")
    backend.get_state(SUM, window).add(text)
    backend.get_state(SUM, window).add("+")
    backend.get_state(MAP, window).put(window, text)
    backend.timer_queue("timers").add(InternalTimer(5, "key", window))


def check(backend: KeyedStateBackend, window: Window) -> None:
    text = repr(window)
    assert backend.get_state(VALUE, window).value() == text
    assert list(backend.get_state(LIST, window).get()) == [text, "more"]
    assert backend.get_state(SUM, window).get() == text + "+"
    assert list(backend.get_state(MAP, window).items()) == [(window, text)]


def test_each_window_has_its_own_state(
    backends: tuple[KeyedStateBackend, KeyedStateBackend],
) -> None:
    backend, restored = backends
    for window in WINDOWS:
        fill(backend, window)
    for window in WINDOWS:
        check(backend, window)
    for frame in backend.everything():
        restored.apply(frame)
    restored.set_current_key("key")
    for window in WINDOWS:
        check(restored, window)
    queue = restored.timer_queue("timers")
    for window in WINDOWS[::2]:
        queue.remove(InternalTimer(5, "key", window))
    left = []
    while (timer := queue.poll()) is not None:
        left.append(timer.namespace)
    assert set(left) == set(WINDOWS[1::2])
    assert {type(window) for window in left} == {type(window) for window in WINDOWS[1::2]}


def test_a_window_that_is_cleared_leaves_nothing(
    backends: tuple[KeyedStateBackend, KeyedStateBackend],
) -> None:
    backend, _ = backends
    for window in WINDOWS:
        fill(backend, window)
    for window in WINDOWS:
        for descriptor in (VALUE, LIST, SUM, MAP):
            backend.get_state(descriptor, window).clear()
        backend.timer_queue("timers").remove(InternalTimer(5, "key", window))
    assert list(backend.everything()) == []
