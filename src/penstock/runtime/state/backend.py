"""What keeps the keyed state of one operator in one subtask."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, Final, overload

from penstock.errors import StateTypeMismatchError
from penstock.runtime.keys.key_groups import key_group
from penstock.runtime.keys.key_types import VOID_NAMESPACE
from penstock.runtime.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.runtime.state.frames import (
    TimerPart,
    TypeNote,
    only_of,
    read_frame,
    write_frames,
)
from penstock.runtime.state.row_names import RowsAmongKeys
from penstock.runtime.state.states import (
    STATE_CLASSES,
    KeyedAggregatingState,
    KeyedListState,
    KeyedMapState,
    KeyedReducingState,
    KeyedState,
    KeyedValueState,
)
from penstock.runtime.state.tables import (
    WITH_TTL,
    Keep,
    RawTable,
    StateTable,
    TablePart,
    ValueView,
    parts_of,
)
from penstock.runtime.state.ttl_views import TtlTable, without_times
from penstock.runtime.timers.key_grouped_priority_queue import KeyGroupedInternalPriorityQueue

_RAW: Final = "value"


class KeyedStateBackend(ABC):
    """Keeps the keyed state and the timers of one operator in one subtask.

    What an epoch changes is remembered, so that the epoch writes what changed and not what exists.
    Changes and state are read and written as frames, which are the same for all backends.

    Args:
        max_parallelism: The number of key groups of the operator.
        key_groups: Those that belong to the subtask.
        clock: Returns the processing time in milliseconds.
        operator: The name of the operator, for messages.

    Attributes:
        current_key: The key of the record or timer that is being processed. Set it by
            `set_current_key`.
        row_keys: Notes the names of rows among keys; None if nobody wants to know.
        asked_for: The names of the states that the program has asked for.
    """

    _tables: Mapping[str, StateTable]
    """The tables of all states, by name; each backend has its own kind of them."""

    is_keyed: bool = True
    """Whether its entries belong to key groups; if not, every subtask has all of them."""

    is_in_memory: bool = False
    """Whether all of its entries are in memory, and `clear` removes them."""

    def __init__(
        self, *, max_parallelism: int, key_groups: range, clock: Callable[[], int], operator: str
    ) -> None:
        self.max_parallelism = max_parallelism
        self.key_groups = key_groups
        self.clock = clock
        self.operator = operator
        self.current_key: Any = None
        self.row_keys: RowsAmongKeys | None = None
        self._tracks_changes = True
        self.asked_for: set[str] = set()
        self._states: dict[str, KeyedState] = {}
        # The types of states, as the program or a file says.
        self._types: dict[str, str] = {}
        self._read: set[str] = set()
        self._applied: set[str] = set()
        self._queues: dict[str, KeyGroupedInternalPriorityQueue] = {}
        self._expiring: list[TtlTable] = []
        self._for_every_record: list[Callable[[], object]] = []

    def set_current_key(self, key: Any) -> None:
        """Set the key on which all states act."""
        self.current_key = key
        if self._for_every_record:
            for clean_up in self._for_every_record:
                clean_up()

    @property
    def works_for_every_record(self) -> bool:
        """Whether `set_current_key` does more than to set `current_key`."""
        return bool(self._for_every_record)

    @property
    def tracks_changes(self) -> bool:
        """False in a job's last epoch, whose changes nobody will read."""
        return self._tracks_changes

    @tracks_changes.setter
    def tracks_changes(self, tracks_changes: bool) -> None:
        self._tracks_changes = tracks_changes
        for queue in self._queues.values():
            queue.tracks_changes = tracks_changes
        self._follow_tracking()
        self._rebind()

    def _follow_tracking(self) -> None:  # noqa: B027 - only some have to be told
        """Note that `tracks_changes` was set."""

    def _rebind(self) -> None:
        for state in self._states.values():
            state.rebind()

    @overload
    def get_state(
        self, descriptor: ValueStateDescriptor, namespace: Any = ...
    ) -> KeyedValueState: ...
    @overload
    def get_state(
        self, descriptor: ListStateDescriptor, namespace: Any = ...
    ) -> KeyedListState: ...
    @overload
    def get_state(self, descriptor: MapStateDescriptor, namespace: Any = ...) -> KeyedMapState: ...
    @overload
    def get_state(
        self, descriptor: ReducingStateDescriptor, namespace: Any = ...
    ) -> KeyedReducingState: ...
    @overload
    def get_state(
        self, descriptor: AggregatingStateDescriptor, namespace: Any = ...
    ) -> KeyedAggregatingState: ...
    @overload
    def get_state(self, descriptor: StateDescriptor, namespace: Any = ...) -> KeyedState: ...
    def get_state(self, descriptor: StateDescriptor, namespace: Any = VOID_NAMESPACE) -> KeyedState:
        """Return the state of that name, made if new, in that namespace.

        Raises:
            StateTypeMismatchError: If there is one of that name and another kind or type.
        """
        state = self._states.get(descriptor.name)
        if state is None:
            state = self._states[descriptor.name] = self._make_state(descriptor)
            self.asked_for.add(descriptor.name)
        elif _type(state.descriptor) != _type(descriptor):
            raise _mismatch(self.operator, descriptor, _type_name(state.descriptor))
        state.set_current_namespace(namespace)
        return state

    def _make_state(self, descriptor: StateDescriptor) -> KeyedState:
        config, kind = descriptor.ttl_config, _kind(descriptor)
        table = self._table(descriptor.name, kind)
        if table.kind != kind:
            raise _mismatch(self.operator, descriptor, table.kind)
        self._check_type(descriptor, self._types.get(descriptor.name))
        self._types[descriptor.name] = repr(descriptor.type_info)
        if config is None:
            return STATE_CLASSES[descriptor.kind](descriptor, self, table)
        expiring = TtlTable(table, config, self._now)
        self._expiring.append(expiring)
        self._begin_cleaning(expiring)
        return STATE_CLASSES[descriptor.kind](descriptor, self, expiring)

    def _check_type(self, descriptor: StateDescriptor, written: str | None) -> None:
        """Refuse to read state as another type than it was written with."""
        if written is not None and written != repr(descriptor.type_info):
            raise _mismatch(self.operator, descriptor, f"{descriptor.kind} of type {written}")

    def _now(self) -> int:
        return self.clock()

    def _begin_cleaning(self, table: TtlTable) -> None:  # noqa: B027 - only some do it in use
        """Arrange for expired values to be removed that nobody reads."""

    def _table(self, name: str, kind: str) -> StateTable:
        """Return the table of that name, made if new; it may be of another kind."""
        known = self._tables.get(name)
        return self._new_table(name, kind) if known is None else known

    @abstractmethod
    def _new_table(self, name: str, kind: str) -> StateTable:
        """Make a table of the shape that the kind has."""

    def table(self, name: str) -> RawTable:
        """Return one value a key, without a descriptor, as it is held: see `keep_in`.

        Report changes by `mark_changed`.
        """
        self.asked_for.add(name)
        found: RawTable = self._raw(name).entries  # type: ignore[assignment] # all of it can be read
        return found

    def keep_in(self, name: str) -> Keep:
        """Return what makes of a value that may be changed later what is set for it in `table(name)`.

        `penstock.runtime.objects.mutability.given` makes the value of it.
        """
        return self._raw(name).keep

    def _raw(self, name: str) -> ValueView:
        view: ValueView = self._table(name, _RAW).view(VOID_NAMESPACE)
        return view

    @abstractmethod
    def mark_changed(self, name: str, keys: list[Any]) -> None:
        """Note that the values of these keys in `table(name)` were set."""

    def timer_queue(self, name: str) -> KeyGroupedInternalPriorityQueue:
        """Return the timer queue of that name, made if new."""
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = self._make_queue(name)
            queue.tracks_changes = self._tracks_changes
        return queue

    @abstractmethod
    def _make_queue(self, name: str) -> KeyGroupedInternalPriorityQueue:
        """Make a queue of timers, which are kept as this backend keeps its state."""

    def changes(self) -> Iterator[bytes]:
        """Yield what changed since `forget_changes`, in frames of bounded size.

        Raises:
            ValueNotSerializableError: If a value cannot be pickled.
            MutatedKeyError: If a key was changed after state was kept under it.
        """
        return self._frames(self._changed_parts(), lambda queue: queue.changes())

    def everything(self) -> Iterator[bytes]:
        """Yield all there is, in frames of bounded size.

        Raises:
            ValueNotSerializableError: If a value cannot be pickled.
            MutatedKeyError: If a key was changed after state was kept under it.
        """
        self.expire_before_snapshot()
        return self._frames(self._parts(), lambda queue: queue.everything())

    def everything_in(self, key_groups: range) -> Iterator[bytes]:
        """Yield all there is in some key groups, in frames of bounded size.

        It may be asked for once `follow_round` returned True.

        Raises:
            ValueNotSerializableError: If a value cannot be pickled.
        """
        return self._frames(
            self._parts_in(key_groups), lambda queue: queue.everything_in(key_groups)
        )

    def _frames(
        self,
        parts: Iterator[TablePart],
        of_queue: Callable[[KeyGroupedInternalPriorityQueue], Iterator[bytes]],
    ) -> Iterator[bytes]:
        timers = (
            TimerPart(name, frame)
            for name, queue in self._queues.items()
            for frame in of_queue(queue)
        )
        return write_frames(itertools.chain(self._with_types(parts), timers), self.operator)

    def _with_types(self, parts: Iterator[TablePart]) -> Iterator[TablePart | TypeNote]:
        """Put the type of each state before the first of its parts."""
        noted: set[str] = set()
        for part in parts:
            if part.table not in noted:
                noted.add(part.table)
                if (known := self._types.get(part.table)) is not None:
                    yield TypeNote(part.table, part.kind, known)
            yield part

    def expire_before_snapshot(self) -> None:
        """Remove what has expired of the states that are to be cleaned when a snapshot is written."""
        for table in self._expiring:
            table.clean_before_snapshot()

    def follow_round(self, began: str | None, *, hurries: bool) -> bool:
        """Get ready for `everything_in`, a bounded piece of work at a time; return whether it is done.

        Args:
            began: The version with which the round of snapshots began; None if there is none under way.
            hurries: Whether to do all of the work now.
        """
        return True

    def _changed_parts(self) -> Iterator[TablePart]:
        """Yield what changed in all tables."""
        for table in self._tables.values():
            yield from parts_of(table, table.changes())

    def _parts(self) -> Iterator[TablePart]:
        """Yield all there is in all tables."""
        for table in self._tables.values():
            yield from parts_of(table, table.everything())

    @abstractmethod
    def _parts_in(self, key_groups: range) -> Iterator[TablePart]:
        """Yield all there is in all tables in some key groups."""

    def apply(self, frame: bytes, *, only: range | None = None) -> None:
        """Take over a frame of `changes` or `everything`, without noting it as a change.

        The state must have no changes that were not forgotten.

        Args:
            frame: The frame.
            only: The key groups whose entries count; None for all.

        Raises:
            StateTypeMismatchError: If a state in it has another type here.
        """
        for part in read_frame(frame):
            if isinstance(part, TypeNote):
                self._note_type(part)
                continue
            own = part if only is None else only_of(part, lambda key: self._is_in(key, only))
            if self.row_keys is not None:
                self.row_keys.keep(own)
            if not isinstance(own, TimerPart):
                self._table(own.table, own.kind).apply(own)
                self._applied.add(own.table)
            elif own.frame:
                self.timer_queue(own.queue).apply(own.frame)

    def _is_in(self, key: Any, key_groups: range) -> bool:
        return key_group(key, self.max_parallelism) in key_groups

    def _note_type(self, note: TypeNote) -> None:
        state = self._states.get(note.table)
        if state is not None:
            if note.kind != _kind(state.descriptor):
                raise _mismatch(self.operator, state.descriptor, note.kind)
            self._check_type(state.descriptor, note.type_name)
        self._types[note.table] = note.type_name
        self._read.add(note.table)

    def was_read(self, names: Set[str]) -> bool:
        """Whether any of these states has something that was read from a file since this was asked last."""
        read = names & self._read
        self._read -= read
        return any(
            table.name in read and any(True for _ in table.contents())
            for table in (self._tables.values() if read else ())
        )

    def was_applied(self, name: str) -> bool:
        """Whether a table took anything over from a file since this was asked last."""
        if name not in self._applied:
            return False
        self._applied.remove(name)
        return True

    def forget_changes(self) -> None:
        """Begin to note changes anew: the epoch is over."""
        for queue in self._queues.values():
            queue.forget_changes()
        self._forget()
        self._rebind()

    def _forget(self) -> None:
        """Begin to note changes of tables anew."""
        for table in self._tables.values():
            table.forget_changes()

    def keys(self, state_name: str, namespace: Any = VOID_NAMESPACE) -> Iterator[Any]:
        """Yield the keys for which a state has something."""
        return (
            key
            for table in tuple(self._tables.values())
            if table.name == state_name
            for where, key, _ in table.contents()
            if where == namespace
        )

    def entries(self) -> Iterator[tuple[str, Any, Any, Any]]:
        """Yield the state's name, namespace, key and value (a list or dict where it is one)."""
        for table in tuple(self._tables.values()):
            for namespace, key, value in table.contents():
                yield table.name, namespace, key, without_times(table.kind, value)

    def entry_count(self) -> int:
        """Return how many entries and timers it has in memory."""
        return 0

    def clear(self) -> None:
        """Remove all entries and timers, without noting it as a change; states stay what they are."""
        raise NotImplementedError

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""


def _kind(descriptor: StateDescriptor) -> str:
    return descriptor.kind if descriptor.ttl_config is None else descriptor.kind + WITH_TTL


def _type(descriptor: StateDescriptor) -> tuple[object, ...]:
    return descriptor.kind, descriptor.type_info, descriptor.ttl_config is None


def _type_name(descriptor: StateDescriptor) -> str:
    ttl = WITH_TTL if descriptor.ttl_config is not None else ""
    return f"{descriptor.kind}{ttl} of type {descriptor.type_info!r}"


def _mismatch(operator: str, wanted: StateDescriptor, known: str) -> StateTypeMismatchError:
    return StateTypeMismatchError(
        f"Operator {operator!r} asks for its state {wanted.name!r} as {_type_name(wanted)}, but it "
        f"was asked for, or written, as {known}.",
        hint="Give each state a name of its own, and another name if its type has to change. To drop what "
        "a checkpoint holds of the operator, give the operator another uid and set "
        "execution.state-recovery.ignore-unclaimed-state.",
    )
