"""Amounts of memory, as configurations write them."""

from __future__ import annotations

import functools
import re
from typing import Final

from penstock.errors import InvalidArgumentError

__all__ = ["MemorySize"]

_TEXT: Final = re.compile(r"\s*([0-9]+)\s*([a-z]*)\s*", re.IGNORECASE)
_UNITS: Final = {
    **dict.fromkeys(("", "b", "bytes"), 0),
    **dict.fromkeys(("k", "kb", "kibibytes"), 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 40),
}


@functools.total_ordering
class MemorySize:
    """An amount of memory. Units are powers of 1,024, as in Flink; a number without one is of bytes.

    Args:
        bytes_size: The number of bytes.

    Raises:
        InvalidArgumentError: If it is no whole number, or negative.

    Example:
        >>> MemorySize.parse("512 mb").get_bytes()
        536870912
        >>> print(MemorySize(2048), MemorySize.of_mebi_bytes(5) > MemorySize(2048))
        2 kb True
    """

    __slots__ = ("_bytes",)

    def __init__(self, bytes_size: int) -> None:
        if not isinstance(bytes_size, int) or bytes_size < 0:
            raise InvalidArgumentError(
                f"{bytes_size!r} is no amount of memory.", hint="Give a number of bytes, 0 or more."
            )
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Make an amount out of a number of mebibytes, of 1,048,576 bytes each.

        Args:
            mebi_bytes: The number.

        Returns:
            The amount.
        """
        return MemorySize(mebi_bytes << 20)

    @classmethod
    def parse(cls, text: str) -> MemorySize:
        """Read an amount such as `512 mb`, `2g` or `65536`.

        Raises:
            InvalidArgumentError: If the text is none.

        Example:
            >>> MemorySize.parse("2 gb") == MemorySize(2 << 30)
            True
        """
        match = _TEXT.fullmatch(text)
        if match is None or (power := _UNITS.get(match.group(2).lower())) is None:
            raise InvalidArgumentError(
                f"{text!r} is no amount of memory.",
                hint="Give a whole number and a unit: '512 mb'.",
            )
        return cls(int(match.group(1)) << power)

    def get_bytes(self) -> int:
        """Return the number of bytes.

        Example:
            >>> MemorySize.parse("1 kb").get_bytes()
            1024
        """
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Return the number of whole kibibytes, of 1,024 bytes each."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """Return the number of whole mebibytes, of 1,024 kibibytes each."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """Return the number of whole gibibytes, of 1,024 mebibytes each."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """Return the number of whole tebibytes, of 1,024 gibibytes each."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __lt__(self, other: object) -> bool:
        return self._bytes < other._bytes if isinstance(other, MemorySize) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"MemorySize({self._bytes})"

    def __str__(self) -> str:
        for unit, power in (("tb", 40), ("gb", 30), ("mb", 20), ("kb", 10)):
            if self._bytes and not self._bytes % (1 << power):
                return f"{self._bytes >> power} {unit}"
        return f"{self._bytes} bytes"
