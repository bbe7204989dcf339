"""What attempts and drivers left behind that died: which of it may be deleted at a location, and when.

Why that harms no other driver is told in `penstock.executors.driver.checkpoints`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from typing import Final, NamedTuple

from penstock.checkpoint.storage import LocalStorage, Storage

PREPARED: Final = "prepared"
NOTES: Final = "sinks"
"""Where committers note what they need to know beside the epochs."""
STATE: Final = "state"
PIECES: Final = "pieces"
ENGINE: Final = "spark"

_NAME: Final = re.compile(r"(?:.*/)?(\d{8,})-(?:(\d{8,})-)?.+")
_ENGINE: Final = re.compile(rf"{ENGINE}(?:-(\d+)(?:-[0-9a-f]{{12}})?)?")


class Origin(NamedTuple):
    """What the name of a file says.

    Attributes:
        epoch: The epoch in which it was written.
        generation: The generation of the driver whose task wrote it; 0 if the name does not say.
    """

    epoch: int
    generation: int


def file_name(folder: str, epoch: int, generation: int, suffix: str = "") -> str:
    """Return a name that no other file has.

    Args:
        folder: The folder.
        epoch: The epoch in which the file is written.
        generation: The generation of the driver.
        suffix: What the name ends with.
    """
    return f"{folder}/{epoch:08d}-{generation:08d}-{uuid.uuid4().hex[:12]}{suffix}"


def origin_of(name: str) -> Origin:
    """Return what the name of a file says of where it comes from."""
    found = _NAME.fullmatch(name)
    return Origin(0, 0) if found is None else Origin(int(found[1]), int(found[2] or 0))


def engine_folder(generation: int) -> str:
    """Return a new name for a folder of Spark's."""
    return f"{ENGINE}-{generation}-{uuid.uuid4().hex[:12]}"


def is_engine_folder_of(folder: str, generation: int) -> bool:
    """Whether a driver's Spark has made a folder."""
    found = _ENGINE.fullmatch(folder)
    return found is not None and int(found[1] or 0) == generation


class Leftovers:
    """Finds and deletes what was left behind at a location.

    Args:
        storage: The job's storage.
        generation: The generation of the driver.
    """

    def __init__(self, storage: Storage, generation: int) -> None:
        self._storage = storage
        self._generation = generation
        self._drafts: list[str] = []

    def note_drafts(self) -> None:
        """Take note of files that are half written: while this is the newest driver, no later one writes them."""
        if isinstance(self._storage, LocalStorage):
            self._drafts = self._storage.drafts()

    def delete_attempts(self, last: int, needed: set[str]) -> None:
        """Delete what attempts of this driver or earlier ones have left of epochs after the last one that counts."""
        for folder in (STATE, PIECES, PREPARED):
            self._delete(
                name
                for name in self._storage.names(folder)
                if name not in needed
                and origin_of(name).epoch > last
                and origin_of(name).generation <= self._generation
            )

    def delete_all(self, needed: set[str], engine_folders: set[str]) -> None:
        """Delete what no epoch needs, where this driver has begun an era or committed an epoch."""
        for folder in (STATE, PIECES):
            self._delete(
                name
                for name in self._storage.names(folder)
                if name not in needed and origin_of(name).generation <= self._generation
            )
        for folder in self._storage.folders(ENGINE):
            found = _ENGINE.fullmatch(folder)
            if found and folder not in engine_folders and int(found[1] or 0) <= self._generation:
                self._storage.delete_folder(folder)
        if isinstance(self._storage, LocalStorage):
            self._storage.delete_drafts(self._drafts)
        self._drafts = []

    def delete_prepared(self, number: int) -> None:
        """Delete what was prepared in epochs before this one."""
        self._delete(
            name
            for name in self._storage.names(PREPARED)
            if origin_of(name).epoch < number and origin_of(name).generation <= self._generation
        )

    def _delete(self, names: Iterable[str]) -> None:
        self._storage.delete(list(names))
