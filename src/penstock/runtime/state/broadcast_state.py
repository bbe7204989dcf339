"""Broadcast state: maps of which every subtask has the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from penstock.errors import ReadOnlyStateError
from penstock.runtime.state.api import BroadcastState, OperatorStateStore, ReadOnlyBroadcastState
from penstock.runtime.state.descriptors import MapStateDescriptor
from penstock.runtime.state.hashmap.hashmap_backend import HashMapKeyedStateBackend
from penstock.runtime.state.states import KeyedMapState

BroadcastState.register(KeyedMapState)


class BroadcastStateStore(HashMapKeyedStateBackend, OperatorStateStore):
    """Keeps the broadcast state of one operator in one subtask, in memory.

    It is kept like the state of a single key, so an epoch writes the entries that changed.

    Args:
        operator: The name of the operator, for messages.
    """

    is_keyed = False

    def __init__(self, operator: str) -> None:
        # Nothing expires here, so no time is ever asked for.
        super().__init__(max_parallelism=1, key_groups=range(1), clock=lambda: 0, operator=operator)

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> Any:
        """Return the broadcast state of that name, made if new."""
        return self.get_state(state_descriptor)


class ReadOnlyView(ReadOnlyBroadcastState[Any, Any]):
    """Broadcast state as seen from the input that may not change it.

    Args:
        state: The state.
        name: Its name, for messages.
        operator: The name of the operator, for messages.
    """

    def __init__(self, state: BroadcastState[Any, Any], name: str, operator: str) -> None:
        self._state = state
        self._name = name
        self._operator = operator

    def get(self, key: Any) -> Any:
        return self._state.get(key)

    def contains(self, key: Any) -> bool:
        return self._state.contains(key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self._state.items()

    def keys(self) -> Iterable[Any]:
        return self._state.keys()

    def values(self) -> Iterable[Any]:
        return self._state.values()

    def is_empty(self) -> bool:
        return self._state.is_empty()

    def put(self, key: Any, value: Any) -> None:
        """Refuse to set a value."""
        self._refuse()

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        """Refuse to set values."""
        self._refuse()

    def remove(self, key: Any) -> None:
        """Refuse to remove a key."""
        self._refuse()

    def clear(self) -> None:
        self._refuse()

    __setitem__ = put
    __delitem__ = remove

    def _refuse(self) -> NoReturn:
        raise ReadOnlyStateError(
            f"Operator {self._operator!r} changed the broadcast state {self._name!r} where it may only "
            "be read: each subtask sees other records, and would have another state.",
            hint="Change it in process_broadcast_element.",
        )
