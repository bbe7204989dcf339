from __future__ import annotations

import pickle
from enum import IntEnum
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.state.kit import MakeBackend

from penstock.common import Duration, Row, Types
from penstock.errors import MutatedKeyError, StateTypeMismatchError, ValueNotSerializableError
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.runtime.state.rocksdb import rocksdb_database
from penstock.runtime.state.rocksdb.rocksdb_backend import RocksDBKeyedStateBackend
from penstock.runtime.state.rocksdb.rocksdb_tables import ENTRY_SIZE
from penstock.runtime.state.ttl import StateTtlConfig
from penstock.runtime.timers.internal_timer import InternalTimer

VALUE = ValueStateDescriptor("value", Types.LONG())
LIST = ListStateDescriptor("list", Types.LONG())
MAP = MapStateDescriptor("map", Types.LONG(), Types.LONG())
KINDS = ["hashmap", "rocksdb"]


def contents(backend: KeyedStateBackend) -> dict[object, object]:
    return {(name, namespace, key): value for name, namespace, key, value in backend.entries()}


# ------------------------------------------------------------------ what is written is what is there

key = st.sampled_from([1, "b", (True, "c"), 2.5])
namespace = st.sampled_from([None, None, 5, "n"])
number = st.integers(0, 3)
step = st.one_of(
    st.tuples(st.just("value"), namespace, key, st.sampled_from(["update", "clear"]), number),
    st.tuples(
        st.just("list"), namespace, key, st.sampled_from(["add", "add", "update", "clear"]), number
    ),
    st.tuples(
        st.just("map"), namespace, key, st.sampled_from(["put", "put", "remove", "clear"]), number
    ),
    st.sampled_from(["cut", "cut to another", "spill"]),
)


class Model:
    """What state is meant to do, in dictionaries."""

    def __init__(self) -> None:
        self.known: dict[object, object] = {}

    def do(self, kind: str, namespace: Any, key: Any, method: str, number: int) -> None:
        address = (kind, namespace, key)
        before: Any = self.known.pop(address, None)
        after: object = {
            "update": [number, number] if kind == "list" else number,
            "clear": None,
            "add": [*(before or []), number] if kind == "list" else None,
            "put": {**before, number: 7} if isinstance(before, dict) else {number: 7},
            "remove": {k: v for k, v in before.items() if k != number}
            if isinstance(before, dict)
            else None,
        }[method]
        if after is not None and after != {}:
            self.known[address] = after


def do(
    backend: KeyedStateBackend, kind: str, namespace: Any, key: Any, method: str, number: int
) -> None:
    descriptors: dict[str, Any] = {"value": VALUE, "list": LIST, "map": MAP}
    state: Any = backend.get_state(descriptors[kind], namespace)
    backend.set_current_key(key)
    if method == "clear":
        state.clear()
    elif method == "put":
        state.put(number, 7)
    elif kind == "list" and method == "update":
        state.update([number, number])
    else:
        getattr(state, method)(number)


def moved(new_backend: MakeBackend, backend: KeyedStateBackend, kind: str) -> KeyedStateBackend:
    other = new_backend(kind)
    for frame in backend.everything():
        other.apply(frame)
    backend.close()
    return other


@pytest.mark.parametrize("kind", KINDS)
@given(steps=st.lists(step, max_size=30))
@settings(max_examples=60)
def test_state_is_what_was_done_to_it_and_changes_carry_it_over(
    new_backend: MakeBackend, kind: str, steps: list[Any]
) -> None:
    model = Model()
    backend, follower = new_backend(kind), new_backend(KINDS[kind == "hashmap"])
    for step in [*steps, "cut"]:
        if step == "spill":
            if kind == "rocksdb":
                cast(RocksDBKeyedStateBackend, backend)._spill()
        elif isinstance(step, str):
            for frame in backend.changes():
                follower.apply(frame)
            backend.forget_changes()
            if step == "cut to another":
                backend = moved(new_backend, backend, kind)
            assert contents(follower) == model.known
        else:
            model.do(*step)
            do(backend, *step)
    assert contents(backend) == model.known
    assert list(backend.changes()) == []
    backend.close()
    follower.close()


