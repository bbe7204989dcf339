"""Folders and files that no other user of the machine can change.

What is imported, executed or unpickled from a folder for temporary files is what whoever wrote it there
wanted: so it lies in a folder of this process's own, whose name nobody can know before it is there.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from typing import Final, NamedTuple

_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_OF_PROCESS: Final[dict[int, str]] = {}


def private_folder() -> str:
    """Return a folder that this user alone can read and write; it goes when this process does."""
    process = os.getpid()
    folder = _OF_PROCESS.get(process)
    # Whoever tidies temporary files may have removed it, and then anybody can have made it again.
    if folder is None or not is_private(folder):
        # A short name: that of a socket in it may have some 100 characters with all folders.
        folder = _OF_PROCESS[process] = tempfile.mkdtemp(prefix="ps-")
        atexit.register(_remove, folder, process)
    return folder


def _remove(folder: str, process: int) -> None:
    # A process that was forked off inherits what is to be done at the end of its parent.
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def is_private(path: str) -> bool:
    """Whether a file or folder is this user's, and nobody else can change it. A link to one is not."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    is_mine = found.st_uid == os.geteuid()
    return is_mine and not stat.S_ISLNK(found.st_mode) and not found.st_mode & _OTHERS


class Stranger(NamedTuple):
    """Somebody else who can put files into a folder.

    Attributes:
        who: Who it is.
        remedy: What keeps them out.
    """

    who: str
    remedy: str


def stranger_of(folder: str) -> Stranger | None:
    """Return who else can put files into a folder; None if nobody but those whom its mode admits by name.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stranger_of(folder)
        ...     os.chmod(folder, 0o777)
        ...     stranger_of(folder)
        Stranger(who='every user of the machine', remedy='chmod o-w')
    """
    try:
        found, above = os.stat(folder), os.stat(os.path.dirname(folder) or "/")
    except OSError:
        return None
    if found.st_mode & stat.S_IWOTH:
        return Stranger("every user of the machine", "chmod o-w")
    is_planted = above.st_mode & stat.S_IWOTH and found.st_uid not in {0, os.geteuid()}
    if not is_planted:
        return None
    return Stranger(
        f"the user {found.st_uid}, to whom it belongs",
        f"chown {os.geteuid()}, if you know what is in it",
    )
