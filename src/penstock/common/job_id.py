"""The identifier of a job."""

from __future__ import annotations

import os

__all__ = ["JobID"]


class JobID:
    """Identifies one execution of a program among all others.

    Args:
        hex_string: 32 hexadecimal digits. Default: random ones.

    Example:
        >>> print(JobID("00112233445566778899aabbccddeeff"))
        00112233445566778899aabbccddeeff
    """

    __slots__ = ("_hex",)

    def __init__(self, hex_string: str | None = None) -> None:
        self._hex = os.urandom(16).hex() if hex_string is None else hex_string

    def __str__(self) -> str:
        return self._hex

    def __repr__(self) -> str:
        return f"JobID({self._hex!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._hex == other._hex

    def __hash__(self) -> int:
        return hash((JobID, self._hex))
