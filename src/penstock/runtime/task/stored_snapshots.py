"""Snapshots of operators: small ones go into the metadata of their epoch, large ones into state files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.checkpoint.handles import StateHandle, read_state_file, write_state_file
from penstock.checkpoint.storage import Storage
from penstock.runtime.epoch import Epoch

Snapshot = bytes | StateHandle
"""What an operator takes along from epoch to epoch: itself, or the file that it is in."""

_SMALL: Final = 1 << 12
"""Snapshots of fewer bytes are not worth a file of their own."""


def content_of(snapshot: Snapshot, storage: Storage) -> bytes:
    """Return what an operator takes along.

    Raises:
        DamagedStateError: If its file is not what was written.
    """
    if isinstance(snapshot, StateHandle):
        return b"".join(read_state_file(storage, snapshot))
    return snapshot


class StoredSnapshots:
    """The snapshots of the operators of one subtask, of which those that have not changed are not written again."""

    def __init__(self) -> None:
        self._begun: dict[str, tuple[StateHandle, bytes]] = {}
        self._written: dict[str, tuple[StateHandle, bytes]] = {}

    def load(self, epoch: Epoch, snapshots: Iterable[tuple[str, Snapshot]]) -> dict[str, bytes]:
        """Return what the operators begin an epoch with, by their ids.

        Raises:
            DamagedStateError: If a file is not what was written.
        """
        known, self._begun = {**self._begun, **self._written}, {}
        found = {}
        for key, snapshot in snapshots:
            if not isinstance(snapshot, StateHandle):
                found[key] = snapshot
                continue
            handle, content = known.get(key, (None, b""))
            if handle != snapshot:
                content = content_of(snapshot, epoch.state_storage)
            self._begun[key] = snapshot, content
            found[key] = content
        return found

    def store(
        self, epoch: Epoch, name: str, snapshots: Mapping[str, bytes]
    ) -> tuple[tuple[str, Snapshot], ...]:
        """Return what the operators take along to the next epoch, by their ids.

        Args:
            epoch: The epoch that ends.
            name: What the names of files begin with.
            snapshots: The snapshots.
        """
        self._written = {}
        return tuple((key, self._stored(epoch, name, key, snapshots[key])) for key in snapshots)

    def _stored(self, epoch: Epoch, name: str, key: str, content: bytes) -> Snapshot:
        if epoch.location is None or len(content) < _SMALL:
            return content
        handle, known = self._begun.get(key, (None, b""))
        # What an attempt that failed had written may be deleted, so only what the epoch began with counts.
        if handle is None or known != content:
            handle = write_state_file(epoch.state_storage, name, [content], is_snapshot=True)
        self._written[key] = handle, content
        return handle