def test_changes_are_what_changed(backend: KeyedStateBackend) -> None:
    state, elements = backend.get_state(VALUE), backend.get_state(LIST)
    for number in range(1000):
        backend.set_current_key(number)
        state.update(number)
        elements.add_all(range(20))
    all_changes = sum(map(len, backend.changes()))
    backend.forget_changes()
    assert list(backend.changes()) == []
    backend.set_current_key(3)
    state.update(0)
    elements.add(1)
    assert 0 < sum(map(len, backend.changes())) < all_changes / 100


def test_changes_may_be_read_twice(backend: KeyedStateBackend) -> None:
    backend.get_state(VALUE).update(1)
    assert list(backend.changes()) == list(backend.changes()) != []


def test_frames_have_a_bounded_size(backend: KeyedStateBackend) -> None:
    state = backend.get_state(VALUE)
    for number in range(300):
        backend.set_current_key(number)
        state.update(str(number) * 10_000)
    frames = list(backend.changes())
    assert len(frames) > 2
    assert sum(map(len, frames)) > 5_000_000


def test_a_long_list_is_written_in_parts(
    backend: KeyedStateBackend, new_backend: MakeBackend
) -> None:
    backend.get_state(LIST).update(range(5000))
    other = new_backend("hashmap")
    for frame in backend.everything():
        other.apply(frame)
    assert list(other.entries()) == [("list", None, "a", list(range(5000)))]


def test_nothing_is_noted_where_nobody_reads_it(backend: KeyedStateBackend) -> None:
    state = backend.get_state(VALUE)
    backend.tracks_changes = False
    state.update(1)
    backend.timer_queue("timers").add(InternalTimer(1, "a", None))
    backend.get_state(LIST).add(1)
    backend.get_state(MAP).put(1, 1)
    if "hashmap" in type(backend).__module__:
        assert list(backend.changes()) == []
    assert state.value() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_applied_state_replaces_what_was_read_before(new_backend: MakeBackend, kind: str) -> None:
    one, other = new_backend(kind), new_backend(kind)
    for backend in (one, other):
        backend.set_current_key("a")
    assert other.get_state(VALUE).value() is None
    for value in (1, 2):
        one.get_state(VALUE).update(value)
        for frame in one.changes():
            other.apply(frame)
        one.forget_changes()
        assert other.get_state(VALUE).value() == value
    one.close()
    other.close()


# ------------------------------------------------------------------------------- numbers as they are


class Color(IntEnum):
    RED = 1


VALUES = [0, 1, True, False, 1.0, -0.0, 2**63 - 1, 2**63, -(2**63), 2**900, Color.RED, "x", (1,)]


@pytest.mark.parametrize("kind", KINDS)
def test_values_keep_their_types(new_backend: MakeBackend, kind: str) -> None:
    backend: Any = new_backend(kind)
    value: Any = backend.get_state(ValueStateDescriptor("any", Types.PICKLED_BYTE_ARRAY()))
    backend.set_current_key("one")
    for wanted in VALUES:
        value.update(wanted)
        assert repr(value.value()) == repr(wanted)
        if kind == "rocksdb":
            cast(RocksDBKeyedStateBackend, backend)._spill()
            assert repr(value.value()) == repr(wanted)
    for key, wanted in enumerate(VALUES):
        backend.set_current_key(key)
        value.update(wanted)
    moved_to = moved(new_backend, backend, KINDS[kind == "hashmap"])
    found = contents(moved_to)
    assert [repr(found["any", None, key]) for key in range(len(VALUES))] == list(map(repr, VALUES))


