"""What belongs to which key group, found out a piece at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar

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
