from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types
from penstock.errors import InvalidKeyError, ReadOnlyStateError, StateTypeMismatchError
from penstock.runtime.state.api import BroadcastState, OperatorStateStore, ReadOnlyBroadcastState
from penstock.runtime.state.broadcast_state import BroadcastStateStore, ReadOnlyView
from penstock.runtime.state.descriptors import MapStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())

changes = st.lists(
    st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 9)) | st.just("clear"),
    max_size=10,
)


def change(state: Any, steps: list[Any]) -> None:
    for step in steps:
        if step == "clear":
            state.clear()
        elif step[1] is None:
            state.remove(step[0])
        else:
            state.put(*step)


@given(st.lists(changes, max_size=4))
def test_what_epochs_wrote_makes_up_the_state(epochs: list[list[Any]]) -> None:
    store = BroadcastStateStore("Op")
    model: dict[str, int] = {}
    frames: list[bytes] = []
    for steps in epochs:
        change(store.get_broadcast_state(RULES), steps)
        for step in steps:
            if step == "clear":
                model.clear()
            elif step[1] is None:
                model.pop(step[0], None)
            else:
                model[step[0]] = step[1]
        frames += store.changes()
        store.forget_changes()
    copy = BroadcastStateStore("Op")
    for frame in frames:
        copy.apply(frame)

    assert dict(store.get_broadcast_state(RULES).items()) == model
    assert dict(copy.get_broadcast_state(RULES).items()) == model


def test_an_epoch_without_changes_writes_nothing() -> None:
    store = BroadcastStateStore("Op")
    store.get_broadcast_state(RULES).put_all({"a": 1, "b": 2})
    store.forget_changes()
    list(store.get_broadcast_state(RULES).items())

    assert list(store.changes()) == []


def test_states_are_what_users_know_them_as() -> None:
    store = BroadcastStateStore("Op")
    state = store.get_broadcast_state(RULES)

    assert isinstance(store, OperatorStateStore)
    assert isinstance(state, BroadcastState)
    assert isinstance(state, ReadOnlyBroadcastState)
    assert isinstance(ReadOnlyView(state, "rules", "Op"), ReadOnlyBroadcastState)
    assert not isinstance(ReadOnlyView(state, "rules", "Op"), BroadcastState)


def test_what_cannot_be_a_key_is_refused() -> None:
    with pytest.raises(InvalidKeyError):
        BroadcastStateStore("Op").get_broadcast_state(RULES).put([], 1)


def test_a_state_has_one_type() -> None:
    store = BroadcastStateStore("Op")
    store.get_broadcast_state(RULES)
    with pytest.raises(StateTypeMismatchError, match="'Op' asks for its state 'rules'"):
        store.get_broadcast_state(MapStateDescriptor("rules", Types.LONG(), Types.LONG()))


def test_a_view_follows_the_state_and_refuses_changes() -> None:
    store = BroadcastStateStore("Op")
    state = store.get_broadcast_state(RULES)
    view = ReadOnlyView(state, "rules", "Op")
    state.put("a", 1)
    store.forget_changes()
    state.put("b", 2)

    assert sorted(view) == ["a", "b"]
    with pytest.raises(ReadOnlyStateError) as raised:
        view.clear()
    assert raised.value.message.startswith("Operator 'Op' changed the broadcast state 'rules'")
    assert raised.value.hint == "Change it in process_broadcast_element."