def test_the_size_of_a_cache_is_known(new_backend: MakeBackend) -> None:
    backend: Any = new_backend("rocksdb")
    value: Any = backend.get_state(ValueStateDescriptor("any", Types.PICKLED_BYTE_ARRAY()))
    before = backend.database.cached
    for kept in [*VALUES, *reversed(VALUES), "long" * 100, 1, "short", "longer"]:
        for key in range(3):
            backend.set_current_key(key)
            value.update(kept)
        is_number = type(kept) in {int, float, bool} and abs(cast(float, kept)) < 2**63
        size = 0 if is_number else len(pickle.dumps(kept, pickle.HIGHEST_PROTOCOL))
        assert backend.database.cached - before == 3 * (ENTRY_SIZE + size)


# -------------------------------------------------------------------------------- larger than memory


def test_state_may_be_larger_than_the_cache(
    new_backend: MakeBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rocksdb_database, "_CACHE_LIMIT", 5000)
    backend: Any = new_backend("rocksdb")
    follower = new_backend("hashmap")
    value, elements, entries = map(backend.get_state, (VALUE, LIST, MAP))
    for epoch in range(3):
        for number in range(200):
            backend.set_current_key(number)
            value.update((value.value() or 0) + number)
            elements.add(epoch)
            entries.put(epoch, number)
            assert dict(entries.items()) == dict.fromkeys(range(epoch + 1), number)
            if epoch == 2 and number % 2:
                entries.remove(1)
                elements.update([9])
                value.clear()
        for frame in backend.changes():
            follower.apply(frame)
        backend.forget_changes()
    assert len(backend._tables["value"]._cache) < 30
    assert contents(follower) == contents(backend)
    assert contents(backend)["list", None, 6] == [0, 1, 2]
    assert contents(backend)["list", None, 7] == [9]
    assert contents(backend)["map", None, 7] == {0: 7, 2: 7}
    assert contents(backend)["value", None, 6] == 18
    backend.close()


# ------------------------------------------------------------------------------------------- timers


@pytest.mark.parametrize("other_kind", KINDS)
def test_frames_carry_timers(
    backend: KeyedStateBackend, new_backend: MakeBackend, other_kind: str
) -> None:
    queue = backend.timer_queue("timers")
    assert backend.timer_queue("timers") is queue
    timers = [InternalTimer(time, key, None) for time in (5, -3, 5) for key in ("a", True, 2)]
    queue.add_all(timers)
    backend.timer_queue("others").add(InternalTimer(0, "x", 7))
    changed, whole = new_backend(other_kind), new_backend(other_kind)
    for frame in backend.changes():
        changed.apply(frame)
    backend.forget_changes()
    assert list(backend.changes()) == []
    for frame in backend.everything():
        whole.apply(frame)
    for copy in (changed, whole):
        assert set(copy.timer_queue("timers").iterate()) == set(timers)
        assert copy.timer_queue("others").poll() == InternalTimer(0, "x", 7)
        copy.close()


# ------------------------------------------------------------------------------------------- errors

EXPIRING = ValueStateDescriptor("value", Types.LONG())
EXPIRING.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_seconds(1)).build())


@pytest.mark.parametrize(
    "other",
    [
        ValueStateDescriptor("value", Types.STRING()),
        ListStateDescriptor("value", Types.LONG()),
        ReducingStateDescriptor("value", max, Types.LONG()),
        EXPIRING,
    ],
    ids=["type", "kind", "other kind", "time-to-live"],
)
def test_one_name_has_one_type(backend: KeyedStateBackend, other: Any) -> None:
    backend.get_state(VALUE)
    with pytest.raises(StateTypeMismatchError, match="'test' asks for its state 'value'"):
        backend.get_state(other)


def test_a_state_is_read_as_what_it_was_written_as(
    backend: KeyedStateBackend, new_backend: MakeBackend
) -> None:
    backend.get_state(VALUE).update(1)
    other = new_backend("hashmap")
    for frame in backend.everything():
        other.apply(frame)
    with pytest.raises(StateTypeMismatchError, match=r"as list .* as value"):
        other.get_state(ListStateDescriptor("value", Types.LONG()))
    other.get_state(VALUE)


