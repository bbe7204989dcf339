"""What windows ask of states beside what users do."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.state.test_states import AGGREGATING, LIST, MAP, REDUCING

from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.states import KeyedMergingState
from penstock.runtime.state.tables import ABSENT


@pytest.mark.parametrize(
    ("descriptor", "values", "merged"),
    [(LIST, [1, 2, 4], [4, 1, 2]), (REDUCING, [1, 2, 4], 7), (AGGREGATING, [1, 2, 6], 3.0)],
)
def test_namespaces_are_merged(
    backend: KeyedStateBackend, descriptor: Any, values: list[int], merged: Any
) -> None:
    state = backend.get_state(descriptor)
    assert isinstance(state, KeyedMergingState)
    for namespace, value in zip(["x", "y", "target"], values, strict=True):
        state.set_current_namespace(namespace)
        state.add(value)  # type: ignore[attr-defined]
    state.merge_namespaces("target", ["x", "nothing", "y"])

    assert state.get() == merged  # type: ignore[attr-defined]
    assert [(entry[1], entry[2]) for entry in backend.entries()] == [("target", "a")]


@pytest.mark.parametrize("descriptor", [LIST, REDUCING, AGGREGATING])
def test_what_is_kept_is_read_and_taken(backend: KeyedStateBackend, descriptor: Any) -> None:
    state: Any = backend.get_state(descriptor)
    assert state.peek() is ABSENT
    assert state.take() is ABSENT
    state.add(5)
    kept = state.peek()
    assert kept == state.take()
    assert state.get() in (None, [])
    state.put_in(kept)
    assert state.peek() == kept


def test_one_value_is_set_in_the_maps_of_many_keys(backend: KeyedStateBackend) -> None:
    state = backend.get_state(MAP)
    state.put("x", 1)
    state.view.put_each("x", {"a": 2, "b": 3})
    state.view.put_each("y", {"b": 4})
    get = state.view.getter("x")

    assert [get(key, None) for key in "abc"] == [2, 3, None]
    assert state.items() == [("x", 2)]
    backend.set_current_key("b")
    assert sorted(state.items()) == [("x", 3), ("y", 4)]
    changed = list(backend.changes())
    backend.forget_changes()
    assert changed
    assert not list(backend.changes())
