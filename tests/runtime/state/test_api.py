from __future__ import annotations

from typing import get_type_hints

from penstock.runtime.state.api import KeyedStateStore, State
from penstock.runtime.state.descriptors import StateDescriptor
from penstock.runtime.state.states import STATE_CLASSES


def test_each_kind_of_state_can_be_asked_for_and_has_a_class() -> None:
    asked: dict[type[StateDescriptor], type[State]] = {}
    for name in vars(KeyedStateStore):
        if name.startswith("get_"):
            hints = get_type_hints(getattr(KeyedStateStore, name))
            state = hints["return"]
            asked[hints["state_descriptor"]] = getattr(state, "__origin__", state)
    known = [
        one for one in StateDescriptor.__subclasses__() if one.__module__.startswith("penstock.")
    ]
    assert set(asked) == set(known)
    assert {descriptor.kind for descriptor in asked} == set(STATE_CLASSES)
    for descriptor, state in asked.items():
        assert issubclass(STATE_CLASSES[descriptor.kind], state)
