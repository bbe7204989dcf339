"""Folders whose names are still there when the power comes back: whoever makes one syncs the folder above it."""

from __future__ import annotations

import os


def make_lasting_folder(path: str) -> None:
    """Make a folder, and those above it that are missing; those that are made last."""
    missing = []
    folder = os.path.abspath(path)
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    os.makedirs(path, exist_ok=True)
    for made in reversed(missing):
        sync_folder(os.path.dirname(made))


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
