"""Folders whose names are still there when the power comes back: whoever uses one syncs the folders above it."""

from __future__ import annotations

import contextlib
import os
from typing import Final

_MOST: Final = 4096
_LASTING: Final[set[str]] = set()
"""The paths of folders that last, as far as this process knows."""


def make_lasting_folder(path: str) -> None:
    """Make a folder, and those above it that are missing; all of them last.

    Of a folder that is there nobody knows whether it lasts: whoever made it may have been killed before it could sync
    the one above. So each process syncs those as well, once.
    """
    unsure = []
    folder = os.path.abspath(path)
    while not _is_lasting(folder) and folder != os.path.dirname(folder):
        unsure.append((folder, os.path.isdir(folder)))
        folder = os.path.dirname(folder)
    if not unsure:
        return
    os.makedirs(path, exist_ok=True)
    for folder, was_there in reversed(unsure):
        # Above what others gave us there may be folders that we must not read.
        with contextlib.suppress(*((OSError,) if was_there else ())):
            sync_folder(os.path.dirname(folder))
    if len(_LASTING) >= _MOST:
        _LASTING.clear()
    _LASTING.update(folder for folder, _ in unsure)


def _is_lasting(folder: str) -> bool:
    return folder in _LASTING and os.path.isdir(folder)


def sync_folder(folder: str) -> None:
    """Make the names in a folder durable."""
    sync_file(folder)


def sync_file(path: str) -> None:
    """Make the content of a file durable, whoever wrote it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