def keep(backend: KeyedStateBackend, descriptor: Any, value: Any) -> None:
    """Keep a value, and end the epoch."""
    state = backend.get_state(descriptor)
    if descriptor is MAP:
        state.put(1, value)
    else:
        state.update([value] if descriptor is LIST else value)
    list(backend.changes())


@pytest.mark.parametrize("descriptor", [VALUE, LIST, MAP], ids=lambda found: found.name)
def test_a_value_has_to_pickle(backend: KeyedStateBackend, descriptor: Any) -> None:
    with pytest.raises(
        ValueNotSerializableError, match=rf"'test' .* '{descriptor.name}' .*lambda.*'a'"
    ):
        keep(backend, descriptor, lambda: None)


@pytest.mark.parametrize("descriptor", [VALUE, LIST])
def test_a_key_may_not_be_changed(backend: KeyedStateBackend, descriptor: Any) -> None:
    key = Row(id=1)
    backend.set_current_key(key)
    state = backend.get_state(descriptor)
    state.update(1 if descriptor is VALUE else [1])
    key["id"] = 2
    with pytest.raises(MutatedKeyError, match=r"Row\(id=2\)"):
        list(backend.changes())


def test_a_key_in_a_map_stays_what_it_was(backend: KeyedStateBackend) -> None:
    key = Row(id=1)
    state = backend.get_state(MAP)
    state.put(key, 1)
    key["id"] = 2
    assert list(backend.changes())
    state.put(Row(id=1), 2)
    [found] = state.keys()
    found["id"] = 3
    [(found, _)] = state.items()
    found["id"] = 3
    assert state.items() == [(Row(id=1), 2)]
    state.remove(Row(id=1))
    assert state.is_empty()


# ------------------------------------------------------------------------------------ raw tables


def test_a_raw_table_is_kept_and_carried_over(
    backend: KeyedStateBackend, new_backend: MakeBackend
) -> None:
    table = backend.table("reduce")
    assert table.get("x", 0) == 0
    table["x"] = 1
    table["y"] = 2
    backend.mark_changed("reduce", ["x", "y"])
    other = new_backend("hashmap")
    for frame in backend.changes():
        other.apply(frame)
    assert other.table("reduce") == {"x": 1, "y": 2}
    assert sorted(backend.table("reduce").values()) == [1, 2]


def test_a_frame_is_a_run_of_pickles(backend: KeyedStateBackend) -> None:
    backend.get_state(VALUE).update(1)
    (frame,) = backend.everything()
    assert pickle.loads(frame)[:2] == ("value", "value")


turn = st.tuples(
    st.booleans(),
    st.sampled_from(["a", "b"]),
    st.integers(0, 2),
    st.sampled_from(["put", "put", "remove", "clear"]),
    st.integers(0, 9),
)


@pytest.mark.parametrize("kind", KINDS)
@given(turns=st.lists(turn, max_size=12))
def test_two_processes_that_take_turns_see_the_same(
    new_backend: MakeBackend, kind: str, turns: list[tuple[bool, str, int, str, int]]
) -> None:
    here, there = new_backend(kind), new_backend(kind)
    known: dict[str, dict[int, int]] = {"a": {}, "b": {}}
    for is_other, key, map_key, method, value in turns:
        if is_other:
            frames = list(here.changes())
            here.forget_changes()
            for frame in frames:
                there.apply(frame)
            here, there = there, here
        here.set_current_key(key)
        state = here.get_state(MAP)
        if method == "put":
            state.put(map_key, value)
            known[key][map_key] = value
        elif method == "remove":
            state.remove(map_key)
            known[key].pop(map_key, None)
        else:
            state.clear()
            known[key].clear()
        for other, expected in known.items():
            here.set_current_key(other)
            assert dict(state.items()) == expected
    here.close()
    there.close()
