"""Numbers, sizes, addresses and tables as text, for people to read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_SHOWN_BYTES: Final = 200
_LOGIN: Final = re.compile(r"(?<=//)[^/,@]+@|(?<=:)[^\d/:@][^/:@]*/[^/@]*@")


class Size(int):
    """A number of bytes."""

    def __str__(self) -> str:
        if self < 1000:
            return f"{int(self)} B"
        size = float(self)
        for unit in ("kB", "MB", "GB", "TB"):
            size /= 1000
            if size < 999.95 or unit == "TB":
                break
        return f"{size:.1f} {unit}"


def counted(number: int, what: str) -> str:
    """Return a number of things: `1 epoch`, `1,200 epochs`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def without_logins(addresses: str) -> str:
    """Return addresses without users and passwords: neither //user:password@host nor Oracle's :user/password@host.

    Example:
        >>> without_logins("jdbc:postgresql://writer:secret@db/shop")
        'jdbc:postgresql://db/shop'
    """
    return _LOGIN.sub("", addresses)


def shown_bytes(message: bytes) -> str:
    """Return bytes as Python writes them; of many the first, and how many there are.

    Example:
        >>> shown_bytes(b"abc" * 1000)[-20:]
        "cab'... (3000 bytes)"
    """
    if len(message) <= _SHOWN_BYTES:
        return repr(bytes(message))
    return f"{bytes(message[:_SHOWN_BYTES])!r}... ({len(message)} bytes)"


def in_columns(rows: Iterable[Sequence[str]], is_right: Sequence[bool]) -> list[str]:
    """Return a line for each row, with its cells below those of the row before.

    Args:
        rows: The cells of each row.
        is_right: Of each column, whether its cells end below each other; else they begin there.
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [
        [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_right, strict=True)
        ]
        for row in rows
    ]
    return ["  ".join(cells).rstrip() for cells in aligned]
