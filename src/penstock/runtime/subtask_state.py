"""The state of one subtask: kept from epoch to epoch, caught up where this process fell behind."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.checkpoint.handles import StateHandle, read_state_file, write_state_file
from penstock.runtime.epoch import Epoch
from penstock.runtime.state.backend import KeyedStateBackend

_EMPTY: Final = ""
_DIRTY: Final = "dirty"
_MOST_CHANGELOGS: Final = 64
_SMALL: Final = 1 << 16
_END_OF_NAME: Final = b"\n"


class SubtaskState:
    """The state of one subtask.

    No process owns a subtask: the next epoch may run elsewhere. So a process keeps the version it has,
    and applies what changed since.

    Args:
        stores: What the state is kept in, by names that stay the same from run to run.
    """

    def __init__(self, stores: Mapping[str, KeyedStateBackend]) -> None:
        self._stores = stores
        self._version = _EMPTY
        self._handles: tuple[StateHandle, ...] = ()

    def can_catch_up(self, handles: Sequence[StateHandle]) -> bool:
        """Whether the state is of an earlier version of the one that the handles make up.

        If it is not, it has seen an epoch that was not committed, and is of no use.
        """
        return self._version == _EMPTY or any(handle.path == self._version for handle in handles)

    def begin_epoch(self, handles: Sequence[StateHandle], *, tracks_changes: bool) -> None:
        """Bring the state to the version that the handles make up.

        Raises:
            DamagedStateError: If a file is missing or damaged.
        """
        self._handles = tuple(handles)
        paths = [_EMPTY, *(handle.path for handle in handles)]
        missing = handles[paths.index(self._version) :]
        # Until the epoch is prepared, this copy is of no version that anybody could name.
        self._version = _DIRTY
        for handle in missing:
            for frame in read_state_file(handle):
                name, _, content = frame.partition(_END_OF_NAME)
                self._stores[name.decode()].apply(content)
        for store in self._stores.values():
            store.tracks_changes = tracks_changes

    def end_epoch(self, epoch: Epoch, name: str) -> tuple[StateHandle, ...]:
        """Write what the epoch changed, and return the handles of the state as it is now."""
        if epoch.folder is not None and not epoch.is_last:
            self._write(epoch, name)
            self._version = self._handles[-1].path if self._handles else _EMPTY
        for store in self._stores.values():
            store.forget_changes()
        return self._handles

    def close(self) -> None:
        """Let go of everything."""
        for store in self._stores.values():
            store.close()

    def _write(self, epoch: Epoch, name: str) -> None:
        changes = self._changes()
        first = next(changes, None)
        if first is None:
            return
        as_snapshot = self._is_snapshot_due()
        frames = self._everything() if as_snapshot else _chained(first, changes)
        handle = write_state_file(
            os.path.join(epoch.folder or "", "state", name),
            f"{epoch.number:08d}",
            frames,
            is_snapshot=as_snapshot,
        )
        self._handles = (handle,) if as_snapshot else (*self._handles, handle)

    def _changes(self) -> Iterator[bytes]:
        for name, store in self._stores.items():
            for frame in store.changes():
                yield name.encode() + _END_OF_NAME + frame

    def _everything(self) -> Iterator[bytes]:
        for name, store in self._stores.items():
            for frame in store.everything():
                yield name.encode() + _END_OF_NAME + frame

    def _is_snapshot_due(self) -> bool:
        """Whether the changelogs outweigh the snapshot they stand on."""
        snapshots = sum(handle.length for handle in self._handles if handle.is_snapshot)
        changelogs = sum(handle.length for handle in self._handles if not handle.is_snapshot)
        return (
            len(self._handles) > _MOST_CHANGELOGS
            or not self._handles
            or changelogs > max(snapshots, _SMALL)
        )


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
