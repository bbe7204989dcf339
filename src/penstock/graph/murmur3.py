"""The hash MurmurHash3 in its 128-bit form for 64-bit machines, with the seed 0."""

from __future__ import annotations

import struct
from typing import Final

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_C1: Final = 0x87C37B91114253D5
_C2: Final = 0x4CF5AD432745937F


def murmur3_128(data: bytes) -> bytes:
    """Return the 16 bytes of the hash: both halves, the low byte first.

    Example:
        >>> murmur3_128(b"hello").hex()
        '029bbd41b3a7d8cb191dae486a901e5b'
    """
    high = low = 0
    whole = len(data) & ~15
    for first, second in struct.iter_unpack("<QQ", data[:whole]):
        low ^= _mix_first(first)
        low = (_rotate_left(low, 27) + high) & _MASK
        low = (low * 5 + 0x52DCE729) & _MASK
        high ^= _mix_second(second)
        high = (_rotate_left(high, 31) + low) & _MASK
        high = (high * 5 + 0x38495AB5) & _MASK
    first, second = struct.unpack("<QQ", data[whole:].ljust(16, b"\0"))
    low ^= _mix_first(first)
    high ^= _mix_second(second)
    low ^= len(data)
    high ^= len(data)
    low = (low + high) & _MASK
    high = (high + low) & _MASK
    low, high = _finish(low), _finish(high)
    low = (low + high) & _MASK
    high = (high + low) & _MASK
    return struct.pack("<QQ", low, high)


def _rotate_left(value: int, distance: int) -> int:
    return ((value << distance) | (value >> (64 - distance))) & _MASK


def _mix_first(value: int) -> int:
    return _rotate_left(value * _C1 & _MASK, 31) * _C2 & _MASK


def _mix_second(value: int) -> int:
    return _rotate_left(value * _C2 & _MASK, 33) * _C1 & _MASK


def _finish(value: int) -> int:
    value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ (value >> 33)
