"""What states ask of the storage under them: tables, seen one namespace at a time.

There are three shapes of tables: one value a key, one list a key, one map a key. Each backend has the
three; time-to-live is put on top of them by `penstock.runtime.state.ttl_views`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

VOID_NAMESPACE: Final = None
"""The namespace of state and timers that have no other, such as a window."""

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
    """One value a key, of which all can be read."""

    def values(self) -> Iterable[Any]:
        """Return all values."""


class ValueView(NamedTuple):
    """The values of one namespace.

    Attributes:
        entries: The values.
        mark: To be called with each key that was set or removed.
    """

    entries: Entries
    mark: Callable[[Any], object]


class ListView(Protocol):
    """The lists of one namespace."""

    def get(self, key: Any) -> list[Any]:
        """Return the elements under a key, in a list of the caller's own."""

    def extend(self, key: Any, values: Iterable[Any]) -> None:
        """Add elements at the end."""

    def remove(self, key: Any) -> None:
        """Remove all elements under a key."""


class MapView(Protocol):
    """The maps of one namespace; a base class for views of them."""

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
        """Return what reads one value in the maps of many keys; it takes a key and a default."""
        return lambda key, default: self.get(key, map_key, default)

    def put_each(self, map_key: Any, values: Mapping[Any, Any]) -> None:
        """Set one value in the maps of many keys."""
        for key, value in values.items():
            self.put(key, map_key, value)


class StateTable(ABC):
    """The storage of one state.

    Attributes:
        name: The name of the state.
        kind: Its kind, as descriptors call it; it ends with `WITH_TTL` if its values expire.
    """

    def __init__(self, name: str, kind: str) -> None:
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
