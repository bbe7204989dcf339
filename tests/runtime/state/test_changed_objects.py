"""What a program does to an object that it gave to a state, or got from it, changes nothing in the state."""

from __future__ import annotations

import copy
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.state.kit import Clock, MakeBackend
from tests.strategies import any_of

from penstock.common import Row, Time, Types
from penstock.datastream import AggregateFunction
from penstock.errors import ValueNotSerializableError
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.broadcast_state import BroadcastStateStore
from penstock.runtime.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.runtime.state.ttl import StateTtlConfig

ANY = Types.PICKLED_BYTE_ARRAY()


class Thing:
    """An object of a program's own."""

    def __init__(self, content: list[int]) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing) and self.content == other.content

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return f"Thing({self.content})"


def change(value: Any) -> None:
    """Change an object, and all that is in it, in place."""
    if isinstance(value, list):
        for item in value:
            change(item)
        value.append(99)
    elif isinstance(value, dict):
        for item in value.values():
            change(item)
        value["changed"] = 99
    elif isinstance(value, set):
        value.add(99)
    elif isinstance(value, bytearray):
        value += b"changed"
    elif isinstance(value, Thing):
        change(value.content)
    elif isinstance(value, Row):
        change(list(value))
        value[0] = 99
    elif isinstance(value, tuple):
        for item in value:
            change(item)


def joined(one: Any, other: Any) -> Any:
    """A list of both, which is the one if that is a list."""
    if not isinstance(one, list):
        one = [one]
    one.append(copy.deepcopy(other))
    change(other)
    return one


class Collected(AggregateFunction):
    """Has one accumulator for all keys, as far as it can."""

    last: Any = None

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        change(self.last)
        self.last = joined(accumulator, value)
        return self.last

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        change(self.last)
        self.last = joined(acc_a, acc_b)
        change(acc_b)
        return self.last


def descriptors() -> dict[str, StateDescriptor]:
    return {
        "value": ValueStateDescriptor("value", ANY),
        "list": ListStateDescriptor("list", ANY),
        "map": MapStateDescriptor("map", ANY, ANY),
        "reducing": ReducingStateDescriptor("reducing", joined, ANY),
        "aggregating": AggregatingStateDescriptor("aggregating", Collected(), ANY),
    }


