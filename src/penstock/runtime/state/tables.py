"""What states ask of the storage under them: tables, seen one namespace at a time.

There are three shapes of tables, and each backend has the three. What is in them comes and goes as changes, which are gathered to parts of files. Time-to-live is put
on top of them by `penstock.runtime.state.ttl_views`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from penstock.errors import MutatedKeyError, ValueNotSerializableError
from penstock.runtime.keys.key_types import VOID_NAMESPACE
from penstock.runtime.objects.mutability import CONTAINERS, IMMUTABLE_TYPES, Kept, kept
from penstock.runtime.user_code import record_text

_PART_SIZE: Final = 1 << 18
_PART_ENTRIES: Final = 128

WITH_TTL: Final = " with time-to-live"
"""What the kind of a table ends with whose values carry the time at which they were written."""


class Shape(Enum):
    """What a table has for each key."""

    VALUE = "one value"
    LIST = "a list"
    MAP = "a map"


_SHAPES: Final = {"list": Shape.LIST, "map": Shape.MAP}


def shape_of(kind: str) -> Shape:
    """Return the shape of the tables for a kind of state: one value a key, unless it is named here."""
    return _SHAPES.get(kind.removesuffix(WITH_TTL), Shape.VALUE)


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
        """Return the values of all keys."""


Keep = Callable[[Any, Any], Any]
"""Returns what to hold of a value that may be changed later; takes the value, and its key for messages."""


def as_it_is(value: Any, key: Any) -> Any:  # noqa: ARG001 - one of those that take the key too
    """Return the value itself: who is given it makes a copy, or bytes, where one is needed."""
    return value


class ValueView(NamedTuple):
    """The values of one namespace, as the table holds them.

    Attributes:
        entries: The values: `penstock.runtime.objects.mutability.given` makes of what is held there what was kept.
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


Change = tuple[Any, Any, bool, Any]
"""What became of one key: namespace, key, whether what was there is gone, what is new.

In maps, the key is a pair of the key and the key in the map. What is new is a value, or the elements that
were added; `ABSENT` if there is nothing.
"""


class TablePart(NamedTuple):
    """Changes of one table in one namespace; removals come first.

    Attributes:
        table: The name of the table.
        kind: Its kind.
        namespace: The namespace.
        removed: Keys whose values, or lists, are gone.
        keys: Keys that have a value, or a longer list.
        values: The values, or the elements that were added.
        are_pickled: Whether the values are bytes: each the pickle of a value, or the pickles of
            elements one after the other.
    """

    table: str
    kind: str
    namespace: Any
    removed: list[Any]
    keys: list[Any]
    values: list[Any]
    are_pickled: bool


class StateTable(ABC):
    """The storage of one state: what is in it, and what of that changed.

    Attributes:
        operator: The name of the operator, for messages.
        name: The name of the state.
        kind: Its kind, as descriptors call it; it ends with `WITH_TTL` if its values expire.
        are_pickled: Whether values are pickled in `changes` and `everything`.
    """

    are_pickled: ClassVar[bool]

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
        """Return what to hold of a value that may be changed later: see `penstock.runtime.objects.mutability`.

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
    def changes(self) -> Iterator[Change]:
        """Yield what changed since `forget_changes`.

        Raises:
            MutatedKeyError: If a key was changed after state was kept under it.
        """

    @abstractmethod
    def everything(self) -> Iterator[Change]:
        """Yield all there is, as changes to an empty table."""

    @abstractmethod
    def apply(self, part: TablePart) -> None:
        """Take over changes of either form, without noting them."""

    @abstractmethod
    def forget_changes(self) -> None:
        """Begin to note changes anew."""

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

    def _require_findable(self, keys: Collection[Any]) -> None:
        """Make sure that keys still have the hash they had when state was kept under them.

        Args:
            keys: The keys, in a collection that finds them by their hashes.

        Raises:
            MutatedKeyError: If one has not.
        """
        for key in keys:
            if key not in keys:
                raise MutatedKeyError(
                    f"A key of the state {self.name!r} was changed after state was kept under it: it "
                    f"is {record_text(self._shown(key))} now.",
                    hint="Let keys be values that cannot be changed, such as a tuple of the fields.",
                )

    def _shown(self, key: Any) -> Any:
        """Return what to show of a key, as the table has it."""
        return key


def parts_of(table: StateTable, changes: Iterable[Change]) -> Iterator[TablePart]:
    """Gather changes of a table to parts."""
    are_pickled = table.are_pickled
    part = TablePart(table.name, table.kind, None, [], [], [], are_pickled)
    count = size = 0
    for namespace, key, is_removed, value in changes:
        if count and (namespace != part.namespace or count >= _PART_ENTRIES or size >= _PART_SIZE):
            yield part
            count = size = 0
        if not count:
            part = TablePart(table.name, table.kind, namespace, [], [], [], are_pickled)
        count += 1
        if is_removed:
            part.removed.append(key)
        if value is not ABSENT:
            part.keys.append(key)
            part.values.append(value)
            if are_pickled:
                size += len(value)
    if count:
        yield part


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
