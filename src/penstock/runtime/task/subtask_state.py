"""The state of one subtask: kept from epoch to epoch, caught up where this process fell behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.checkpoint.epoch_record import RowNames
from penstock.checkpoint.folding import Handles, Part, joinable, next_part, round_start, with_file
from penstock.checkpoint.handles import (
    StateHandle,
    join_state_files,
    read_state_file,
    write_state_file,
)
from penstock.runtime.epoch import Epoch
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.memory import StateMemory, default_limit
from penstock.runtime.state.row_names import RowsAmongKeys
from penstock.runtime.user_code import naming_operator

_EMPTY: Final = ""
_DIRTY: Final = "dirty"
_END_OF_NAME: Final = b"\n"
_ENTRY_SIZE: Final = 300
"""About how many bytes an entry takes in memory beside those it has in a file."""


class SubtaskState:
    """The state of one subtask.

    No process owns a subtask: the next epoch may run elsewhere. So a process keeps the version it has,
    and applies what changed since.

    Args:
        stores: What the state is kept in, by names that stay the same from run to run.
        memory: Bounds what the process holds.
        limit: How many bytes it may hold; None for what suits the machine.

    Attributes:
        is_in_use: Whether an epoch is under way in it.
    """

    def __init__(
        self,
        stores: Mapping[str, KeyedStateBackend],
        memory: StateMemory | None = None,
        limit: int | None = None,
    ) -> None:
        self._stores = stores
        self._memory = memory or StateMemory()
        self._limit = default_limit() if limit is None else limit
        self._is_in_memory = all(store.is_in_memory for store in stores.values())
        self._size = 0
        self.is_in_use = False
        self._groups = max((len(store.key_groups) for store in stores.values()), default=1)
        self._version = _EMPTY
        self._handles: Handles = ()

    def can_catch_up(self, handles: Sequence[StateHandle]) -> bool:
        """Whether the state is of an earlier version of the one that the handles make up.

        If it is not, it is too old, or has seen an epoch that was not committed, and is of no use.
        """
        return self._version == _EMPTY or any(handle.version == self._version for handle in handles)

    def begin_epoch(self, epoch: Epoch, handles: Sequence[StateHandle]) -> None:
        """Bring the state to the version that the handles make up.

        Raises:
            DamagedStateError: If a file is missing or damaged.
            StateTypeMismatchError: If a file holds a state of another type than the program has.
        """
        self.is_in_use = True
        for name, store in self._stores.items():
            store.row_keys = (
                (store.row_keys or RowsAmongKeys(name)) if epoch.asks_for_rows else None
            )
        self._handles = tuple(handles)
        versions = [_EMPTY, *(handle.version for handle in handles)]
        # Of a foreign file several parts may be taken: it counts where it comes last.
        known = len(versions) - versions[::-1].index(self._version)
        missing = handles[known - 1 :]
        # Until the epoch is prepared, this copy is of no version that anybody could name.
        self._version = _DIRTY
        for handle in missing:
            self._apply(epoch, handle)
        if missing:
            self._measure()
        self._note_use()
        for store in self._stores.values():
            store.tracks_changes = not epoch.is_last

    def _apply(self, epoch: Epoch, handle: StateHandle) -> None:
        groups = range(handle.first, handle.end) if handle.is_foreign else None
        for frame in read_state_file(epoch.state_storage, handle):
            name, _, content = frame.partition(_END_OF_NAME)
            try:
                store = self._stores[name.decode()]
            except KeyError:
                # Another subtask's chain may have had operators that this one has not.
                if handle.is_foreign:
                    continue
                raise
            with naming_operator(store.operator):
                if store.is_keyed:
                    store.apply(content, only=groups)
                elif handle.gives_broadcast:
                    store.apply(content)

    def end_epoch(self, epoch: Epoch, name: str) -> Handles:
        """Write what the epoch changed, and return the handles of the state as it is now."""
        if epoch.location is not None and not epoch.is_last:
            before = self._handles
            self._write(epoch, epoch.state_name(name))
            if self._handles != before:
                self._measure()
            self._version = self._handles[-1].version if self._handles else _EMPTY
        for store in self._stores.values():
            store.forget_changes()
        self._note_use()
        self.is_in_use = False
        return self._handles

    def asked_for(self) -> dict[str, frozenset[str]]:
        """Return the names of the states that each operator has asked for, by the operator's id."""
        found: dict[str, frozenset[str]] = {}
        for name, store in self._stores.items():
            operator_id = name.partition(" ")[0]
            found[operator_id] = found.get(operator_id, frozenset()) | store.asked_for
        return found

    def row_names(self) -> tuple[frozenset[RowNames], frozenset[RowNames]]:
        """Return the names of rows among the keys that state was read for, and among those that came."""
        asked = [store.row_keys for store in self._stores.values() if store.row_keys is not None]
        kept: set[RowNames] = set().union(*(rows.kept for rows in asked))
        seen: set[RowNames] = set().union(*(rows.seen for rows in asked))
        return frozenset(kept), frozenset(seen)

    def _measure(self) -> None:
        """Estimate how much memory the state takes: what its files have, and some for each entry."""
        if self._is_in_memory:
            entries = sum(store.entry_count() for store in self._stores.values())
            files = sum(handle.length for handle in self._handles)
            self._size = _ENTRY_SIZE * entries + files if entries else 0

    def _note_use(self) -> None:
        if self._is_in_memory:
            self._memory.note(self, self._size, self._limit)

    def let_go(self) -> None:
        """Hold nothing any more; the next epoch reads again what it needs."""
        for store in self._stores.values():
            store.clear()
        self._size = 0
        if self._version != _DIRTY:
            self._version = _EMPTY

    def close(self) -> None:
        """Let go of everything."""
        self._memory.forget(self)
        for store in self._stores.values():
            store.close()

    def _write(self, epoch: Epoch, name: str) -> None:
        part = self._next_part(epoch)
        if part is not None and part.begins:
            for store in self._stores.values():
                store.expire_before_snapshot()
        changes = self._changes()
        first = next(changes, None)
        if first is None:
            return
        is_whole = part is not None and part.begins and part.groups == self._groups
        handle = write_state_file(
            epoch.state_storage,
            name,
            () if is_whole else _chained(first, changes),
            is_snapshot=part is not None and part.begins,
            whole=self._everything() if is_whole else self._whole(part),
            groups=0 if part is None else part.groups,
        )
        self._handles = with_file(self._handles, handle, self._groups)
        if (place := joinable(self._handles)) is not None:
            joined = join_state_files(epoch.state_storage, name, self._handles[place])
            self._handles = (*self._handles[: place.start], joined, *self._handles[place.stop :])

    def _next_part(self, epoch: Epoch) -> Part | None:
        """Return the part of a round that this epoch writes, if it may and can."""
        part = next_part(self._handles, self._groups)
        start = round_start(self._handles)
        current = None if start is None else self._handles[start].version
        is_urgent = part is not None and part.is_urgent
        are_ready = [
            store.follow_round(current, hurries=is_urgent) for store in self._stores.values()
        ]
        if part is None or part.must_be:
            return part
        return part if epoch.may_fold and (part.begins or all(are_ready)) else None

    def _changes(self) -> Iterator[bytes]:
        for name, store in self._stores.items():
            for frame in store.changes():
                yield name.encode() + _END_OF_NAME + frame

    def _everything(self) -> Iterator[bytes]:
        for name, store in self._stores.items():
            for frame in store.everything():
                yield name.encode() + _END_OF_NAME + frame

    def _whole(self, part: Part | None) -> Iterator[bytes]:
        """Yield all there is in the key groups of a part."""
        if part is None or not part.groups:
            return
        for name, store in self._stores.items():
            # What changed has been written by now; from here on it need not be noted.
            store.forget_changes()
            groups = store.key_groups[part.first : part.first + part.groups]
            for frame in store.everything_in(groups):
                yield name.encode() + _END_OF_NAME + frame


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
