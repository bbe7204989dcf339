"""What states ask of the storage under them: tables, seen one namespace at a time.

There are three shapes of tables: one value a key, one list a key, one map a key. Each backend has the
three; time-to-live is put on top of them by `penstock.runtime.state.ttl_views`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

from penstock.errors import ValueNotSerializableError
from penstock.runtime.key_types import VOID_NAMESPACE
from penstock.runtime.mutability import CONTAINERS, IMMUTABLE_TYPES, Kept, kept
from penstock.runtime.user_code import record_text

WITH_TTL: Final = " with time-to-live"
"""What the kind of a table ends with whose values carry the time at which they were written."""


class _Absent:
    """The type of `ABSENT`."""


ABSENT: Final = _Absent()
"""Stands for no value, where None may be one."""

ignore: Final[Callable[[Any], object]] = deque[Any](maxlen=0).append
"""Takes anything and keeps nothing, as fast as Python can."""


class Entries(Protocol):
    """One value a key; a dictionary is one."""

    def get(self, key: Any, default: Any = None, /) -> Any:
        """Return the value of a key, or the default."""

    def __setitem__(self, key: Any, value: Any, /) -> None: ...

    def pop(self, key: Any, default: Any, /) -> Any:
        """Remove a key, and return its value or the default."""


class RawTable(Entries, Protocol):
    """One value a key, of which all can be read, as they are held: see `ValueView`."""

    def values(self) -> Iterable[Any]:
        """Return all values."""


Keep = Callable[[Any, Any], Any]
"""Returns what to hold of a value that may be changed later; takes the value, and its key for messages."""


def as_it_is(value: Any, key: Any) -> Any:  # noqa: ARG001 - one of those that take the key too
    """Return a value."""
    return value


class ValueView(NamedTuple):
    """The values of one namespace, as the table holds them.

    Attributes:
        entries: The values: `penstock.runtime.mutability.given` makes of what is held there what was kept.
        mark: To be called with each key that was set or removed.
        keep: Returns what to set for a value that may be changed later. One that `StateTable.hold`
            returned may be set too.
    """

    entries: Entries
    mark: Callable[[Any], object]
    keep: Keep


class ListView(Protocol):
    """The lists of one namespace. It keeps elements as they are when it takes them."""

    def get(self, key: Any) -> list[Any]:
        """Return the elements under a key, in a list of the caller's own, as are the elements."""

    def extend(self, key: Any, values: Iterable[Any]) -> None:
        """Add elements at the end."""

    def remove(self, key: Any) -> None:
        """Remove all elements under a key."""


class MapView(Protocol):
    """The maps of one namespace; a base class for views of them.

    It keeps keys and values as they are when it takes them, and gives them as objects of the caller's own.
    """

    def get(self, key: Any, map_key: Any, default: Any) -> Any:
        """Return a value in the map under a key, or the default."""

    def put(self, key: Any, map_key: Any, value: Any) -> None:
        """Set a value in the map under a key."""

    def remove(self, key: Any, map_key: Any) -> None:
        """Remove a value from the map under a key."""

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """Return the map under a key, in a list of the caller's own."""

    def is_empty(self, key: Any) -> bool:
        """Return whether the map under a key has no entry."""

    def getter(self, map_key: Any) -> Callable[[Any, Any], Any]:
        """Return what reads one value in the maps of many keys, as it is held; see `ValueView`.

        It takes a key and a default.
        """
        return lambda key, default: self.get(key, map_key, default)

    def put_each(self, map_key: Any, values: Mapping[Any, Any]) -> None:
        """Set one value in the maps of many keys; all are such as `StateTable.hold` returns."""
        for key, value in values.items():
            self.put(key, map_key, value)


class StateTable(ABC):
    """The storage of one state.

    Attributes:
        operator: The name of the operator, for messages.
        name: The name of the state.
        kind: Its kind, as descriptors call it; it ends with `WITH_TTL` if its values expire.
    """

    def __init__(self, operator: str, name: str, kind: str) -> None:
        self.operator = operator
        self.name = name
        self.kind = kind
        self._entered: Any = VOID_NAMESPACE

    def enter(self, namespace: Any) -> Any:
        """Return the view of the namespace that the state is in from now on.

        It holds until another is entered, or the backend forgets its changes.
        """
        left, self._entered = self._entered, namespace
        self.release(left)
        return self.view(namespace)

    @abstractmethod
    def view(self, namespace: Any) -> Any:
        """Return a `ValueView`, `ListView` or `MapView`, as fits the kind, for use at once."""

    def release(self, namespace: Any) -> None:  # noqa: B027 - only some have to tidy up
        """Tidy up a namespace after a view of it was used."""

    def hold(self, value: Any, key: Any) -> Any:
        """Return what to hold of a value that may be changed later: see `penstock.runtime.mutability`.

        Args:
            value: The value.
            key: Its key, for messages.

        Raises:
            ValueNotSerializableError: If it can be changed, and cannot be pickled.
        """
        if type(value) is tuple:
            # As `kept` does, and a call or two less: nothing else is asked for as often.
            for item in value:
                if type(item) not in IMMUTABLE_TYPES:
                    break
            else:
                return value
        try:
            return Kept(value) if type(value) in CONTAINERS else kept(value)
        except Exception as error:
            raise not_serializable(value, self.operator, self.name, key, error) from error

    @abstractmethod
    def some_keys(self, after: Any, count: int) -> tuple[list[tuple[Any, Any]], Any]:
        """Return namespaces and keys, and what to give as `after` in order to go on.

        Args:
            after: What an earlier call returned; None to begin.
            count: How many there should be at most.

        Returns:
            Pairs of namespace and key, and None if those were the last.
        """

    @abstractmethod
    def contents(self) -> Iterator[tuple[Any, Any, Any]]:
        """Yield namespaces, keys and values: the value, the list, or the map as a dictionary."""


def not_serializable(
    value: Any, operator: str, state: str, key: Any, error: Exception
) -> ValueNotSerializableError:
    """Return what to raise where a value of a state cannot be pickled.

    Args:
        value: The value.
        operator: The name of the operator.
        state: The name of the state.
        key: Its key.
        error: What pickling raised.
    """
    return ValueNotSerializableError(
        f"Operator {operator!r} keeps a value in its state {state!r} that cannot be pickled, so it "
        f"cannot be written: {record_text(value)}, under the key {record_text(key)}\n"
        f"{type(error).__name__}: {error}",
        hint="Keep plain data in state; define its classes at the top level of a module, not inside "
        "a function.",
    )
