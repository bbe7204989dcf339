from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest
from tests.runtime.keys.kinds import NEW_YORK, Corner, Holiday
from tests.runtime.state.kit import MakeBackend

from penstock.common import Row, Types
from penstock.errors import InvalidKeyError
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

VALUE = ValueStateDescriptor("value", Types.LONG())
LIST = ListStateDescriptor("list", Types.LONG())
MAP = MapStateDescriptor("map", Types.STRING(), Types.LONG())
TWICE = datetime(2013, 11, 3, 1, 30, tzinfo=NEW_YORK)
REDUCING = ReducingStateDescriptor("reducing", lambda a, b: a + b, Types.LONG())


class Mean:
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, a: Any, b: Any) -> Any:
        return (a[0] + b[0], a[1] + b[1])


AGGREGATING = AggregatingStateDescriptor("aggregating", Mean(), Types.PICKLED_BYTE_ARRAY())


def test_a_value_belongs_to_its_key(backend: KeyedStateBackend) -> None:
    state = backend.get_state(VALUE)
    assert state.value() is None
    state.update(1)
    backend.set_current_key("b")
    assert state.value() is None
    state.update(2)
    backend.set_current_key("a")
    assert state.value() == 1
    state.clear()
    assert state.value() is None
    backend.set_current_key("b")
    assert state.value() == 2


def test_a_value_that_is_none_is_no_value(backend: KeyedStateBackend) -> None:
    state = backend.get_state(VALUE)
    state.update(1)
    state.update(None)
    assert state.value() is None
    assert list(backend.keys("value")) == []


@pytest.mark.parametrize("falsy", [0, "", False, ()])
def test_a_falsy_value_is_a_value(backend: KeyedStateBackend, falsy: object) -> None:
    state = backend.get_state(VALUE)
    state.update(falsy)
    assert state.value() == falsy
    assert list(backend.keys("value")) == ["a"]


def test_equal_keys_are_one_key(backend: KeyedStateBackend) -> None:
    state = backend.get_state(VALUE)
    backend.set_current_key((1, "x"))
    state.update(5)
    backend.set_current_key((True, "x"))
    assert state.value() == 5
    backend.set_current_key(Row(id=1))
    state.update(6)
    backend.set_current_key(Row(id=1.0))
    assert state.value() == 6


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Corner.ORIGIN, (0, 0)),
        (Holiday.NEW_YEAR, date(2025, 1, 1)),
        (TWICE, TWICE.replace(fold=1)),
    ],
    ids=repr,
)
def test_equal_keys_of_odd_types_are_one_key(
    backend: KeyedStateBackend, new_backend: MakeBackend, one: Any, other: Any
) -> None:
    state = backend.get_state(VALUE)
    backend.set_current_key(one)
    state.update(5)
    backend.set_current_key(other)
    assert state.value() == 5
    frames = list(backend.everything())
    for kind in ("hashmap", "rocksdb"):
        again = new_backend(kind, backend.clock)
        for frame in frames:
            again.apply(frame)
        again.set_current_key(other)
        assert again.get_state(VALUE).value() == 5
        again.close()


def test_namespaces_are_apart(backend: KeyedStateBackend) -> None:
    state = backend.get_state(VALUE)
    state.update(1)
    state.set_current_namespace("other")
    assert state.value() is None
    state.update(2)
    state.clear()
    state.set_current_namespace("third")
    state.update(3)
    assert backend.get_state(VALUE) is state
    assert state.value() == 1
    assert list(backend.keys("value", "third")) == ["a"]
    assert list(backend.keys("value", "other")) == []


def test_a_list_grows_at_its_end(backend: KeyedStateBackend) -> None:
    state = backend.get_state(LIST)
    assert list(state.get()) == []
    state.add(1)
    state.add_all([2, 3])
    state.add_all([])
    assert list(state.get()) == [1, 2, 3]
    state.update([7])
    state.add(8)
    assert list(state.get()) == [7, 8]
    state.clear()
    assert list(state.get()) == []
    state.add(9)
    state.update([])
    assert list(backend.keys("list")) == []


def test_a_list_that_was_returned_is_the_callers_own(backend: KeyedStateBackend) -> None:
    state = backend.get_state(LIST)
    state.add(1)
    for element in state.get():
        state.add(element + 1)
    state.get().append(5)
    assert list(state.get()) == [1, 2]


def test_a_map_has_entries(backend: KeyedStateBackend) -> None:
    state = backend.get_state(MAP)
    assert state.is_empty()
    assert state.get("x") is None
    assert not state.contains("x")
    state.put("x", 1)
    state.put_all({"y": 2, "z": None})
    assert not state.is_empty()
    assert state.contains("z")
    assert "y" in state
    assert sorted(state.keys()) == sorted(state) == ["x", "y", "z"]
    assert dict(state.items()) == {"x": 1, "y": 2, "z": None}
    state.remove("y")
    state.remove("unknown")
    del state["z"]
    assert list(state.items()) == [("x", 1)]
    assert list(state.values()) == [1]
    state["w"] = 4
    assert state["w"] == 4
    state.clear()
    assert state.is_empty()
    assert list(backend.keys("map")) == []


def test_a_map_may_be_changed_while_it_is_read(backend: KeyedStateBackend) -> None:
    state = backend.get_state(MAP)
    state.put_all({1: 1, 2: 2})
    for key, value in state.items():
        state.remove(key)
        state.put(key + 10, value)
    assert sorted(state.keys()) == [11, 12]


@pytest.mark.parametrize("key", [float("nan"), [1], (1, [2]), object()])
def test_a_map_refuses_what_cannot_be_a_key(backend: KeyedStateBackend, key: object) -> None:
    state = backend.get_state(MAP)
    with pytest.raises(InvalidKeyError):
        state.put(key, 1)
    state.put("x", 1)
    with pytest.raises(InvalidKeyError):
        state.put(key, 1)
    assert list(state.keys()) == ["x"]


def test_values_are_reduced(backend: KeyedStateBackend) -> None:
    state = backend.get_state(REDUCING)
    assert state.get() is None
    for value in (1, 2, 3):
        state.add(value)
    assert state.get() == 6
    state.clear()
    state.add(5)
    assert state.get() == 5


def test_values_are_aggregated(backend: KeyedStateBackend) -> None:
    state = backend.get_state(AGGREGATING)
    assert state.get() is None
    state.add(1)
    state.add(4)
    assert state.get() == 2.5
    state.clear()
    assert state.get() is None


def test_rocksdb_returns_copies(new_backend: MakeBackend) -> None:
    backend = new_backend("rocksdb")
    backend.set_current_key("a")
    state = backend.get_state(VALUE)
    state.update([1])
    state.value().append(2)
    assert state.value() == [1]
    backend.close()
