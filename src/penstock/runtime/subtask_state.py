"""The keyed state of one subtask: kept from epoch to epoch, caught up where this process fell behind."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from typing import Any, Final

from penstock.checkpoint.handles import StateHandle, read_state_file, write_state_file
from penstock.errors import ValueNotSerializableError
from penstock.runtime.buffer import not_serializable
from penstock.runtime.elements import Block
from penstock.runtime.epoch import Epoch
from penstock.runtime.operator import StreamOperator
from penstock.runtime.state.backend import KeyedStateBackend

_EMPTY: Final = ""
_DIRTY: Final = "dirty"
_MOST_CHANGELOGS: Final = 64
_SMALL: Final = 1 << 16

Changes = dict[str, dict[str, tuple[list[Any], list[Any], list[Any]]]]


class SubtaskState:
    """The keyed state of one subtask.

    No process owns a subtask: the next epoch may run elsewhere. So a process keeps the version it has,
    and applies what changed since.

    Args:
        operators: The stateful operators of the subtask's chain, by id.
    """

    def __init__(self, operators: dict[str, StreamOperator]) -> None:
        self._operators = operators
        self._version = _EMPTY
        self._handles: tuple[StateHandle, ...] = ()
        self._reset()

    def _reset(self) -> None:
        for operator in self._operators.values():
            operator.state = KeyedStateBackend()
        self._version = _EMPTY

    def begin_epoch(self, handles: Sequence[StateHandle], *, tracks_changes: bool) -> None:
        """Bring the state to the version that the handles make up.

        Raises:
            DamagedStateError: If a file is missing or damaged.
        """
        self._handles = tuple(handles)
        paths = [handle.path for handle in handles]
        if self._version in paths:
            missing = handles[paths.index(self._version) + 1 :]
        elif self._version == _EMPTY:
            missing = handles
        else:
            self._reset()
            missing = handles
        for handle in missing:
            self._apply(pickle.loads(read_state_file(handle)))
        # Until the epoch is prepared, this copy is of no version that anybody could name.
        self._version = _DIRTY
        for operator in self._operators.values():
            operator.state.tracks_changes = tracks_changes

    def _apply(self, changes: Changes) -> None:
        for operator_id, tables in changes.items():
            self._operators[operator_id].state.apply(tables)

    def end_epoch(self, epoch: Epoch, name: str) -> tuple[StateHandle, ...]:
        """Write what the epoch changed, and return the handles of the state as it is now."""
        changes: Changes = {}
        for operator_id, operator in self._operators.items():
            tables = operator.state.changes()
            if tables:
                changes[operator_id] = tables
        if epoch.folder is not None and not epoch.is_last:
            if changes:
                self._write(changes, epoch, name)
            self._version = self._handles[-1].path if self._handles else _EMPTY
        for operator in self._operators.values():
            operator.state.forget_changes()
        return self._handles

    def _write(self, changes: Changes, epoch: Epoch, name: str) -> None:
        as_snapshot = self._is_snapshot_due()
        if as_snapshot:
            changes = {key: op.state.everything() for key, op in self._operators.items()}
        handle = write_state_file(
            os.path.join(epoch.folder or "", "state", name),
            f"{epoch.number:08d}",
            self._pickled(changes),
            is_snapshot=as_snapshot,
        )
        self._handles = (handle,) if as_snapshot else (*self._handles, handle)

    def _is_snapshot_due(self) -> bool:
        """Whether the changelogs outweigh the snapshot they stand on."""
        snapshots = sum(handle.length for handle in self._handles if handle.is_snapshot)
        changelogs = sum(handle.length for handle in self._handles if not handle.is_snapshot)
        return (
            len(self._handles) > _MOST_CHANGELOGS
            or not self._handles
            or changelogs > max(snapshots, _SMALL)
        )

    def _pickled(self, changes: Changes) -> bytes:
        try:
            return pickle.dumps(changes, pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            for operator_id, tables in changes.items():
                for keys, values, _ in tables.values():
                    found = not_serializable(
                        error, [Block(values, None, keys)], self._operators[operator_id].name
                    )
                    if isinstance(found, ValueNotSerializableError):
                        raise found from error
            raise
