"""Whose programs listen at ports of this machine: a token is sent to no other user's who has taken a driver's port."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS: Final = "0A"


def is_own_port(port: int) -> bool:
    """Return whether this user's programs, or root's, are all that listen at a port of this machine.

    False if nobody does, and where that cannot be known, as on systems other than Linux.

    Args:
        port: The port.
    """
    owners = {owner for found, owner in _listening() if found == port}
    return bool(owners) and owners <= {0, os.getuid()}


def _listening() -> Iterator[tuple[int, int]]:
    """Yield each port at which somebody listens, with the user's number."""
    for table in map(Path, _TABLES):
        if not table.exists():
            continue
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, _, _, _, owner, *_ = line.split()
            if state == _LISTENS:
                yield int(local.rpartition(":")[2], 16), int(owner)
