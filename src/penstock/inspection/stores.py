"""What the state files of a checkpoint hold, loaded as a job that goes on from them loads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from penstock.checkpoint.epoch_record import EpochRecord, VertexRecord
from penstock.errors import StateClassNotFoundError
from penstock.inspection.opaque import is_opaque, without_classes
from penstock.runtime.epoch import Epoch
from penstock.runtime.keys.key_groups import key_group, key_group_range
from penstock.runtime.state.hashmap.hashmap_backend import HashMapKeyedStateBackend
from penstock.runtime.state.tables import WITH_TTL, Shape, shape_of
from penstock.runtime.task.subtask_state import SubtaskState
from penstock.runtime.timers.internal_timer import InternalTimer

_BROADCAST: Final = " broadcast"
_TIME_DOMAINS: Final = {
    "event time timers of ": "event time",
    "processing time timers of ": "processing time",
}


class Entry(NamedTuple):
    """One value of a state.

    Attributes:
        key: The key.
        namespace: The window, or what else it belongs to under the key; None for nothing.
        place: The key in the map, or the position in the list; None for other kinds of state.
        value: The value.
        written_at: When it was written (milliseconds), if it expires.
    """

    key: Any
    namespace: Any
    place: Any
    value: Any
    written_at: int | None


class Store(HashMapKeyedStateBackend):
    """The state of one operator in one subtask, to be looked at.

    Attributes:
        bytes: The length of what it was read from.
    """

    def __init__(self, *, operator: str, max_parallelism: int, key_groups: range) -> None:
        self.is_keyed = not operator.endswith(_BROADCAST)
        super().__init__(
            operator=operator,
            max_parallelism=max_parallelism,
            key_groups=key_groups,
            clock=lambda: 0,
        )
        self.bytes = 0

    def apply(self, frame: bytes, *, only: range | None = None) -> None:
        """Take over a frame of a state file."""
        self.bytes += len(frame)
        super().apply(frame, only=only)

    def _is_in(self, key: Any, key_groups: range) -> bool:
        if is_opaque(key):
            raise StateClassNotFoundError(
                f"The class of the key {key!r} is not imported here, and the state was written with "
                "another parallelism: it cannot be told which subtask the key belongs to.",
                hint="Read the checkpoint where the modules of the job can be imported, and let them be: "
                "with `--import-classes` on the command line.",
            )
        return super()._is_in(key, key_groups)

    def kinds(self) -> dict[str, str]:
        """Return the kind of each state by its name."""
        return {table.name: table.kind for table in self._tables.values()}

    def type_of(self, name: str) -> str | None:
        """Return the type of a state, if the program gave one."""
        return self._types.get(name)

    def values_of(self, name: str) -> Iterator[Entry]:
        """Yield what a state holds, lists and maps one by one."""
        for table in self._tables.values():
            if table.name == name:
                expires = table.kind.endswith(WITH_TTL)
                for namespace, key, value in table.contents():
                    for place, item in _items(table.kind, value):
                        kept, written_at = item if expires else (item, None)
                        yield Entry(key, namespace, place, kept, written_at)

    def timers(self) -> Iterator[tuple[str, InternalTimer]]:
        """Yield all timers, with the time domain of each."""
        for name, queue in self._queues.items():
            for prefix, domain in _TIME_DOMAINS.items():
                if name.startswith(prefix):
                    for timer in queue.iterate():
                        yield domain, timer

    def key_group_of(self, key: Any) -> int | None:
        """Return the key group of a key; None if its class cannot be imported."""
        return None if is_opaque(key) else key_group(key, self.max_parallelism)


def _items(kind: str, value: Any) -> Iterator[tuple[Any, Any]]:
    match shape_of(kind):
        case Shape.LIST:
            yield from enumerate(value)
        case Shape.MAP:
            yield from value.items()
        case _:
            yield None, value


class _Stores(dict[str, Store]):
    """The stores of one subtask, made when something is read for them."""

    def __init__(self, vertex: VertexRecord, subtask: int) -> None:
        super().__init__()
        self._vertex = vertex
        self._subtask = subtask

    def __missing__(self, name: str) -> Store:
        vertex = self._vertex
        store = self[name] = Store(
            operator=name,
            max_parallelism=vertex.max_parallelism,
            key_groups=key_group_range(self._subtask, vertex.parallelism, vertex.max_parallelism),
        )
        store.is_keyed = not name.endswith(_BROADCAST)
        return store


class OperatorStores(NamedTuple):
    """The state of one operator.

    Attributes:
        keyed: Its keyed state, by subtasks that have some.
        broadcast: Its broadcast state, of which each subtask has the whole; None for none.
    """

    keyed: list[Store]
    broadcast: Store | None


def read_stores(
    location: str, record: EpochRecord, vertex: VertexRecord, *, import_classes: bool
) -> dict[str, OperatorStores]:
    """Read the state of the operators of one chain, by their ids. A job that has ended has none.

    Args:
        location: Where the checkpoint is.
        record: The metadata of the epoch.
        vertex: The chain.
        import_classes: Whether classes that objects are of are imported, if they can be.

    Raises:
        DamagedStateError: If a file is missing or damaged.
    """
    epoch = Epoch(job_id="", number=record.number, is_last=True, location=location)
    subtasks = []
    for (index, subtask), handles in sorted(record.handles.items()):
        if index == vertex.number and handles and not record.is_last:
            stores = _Stores(vertex, subtask)
            with without_classes(import_classes=import_classes):
                SubtaskState(stores).begin_epoch(epoch, handles)
            subtasks.append(stores)
    return {
        operator.operator_id: _of(operator.operator_id, subtasks) for operator in vertex.operators
    }


def _of(operator_id: str, subtasks: list[_Stores]) -> OperatorStores:
    keyed = [stores[operator_id] for stores in subtasks if operator_id in stores]
    name = operator_id + _BROADCAST
    return OperatorStores(
        keyed, next((stores[name] for stores in subtasks if name in stores), None)
    )
