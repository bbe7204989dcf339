"""The states that a function of a keyed stream may have: what users see of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from penstock.runtime.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """What a function remembers for each key.

    All methods act on the key of the record, or timer, that is being processed. A state is made
    in `open` by a method of the runtime context; it lives as long as the job does and is restored
    after a failure.
    """

    @abstractmethod
    def clear(self) -> None:
        """Forget what is remembered for the current key."""


class ValueState(State, Generic[T]):
    """One value for each key.

    The value that `value` returns may be the object itself: after changing it, call `update`, or
    the change may be lost.
    """

    @abstractmethod
    def value(self) -> T | None:
        """Return the value of the current key, None if it has none."""

    @abstractmethod
    def update(self, value: T | None) -> None:
        """Set the value of the current key.

        Args:
            value: The value; it must be possible to pickle it. None is the same as `clear`.

        Raises:
            ValueNotSerializableError: If the value cannot be pickled: at once on the backend
                `rocksdb`, at the next checkpoint on `hashmap`.
        """


class AppendingState(State, Generic[IN, OUT]):
    """Something for each key to which values are added."""

    @abstractmethod
    def get(self) -> OUT | None:
        """Return what the values of the current key came to, None if there are none."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add a value under the current key.

        Args:
            value: The value; it must be possible to pickle it, or what it is joined to.
        """


class MergingState(AppendingState[IN, OUT]):
    """An appending state of which two can be merged."""


class ReducingState(MergingState[T, T]):
    """One value for each key: all that were added, joined by a reduce function."""


class AggregatingState(MergingState[IN, OUT]):
    """One accumulator for each key: all that was added, joined by an aggregate function."""


class ListState(MergingState[T, Iterable[T]]):
    """A list for each key; `get` returns an empty one where nothing was added."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """Return the elements of the current key, in the order in which they were added."""

    @abstractmethod
    def update(self, values: Iterable[T]) -> None:
        """Replace the list of the current key.

        Args:
            values: The new elements; if there are none, the state is cleared.
        """

    @abstractmethod
    def add_all(self, values: Iterable[T]) -> None:
        """Add elements at the end of the current key's list.

        Args:
            values: The elements.
        """


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """A map that is the same for all keys and in all subtasks, seen from the side that may not change it.

    `items`, `keys` and `values` show the map as it is when they are called. Values must not be changed
    in place.
    """

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value under a key of the map, None if there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return whether a key is in the map."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return the keys of the map with their values."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return the keys of the map."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return the values of the map."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether the map has no entry."""

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """A map that is the same for all keys and in all subtasks, if all make the same changes to it.

    What may be a key of a stream may be a key in the map; equal keys are one.
    """

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value under a key of the map.

        Raises:
            InvalidKeyError: If `key` cannot be a key.
        """

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set the values under several keys of the map."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove a key of the map; nothing happens if it is not there."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class OperatorStateStore(ABC):
    """Keeps the state that belongs to an operator, and not to keys."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[K, V]:
        """Return the broadcast state of that name, made if new.

        Args:
            state_descriptor: Names it.
        """


class MapState(State, Generic[K, V]):
    """A map for each key.

    What may be a key of the stream may be a key in the map; equal keys are one. Entries come in no
    particular order. `items`, `keys` and `values` show the map as it is when they are called.
    """

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value under a key of the map, None if there is none."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value under a key of the map.

        Raises:
            InvalidKeyError: If `key` cannot be a key.
        """

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set the values under several keys of the map."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove a key of the map; nothing happens if it is not there."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return whether a key is in the map."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return the keys of the map with their values."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return the keys of the map."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return the values of the map."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether the map has no entry."""

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class KeyedStateStore(ABC):
    """Where keyed states are asked for: by one method for each kind."""

    @abstractmethod
    def _state(self, descriptor: StateDescriptor) -> Any:
        """Return the state that a descriptor names, made if new."""

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Return the state that holds one value for each key.

        Raises:
            UnsupportedOperationError: If the stream has no keys, or it is a sink function or an
                asynchronous one. So do the methods below.
            StateTypeMismatchError: If there is a state of that name and another type. So do they.
        """
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return the state that holds a list for each key."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Return the state that holds a map for each key."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """Return the state that joins all that is added for a key to one value."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        """Return the state that aggregates all that is added for a key."""
        return self._state(state_descriptor)  # type: ignore[no-any-return]
