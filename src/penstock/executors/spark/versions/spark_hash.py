"""Numbers that Spark's own hash sends to the partitions they are meant for, where there is no `repartitionById`."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import Final

_SEED: Final = 42
_MASK: Final = 0xFFFFFFFF


def hash_of(number: int) -> int:
    """Return what Spark's SQL function `hash` gives for an `int` that is not negative: its Murmur3, 32 bits.

    Example:
        >>> hash_of(1)
        -559580957
    """
    mixed = (number * 0xCC9E2D51) & _MASK
    mixed = (_rotated(mixed, 15) * 0x1B873593) & _MASK
    mixed = (_rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    mixed ^= 4  # bytes
    mixed = ((mixed ^ (mixed >> 16)) * 0x85EBCA6B) & _MASK
    mixed = ((mixed ^ (mixed >> 13)) * 0xC2B2AE35) & _MASK
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _rotated(number: int, places: int) -> int:
    return ((number << places) | (number >> (32 - places))) & _MASK


@cache
def numbers_for(partitions: int) -> tuple[int, ...]:
    """Return, for each partition, the least number that `repartition(partitions, number)` sends there."""
    found: dict[int, int] = {}
    for number in count():
        found.setdefault(hash_of(number) % partitions, number)
        if len(found) == partitions:
            return tuple(found[partition] for partition in range(partitions))
    raise AssertionError