class Model:
    """What each state holds, copied whenever it goes in or out."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}

    def act(self, kind: str, method: str, place: Any, value: Any) -> None:
        value = copy.deepcopy(value)
        known = self.known
        if method == "clear":
            known.pop(place, None)
        elif kind == "value":
            known[place] = value
        elif kind == "map":
            known.setdefault(place, {})[Row(id=repr(value)[:5])] = value
        elif kind == "list":
            known[place] = [*([] if method == "update" else known.get(place, [])), value]
        elif kind == "reducing":
            known[place] = joined(copy.deepcopy(known[place]), value) if place in known else value
        else:
            known[place] = [*known.get(place, []), value]

    def merge(self, kind: str, key: Any, target: Any, sources: list[Any]) -> None:
        for source in sources:
            if source == target:
                continue
            found = self.known.pop((kind, source, key), None)
            if found is None:
                continue
            place = (kind, target, key)
            if place not in self.known:
                self.known[place] = found
            elif kind == "list":
                self.known[place] += found
            else:
                self.known[place] = joined(self.known[place], found)


def act(state: Any, kind: str, method: str, value: Any) -> None:
    if method == "clear":
        state.clear()
    elif kind == "value":
        state.update(value)
    elif kind == "map":
        map_key = Row(id=repr(value)[:5])
        if method == "update":
            state.put_all({map_key: value})
        else:
            state.put(map_key, value)
        map_key["id"] = "changed"
    elif kind == "list" and method == "update":
        state.update([value])
    elif kind == "list" and method == "add_all":
        state.add_all([value])
    else:
        state.add(value)


def read(state: Any, kind: str) -> Any:
    """What a state holds; whatever it gives out is changed afterwards."""
    if kind == "value":
        found = state.value()
    elif kind == "map":
        found = dict(state.items())
    else:
        found = state.get()
    result = copy.deepcopy(found)
    change(found)
    if kind == "map":
        for map_key in [*state.keys(), *found]:
            change(map_key)
        for value in state.values():
            change(value)
        for map_key in result:
            change(state.get(map_key))
    return result or None


values = st.recursive(
    st.integers(0, 3) | st.text(max_size=2) | st.binary(max_size=2).map(bytearray),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.text(max_size=2), inner, max_size=2),
        st.tuples(inner, inner),
        st.builds(Thing, st.lists(st.integers(0, 3), max_size=2)),
        st.builds(lambda item: Row(id=item), inner),
        st.sets(st.integers(0, 3), max_size=2),
    ),
    max_leaves=4,
)
acts = any_of(
    ["value", "list", "map", "reducing", "aggregating"],
    ["add", "add", "add_all", "update", "clear"],
    [None, 5, "n"],
    [1, "b"],
)
steps = st.one_of(
    st.tuples(acts, values).map(lambda drawn: ("act", *drawn[0], drawn[1])),
    st.sampled_from([("read",), ("read",), ("cut",), ("move",)]),
    any_of(["merge"], ["list", "reducing", "aggregating"], [1, "b"]),
)


class Twin:
    """States and their model, which do the same."""

    def __init__(self, kind: str, new_backend: MakeBackend, ttl: StateTtlConfig | None) -> None:
        self.descriptors = descriptors()
        if ttl is not None:
            for descriptor in self.descriptors.values():
                descriptor.enable_time_to_live(ttl)
        self._kind = kind
        self._new_backend = new_backend
        self._files: list[bytes] = []
        self.backend = new_backend(kind, Clock())
        self.model = Model()

    def state(self, kind: str, namespace: Any, key: Any) -> Any:
        self.backend.set_current_key(key)
        return self.backend.get_state(self.descriptors[kind], namespace)

    def act(self, kind: str, method: str, namespace: Any, key: Any, value: Any) -> None:
        self.model.act(kind, method, (kind, namespace, key), value)
        given = copy.deepcopy(value)
        act(self.state(kind, namespace, key), kind, method, given)
        change(given)

    def merge(self, kind: str, key: Any) -> None:
        self.model.merge(kind, key, "n", [None, 5])
        self.state(kind, None, key).merge_namespaces("n", [None, 5])

    def read(self) -> None:
        for kind in self.descriptors:
            for namespace in (None, 5, "n"):
                for key in (1, "b"):
                    found = read(self.state(kind, namespace, key), kind)
                    wanted = self.model.known.get((kind, namespace, key))
                    assert found == (wanted or None), (kind, namespace, key)

    def cut(self) -> None:
        """End the epoch."""
        self._files += self.backend.changes()
        self.backend.forget_changes()

    def move(self) -> None:
        """End the epoch, and go on in another process, on the other backend."""
        self.cut()
        self.backend.close()
        self._kind = "rocksdb" if self._kind == "hashmap" else "hashmap"
        self.backend = self._new_backend(self._kind, Clock())
        for file in self._files:
            self.backend.apply(file)

    def entries(self) -> None:
        """Look at everything, and change what is found."""
        for entry in self.backend.entries():
            change(entry[3])


@pytest.mark.parametrize("ttl", [None, StateTtlConfig.new_builder(Time.hours(1)).build()], ids=repr)
@pytest.mark.parametrize("kind", ["hashmap", "rocksdb"])
@settings(deadline=None, max_examples=60)
@given(program=st.lists(steps, max_size=14))
def test_state_holds_what_was_there_when_it_was_given(
    kind: str, ttl: StateTtlConfig | None, program: list[Any], new_backend: MakeBackend
) -> None:
    twin = Twin(kind, new_backend, ttl)
    try:
        for name, *arguments in program:
            getattr(twin, name)(*arguments)
        twin.entries()
        twin.read()
    finally:
        twin.backend.close()


def test_broadcast_state_holds_what_was_there_when_it_was_given() -> None:
    store = BroadcastStateStore("test")
    store.set_current_key(None)
    state = store.get_broadcast_state(MapStateDescriptor("rules", ANY, ANY))
    given = {"limit": [1]}
    state.put("a", given)
    change(given)
    change(state.get("a"))
    change(state.items())
    assert state.values() == [{"limit": [1]}]


@pytest.mark.parametrize("name", ["value", "list", "map", "reducing"])
def test_what_cannot_be_pickled_is_refused_at_once(name: str, backend: KeyedStateBackend) -> None:
    state: Any = backend.get_state(descriptors()[name])
    method = {"value": "update", "map": "put"}.get(name, "add")
    value = [threading.Lock()]
    with pytest.raises(ValueNotSerializableError, match=rf"'test' .* '{name}' .*'a'"):
        getattr(state, method)(*([1] if name == "map" else []), value)
