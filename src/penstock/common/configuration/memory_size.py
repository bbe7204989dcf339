"""Amounts of memory, as configurations write them."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["MemorySize"]

_TEXT: Final = re.compile(r"\s*([0-9]+)\s*([a-z]*)\s*", re.IGNORECASE)
_UNITS: Final = {
    **dict.fromkeys(("", "b", "bytes"), 0),
    **dict.fromkeys(("k", "kb", "kibibytes"), 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 40),
}


class MemorySize:
    """An amount of memory. Units are powers of 1,024, as in Flink; a number without one is of bytes.

    Args:
        size: The number of bytes.

    Example:
        >>> MemorySize.parse("512 mb").get_bytes()
        536870912
        >>> print(MemorySize(2048))
        2 kb
    """

    __slots__ = ("_bytes",)

    def __init__(self, size: int) -> None:
        self._bytes = size

    @classmethod
    def parse(cls, text: str) -> MemorySize:
        """Read an amount such as `512 mb`, `2g` or `65536`.

        Raises:
            ValueError: If the text is none.

        Example:
            >>> MemorySize.parse("2 gb") == MemorySize(2 << 30)
            True
        """
        match = _TEXT.fullmatch(text)
        if match is None or (power := _UNITS.get(match.group(2).lower())) is None:
            raise ValueError(f"{text!r} is no amount of memory.")
        return cls(int(match.group(1)) << power)

    def get_bytes(self) -> int:
        """Return the number of bytes.

        Example:
            >>> MemorySize.parse("1 kb").get_bytes()
            1024
        """
        return self._bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"MemorySize({self._bytes})"

    def __str__(self) -> str:
        for unit, power in (("tb", 40), ("gb", 30), ("mb", 20), ("kb", 10)):
            if self._bytes and not self._bytes % (1 << power):
                return f"{self._bytes >> power} {unit}"
        return f"{self._bytes} bytes"
