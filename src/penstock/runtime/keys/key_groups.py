"""Key groups: which part of the state, so which subtask, a key belongs to, and what belongs to a group.

The rules are Flink's (`KeyGroupRangeAssignment`, `MathUtils.murmurHash`).
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from penstock.errors import InvalidKeyError
from penstock.runtime.keys.key_types import stable_hash
from penstock.runtime.objects.mutability import all_immutable, is_immutable

if TYPE_CHECKING:
    import pyarrow as pa

UPPER_BOUND_MAX_PARALLELISM: Final = 2**15
_DEFAULT_LOWER_BOUND: Final = 2**7
_MASK: Final = 0xFFFFFFFF


def _rotate_left(value: int, distance: int) -> int:
    return ((value << distance) | (value >> (32 - distance))) & _MASK


def murmur_hash(code: int) -> int:
    """Mix a 32-bit hash code so that close codes come far apart.

    Example:
        >>> murmur_hash(42)
        1134849565
    """
    code = code * 0xCC9E2D51 & _MASK
    code = _rotate_left(code, 15) * 0x1B873593 & _MASK
    code = (_rotate_left(code, 13) * 5 + 0xE6546B64) & _MASK
    code ^= 4
    code = (code ^ (code >> 16)) * 0x85EBCA6B & _MASK
    code = (code ^ (code >> 13)) * 0xC2B2AE35 & _MASK
    code ^= code >> 16
    if code == 0x80000000:
        return 0
    return code if code < 0x80000000 else 2**32 - code


def murmur_hashes(codes: list[int]) -> list[int]:
    """Mix 32-bit hash codes as `murmur_hash` does, all at once: in a seventh of the time, if there are many.

    Example:
        >>> murmur_hashes([42, 43]) == [murmur_hash(42), murmur_hash(43)]
        True
    """
    import pyarrow.compute as pc  # costs more to load than most programs take

    word = _word

    def rotated(column: pa.Array, distance: int) -> pa.Array:
        left = pc.shift_left(column, word(distance))
        return pc.bit_wise_or(left, pc.shift_right(column, word(32 - distance)))

    def mixed(column: pa.Array, distance: int) -> pa.Array:
        return pc.bit_wise_xor(column, pc.shift_right(column, word(distance)))

    column = pc.multiply(_words(codes), word(0xCC9E2D51))
    column = pc.multiply(rotated(column, 15), word(0x1B873593))
    column = pc.add(pc.multiply(rotated(column, 13), word(5)), word(0xE6546B64))
    column = pc.multiply(mixed(pc.bit_wise_xor(column, word(4)), 16), word(0x85EBCA6B))
    column = mixed(pc.multiply(mixed(column, 13), word(0xC2B2AE35)), 16)
    signed: list[int] = column.view("int32").to_pylist()
    return [abs(code) if code != -0x80000000 else 0 for code in signed]


@lru_cache
def _word(value: int) -> pa.Scalar:
    return _words([value])[0]


def _words(values: list[int]) -> pa.Array:
    import pyarrow as pa

    # From an array of Python's: given a list or an int, pyarrow loads pandas.
    given = pa.py_buffer(array("I", values))
    return pa.Array.from_buffers(pa.uint32(), len(values), [None, given])


def key_group(key: Any, max_parallelism: int) -> int:
    """Return the key group of a key: the same in every process, and for equal keys.

    Raises:
        InvalidKeyError: If the value cannot be a key.
    """
    return murmur_hash(stable_hash(key)) % max_parallelism


def subtask_of_key_group(group: int, parallelism: int, max_parallelism: int) -> int:
    """Return the subtask that owns a key group."""
    return group * parallelism // max_parallelism


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """Return the key groups that a subtask owns.

    Example:
        >>> key_group_range(1, 3, 10)
        range(4, 7)
    """
    start = (subtask * max_parallelism + parallelism - 1) // parallelism
    end = ((subtask + 1) * max_parallelism - 1) // parallelism
    return range(start, end + 1)


def default_max_parallelism(parallelism: int) -> int:
    """Return the number of key groups of an operator for which none was set.

    Example:
        >>> default_max_parallelism(86)
        256
    """
    wanted = parallelism + parallelism // 2
    power = 1 << max(wanted - 1, 0).bit_length()
    return min(max(power, _DEFAULT_LOWER_BOUND), UPPER_BOUND_MAX_PARALLELISM)


class SubtaskByKey(dict[Any, int]):
    """Maps keys to the subtasks that own them, remembering those already seen.

    A plain lookup (31 ns) where the full computation takes 1,000, or 400 where many are computed at once;
    forgets all when it has grown beyond `LIMIT` keys. Keys that can be changed are not remembered.

    Attributes:
        met_mutable: Whether there was any key that can be changed.
    """

    LIMIT: Final = 1 << 18
    _MANY: Final = 1 << 16
    _FEW: Final = 1 << 6

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._misses = 0
        self.met_mutable = False

    def __missing__(self, key: Any) -> int:
        group = key_group(key, self._max_parallelism)
        subtask = subtask_of_key_group(group, self._parallelism, self._max_parallelism)
        if not is_immutable(key):
            self.met_mutable = True
            return subtask
        if len(self) >= self.LIMIT:
            self.clear()
        self[key] = subtask
        self._misses += 1
        return subtask

    def prepare(self, keys: list[Any]) -> None:
        """Compute the subtasks of new keys at once, if there have been very many new ones of late.

        Where one of them cannot be a key, that is for the lookup to say.
        """
        if self._misses < self._MANY or self.met_mutable:
            return
        try:
            new = [key for key in dict.fromkeys(keys) if key not in self]
            codes = list(map(stable_hash, new))
            self.met_mutable = not all_immutable(new)
        except (InvalidKeyError, TypeError):
            return
        if self.met_mutable:
            return
        if len(new) < self._FEW:
            self._misses = 0
            return
        if len(self) + len(new) > self.LIMIT:
            self.clear()
        parallelism, groups = self._parallelism, self._max_parallelism
        hashes = murmur_hashes(codes)
        self.update(
            zip(new, [code % groups * parallelism // groups for code in hashes], strict=True)
        )


Owner = TypeVar("Owner")
Item = TypeVar("Item")


class GroupIndex(Generic[Owner, Item]):
    """What was there when the index was begun, by key groups; what has come since is not in it.

    Args:
        items: The items of each owner. The lists belong to the index.
        key_group: Gives the key group of an item.
    """

    def __init__(
        self, items: Iterable[tuple[Owner, list[Item]]], key_group: Callable[[Item], int]
    ) -> None:
        self._items: Sequence[tuple[Owner, list[Item]]] = list(items)
        self._rest = ((place, one) for place, (_, found) in enumerate(self._items) for one in found)
        self._key_group = key_group
        # For each key group and place of an owner its items.
        self._groups: defaultdict[tuple[int, int], list[Item]] = defaultdict(list)

    def advance(self, count: int | None) -> bool:
        """Look at some more items, None for all of them; return whether those were the last."""
        groups, key_group = self._groups, self._key_group
        seen = 0
        for place, item in islice(self._rest, count):
            groups[key_group(item), place].append(item)
            seen += 1
        return count is None or seen < count

    def of(self, group: int) -> Iterator[tuple[Owner, list[Item]]]:
        """Yield what belongs to a key group, owner by owner."""
        for place, (owner, _) in enumerate(self._items):
            if found := self._groups.get((group, place)):
                yield owner, found
