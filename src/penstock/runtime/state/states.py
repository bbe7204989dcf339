"""The states themselves, the same over the tables of all backends."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from penstock.runtime.keys.key_types import VOID_NAMESPACE, is_same_namespace
from penstock.runtime.objects.mutability import IMMUTABLE_TYPES, NO_PAIR, Kept, given
from penstock.runtime.state.api import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    State,
    ValueState,
)
from penstock.runtime.state.descriptors import (
    AggregatingStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from penstock.runtime.state.row_names import RowsAmongKeys, SeenMaps
from penstock.runtime.state.tables import (
    ABSENT,
    Entries,
    Keep,
    ListView,
    MapView,
    StateTable,
    ValueView,
)
from penstock.runtime.state.ttl_views import TtlTable
from penstock.runtime.user_code import UserFunction


class StateContext(Protocol):
    """Knows the key of the record or timer that is being processed, and who wants to know of rows among keys."""

    current_key: Any
    row_keys: RowsAmongKeys | None


class KeyedState(State):
    """Base of all states: acts on the current key and the current namespace.

    Args:
        descriptor: What the user said.
        context: Knows the current key.
        table: Where values are kept.
    """

    def __init__(
        self, descriptor: StateDescriptor, context: StateContext, table: StateTable | TtlTable
    ) -> None:
        self.descriptor = descriptor
        self._context = context
        self._table = table
        self._namespace: Any = VOID_NAMESPACE
        self.rebind()

    def set_current_namespace(self, namespace: Any) -> None:
        """Act on this namespace from now on."""
        if namespace is not self._namespace and not is_same_namespace(namespace, self._namespace):
            self._namespace = namespace
            self.rebind()

    @property
    def hold(self) -> Keep:
        """What returns what to hold of a value that is to be kept: see `StateTable.hold`."""
        return self._table.hold

    def rebind(self) -> None:
        """Take a new view of the table."""
        self._view = self._table.enter(self._namespace)


class KeyedMergingState(KeyedState):
    """Base of the states of which two can be merged."""

    @abstractmethod
    def peek(self) -> Any:
        """Return what is kept under the current key, an accumulator as such; `ABSENT` for nothing."""

    @abstractmethod
    def take(self) -> Any:
        """Remove and return what is kept under the current key, as `peek` does."""

    @abstractmethod
    def put_in(self, kept: Any) -> None:
        """Join what `take` returned to what is kept under the current key."""

    def merge_namespaces(self, target: Any, sources: Iterable[Any]) -> None:
        """Move what is kept under the current key in some namespaces to another, in their order."""
        for source in sources:
            self.set_current_namespace(source)
            kept = self.take()
            self.set_current_namespace(target)
            if kept is not ABSENT:
                self.put_in(kept)


class _KeyedEntries(KeyedState):
    """Base of the states that keep one value a key."""

    _entries: Entries
    _mark: Callable[[Any], object]
    _keep: Keep

    def rebind(self) -> None:
        self._entries, self._mark, self._keep = self._table.enter(self._namespace)

    @property
    def view(self) -> ValueView:
        """The values of all keys in the current namespace, for use at once."""
        return ValueView(self._entries, self._mark, self._keep)

    def peek(self) -> Any:
        """Return what is kept under the current key, an accumulator as such; `ABSENT` for nothing."""
        held = self._entries.get(self._context.current_key, ABSENT)
        return held.value() if type(held) is Kept else held

    def take(self) -> Any:
        """Remove and return what is kept under the current key, as `peek` does."""
        key = self._context.current_key
        held = self._entries.pop(key, ABSENT)
        if held is not ABSENT:
            self._mark(key)
        return held.value() if type(held) is Kept else held

    def _set(self, value: Any) -> None:
        """Set what is kept under the current key."""
        key = self._context.current_key
        self._entries[key] = value if type(value) in IMMUTABLE_TYPES else self._keep(value, key)
        self._mark(key)

    def clear(self) -> None:
        self.take()


class KeyedValueState(_KeyedEntries, ValueState[Any]):
    """A value for each key."""

    def value(self) -> Any:
        held = self._entries.get(self._context.current_key)
        return held.value() if type(held) is Kept else held

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        # As `_set` does, and some calls less: this is where most programs spend their time.
        key = self._context.current_key
        if type(value) is not int and type(value) not in IMMUTABLE_TYPES:
            one, other = value if type(value) is tuple and len(value) == 2 else NO_PAIR
            if type(one) not in IMMUTABLE_TYPES or type(other) not in IMMUTABLE_TYPES:
                value = self._keep(value, key)
        self._entries[key] = value
        # Python finds a function that is called as a method among those of the class first.
        mark = self._mark
        mark(key)


class KeyedReducingState(_KeyedEntries, KeyedMergingState, ReducingState[Any]):
    """What the values of each key were reduced to."""

    def __init__(
        self,
        descriptor: ReducingStateDescriptor,
        context: StateContext,
        table: StateTable | TtlTable,
    ) -> None:
        super().__init__(descriptor, context, table)
        self._reduce = UserFunction(descriptor.get_reduce_function(), "reduce").call

    def get(self) -> Any:
        return given(self._entries.get(self._context.current_key))

    def add(self, value: Any) -> None:
        key, entries = self._context.current_key, self._entries
        before = entries.get(key, ABSENT)
        if before is not ABSENT:
            value = self._reduce(before.value() if type(before) is Kept else before, value)
        entries[key] = value if type(value) in IMMUTABLE_TYPES else self._keep(value, key)
        self._mark(key)

    def put_in(self, kept: Any) -> None:
        self.add(kept)


class KeyedAggregatingState(_KeyedEntries, KeyedMergingState, AggregatingState[Any, Any]):
    """The accumulator of each key."""

    def __init__(
        self,
        descriptor: AggregatingStateDescriptor,
        context: StateContext,
        table: StateTable | TtlTable,
    ) -> None:
        super().__init__(descriptor, context, table)
        self._function = descriptor.get_agg_function()

    def get(self) -> Any:
        accumulator = self.peek()
        return None if accumulator is ABSENT else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        key, entries, function = self._context.current_key, self._entries, self._function
        accumulator = entries.get(key, ABSENT)
        if accumulator is ABSENT:
            accumulator = function.create_accumulator()
        elif type(accumulator) is Kept:
            accumulator = accumulator.value()
        value = function.add(value, accumulator)
        entries[key] = value if type(value) in IMMUTABLE_TYPES else self._keep(value, key)
        self._mark(key)

    def put_in(self, kept: Any) -> None:
        accumulator = self.peek()
        self._set(kept if accumulator is ABSENT else self._function.merge(accumulator, kept))


class KeyedListState(KeyedMergingState, ListState[Any]):
    """A list for each key."""

    _view: ListView

    def get(self) -> list[Any]:
        return self._view.get(self._context.current_key)

    def add(self, value: Any) -> None:
        self._view.extend(self._context.current_key, (value,))

    def add_all(self, values: Iterable[Any]) -> None:
        self._view.extend(self._context.current_key, list(values))

    def update(self, values: Iterable[Any]) -> None:
        key, elements = self._context.current_key, list(values)
        self._view.remove(key)
        self._view.extend(key, elements)

    @property
    def view(self) -> ListView:
        """The lists of all keys in the current namespace, for use at once."""
        return self._view

    def peek(self) -> Any:
        return self.get() or ABSENT

    def take(self) -> Any:
        elements = self.get()
        self.clear()
        return elements or ABSENT

    def put_in(self, kept: Any) -> None:
        self.add_all(kept)

    def clear(self) -> None:
        self._view.remove(self._context.current_key)


class KeyedMapState(KeyedState, MapState[Any, Any]):
    """A map for each key."""

    _view: MapView

    def rebind(self) -> None:
        view, rows = self._table.enter(self._namespace), self._context.row_keys
        self._view = view if rows is None else SeenMaps(view, rows, self.descriptor.name)

    @property
    def view(self) -> MapView:
        """The maps of all keys in the current namespace, for use at once."""
        return self._view

    def get(self, key: Any) -> Any:
        return self._view.get(self._context.current_key, key, None)

    def put(self, key: Any, value: Any) -> None:
        self._view.put(self._context.current_key, key, value)

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        current, put = self._context.current_key, self._view.put
        for key, value in dict_value.items():
            put(current, key, value)

    def remove(self, key: Any) -> None:
        self._view.remove(self._context.current_key, key)

    def contains(self, key: Any) -> bool:
        return self._view.get(self._context.current_key, key, ABSENT) is not ABSENT

    def items(self) -> list[tuple[Any, Any]]:
        return self._view.items(self._context.current_key)

    def keys(self) -> list[Any]:
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        return self._view.is_empty(self._context.current_key)

    def clear(self) -> None:
        current = self._context.current_key
        for key, _ in self._view.items(current):
            self._view.remove(current, key)


STATE_CLASSES: dict[str, type[KeyedState]] = {
    "value": KeyedValueState,
    "list": KeyedListState,
    "map": KeyedMapState,
    "reducing": KeyedReducingState,
    "aggregating": KeyedAggregatingState,
}
"""The class of each kind of state."""
