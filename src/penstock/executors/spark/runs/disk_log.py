"""Spark's record of offsets on a disk, made to last: Spark itself syncs nothing.

What an epoch has read, and the state of Spark's own operators, must be there as long as the epoch's metadata
is. So before an epoch is committed what Spark has written is synced.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import Final

from penstock.checkpoint.lasting import sync_file, sync_folder
from penstock.checkpoint.storage import LocalStorage

_OFFSETS: Final = "offsets"
_COMMITS: Final = "commits"


class DiskLog:
    """Spark's record of offsets in the job's own storage.

    Args:
        storage: The job's storage.

    Attributes:
        local: Where Spark writes.
    """

    def __init__(self, storage: LocalStorage) -> None:
        self.local = self._storage = storage
        self._place = ""
        self._synced: set[str] = set()

    def fetch(self, folder: str) -> str:
        """Return where Spark finds a folder of the storage."""
        self._place = self._storage.url(folder)
        self._synced = set()
        return self._place

    def drop_damaged(self, folder: str, batch: int) -> None:
        """Delete what Spark planned after a micro-batch, or said of its end, if it is not whole.

        Of what was not synced a machine that went down may leave names without all of their content.
        Spark plans the micro-batch anew, or asks once more for the last one. Its checksums are not
        synced, and it reads without them.
        """
        least = self._lines(f"{folder}/{_OFFSETS}/{batch}")
        for name in self._storage.names(folder):
            place, _, entry = name.removeprefix(f"{folder}/").rpartition("/")
            path, file = os.path.split(self._storage.url(name))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(path, f".{file}.crc"))
            if place not in {_OFFSETS, _COMMITS} and not place.startswith("sources/"):
                continue
            if not entry.isdecimal() or (place != _COMMITS and int(entry) <= batch):
                continue
            lines = self._storage.read(name).decode(errors="replace").split("\n")
            if not _is_whole(lines) or (place == _OFFSETS and len(lines) < least):
                self._storage.delete([name])

    def _lines(self, name: str) -> int:
        try:
            return self._storage.read(name).count(b"\n") + 1
        except FileNotFoundError:
            return 0

    def send(self) -> None:
        """Make last what Spark has written. It never changes a file of its logs."""
        found: set[str] = set()
        for folder, folders, files in os.walk(self._place):
            if folder == self._place and _COMMITS in folders:
                # Without an entry there Spark asks for the micro-batch again.
                folders.remove(_COMMITS)
            entries = {os.path.join(folder, name) for name in files if not name.startswith(".")}
            new = entries - self._synced
            for path in new:
                with contextlib.suppress(FileNotFoundError):
                    sync_file(path)
            if new:
                sync_folder(folder)
            if folder not in self._synced:
                sync_folder(os.path.dirname(folder))
            found |= entries | {folder}
        self._synced = found

    def close(self) -> None:
        """Nothing: all of it is the job's."""


def _is_whole(lines: list[str]) -> bool:
    """Whether an entry of a log of Spark's is what it wrote: a version, and JSON on each line."""
    version, *entries = lines
    if re.fullmatch(r"v\d+", version) is None or not entries:
        return False
    try:
        for entry in filter(lambda entry: entry not in {"-", ""}, entries):
            json.loads(entry)
    except ValueError:
        return False
    return True
