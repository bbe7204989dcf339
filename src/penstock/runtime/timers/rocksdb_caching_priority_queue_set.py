"""A queue of the timers of one key group in an ordered store, with its head in memory.

In the store timers are byte strings, in the order of their timestamps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Final, Protocol

from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.keys.key_types import key_bytes
from penstock.runtime.timers.internal_timer import InternalTimer

DEFAULT_CACHE_SIZE: Final = 128

_SIGN: Final = 1 << 63
_LENGTH: Final = 8


class OrderedStore(Protocol):
    """Byte strings in order, each with a value; what was written a moment ago is seen at once."""

    def put(self, key: bytes, value: bytes = b"") -> None:
        """Add a key, or replace its value."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, None if the key is not there."""

    def delete(self, key: bytes) -> None:
        """Remove a key; removing one that is not there changes nothing."""

    def scan(self, start: bytes, prefix: bytes = b"") -> Iterator[bytes]:
        """Yield the keys that begin with a prefix, from `start` on, in ascending order.

        The iterator is for use at once: it may miss what is written after it began.
        """


class RocksDBCachingPriorityQueueSet:
    """The timers of one key group, in the order of their bytes, each of them once.

    All timers are in the store, and are written to it at once. The first of them are in a cache too:
    whatever is in the store and not in the cache is above all that is in the cache.

    Args:
        store: Keeps the timers.
        prefix: What all names in the store begin with that are this queue's.
        cache_size: The most timers in the cache.
        is_new: Whether the store is known to have no timers yet.
    """

    def __init__(
        self,
        store: OrderedStore,
        prefix: bytes,
        cache_size: int = DEFAULT_CACHE_SIZE,
        *,
        is_new: bool = False,
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._cache_size = cache_size
        self._cache: list[bytes] = []
        self._all_in_cache = is_new
        # No name in the store is below this one while the cache is empty: what is deleted leaves
        # traces that a scan from further down would have to step over.
        self._seek_hint = prefix
        self._head: InternalTimer | None = None

    def peek(self) -> InternalTimer | None:
        """Return the earliest timer, or None if there is none."""
        if self._head is None and self._has_head():
            self._head = self._timer(self._cache[0])
        return self._head

    def poll(self) -> InternalTimer | None:
        """Remove and return the earliest timer, or None if there is none."""
        head = self.peek()
        if head is not None:
            self._store.delete(self._cache[0])
            self._drop(0)
        return head

    def add(self, timer: InternalTimer) -> bool:
        """Add a timer, unless it is there already; return whether it is the new head."""
        has_head = self._has_head()
        name, kept = entry_of(timer)
        name = self._prefix + name
        cache = self._cache
        is_full = len(cache) >= self._cache_size
        if not (has_head and name <= cache[-1]) and (is_full or not self._all_in_cache):
            self._all_in_cache = False
            self._store.put(name, kept)
            return False
        index = bisect_left(cache, name)
        if index < len(cache) and cache[index] == name:
            return False
        if is_full:
            cache.pop()
            self._all_in_cache = False
        cache.insert(index, name)
        self._store.put(name, kept)
        if index == 0:
            self._head = timer
        return index == 0

    def remove(self, timer: InternalTimer) -> bool:
        """Remove a timer, if it is there; return whether it was the head, or may have been.

        It may have been only if nobody has asked for the head since it went.
        """
        cache = self._cache
        if not cache and self._all_in_cache:
            return False
        name = self._prefix + name_of(timer)
        if not cache:
            # Not worth reading what is there: that may be removed too before anybody asks.
            self._store.delete(name)
            return True
        index = bisect_left(cache, name)
        if index == len(cache) and not self._all_in_cache:
            self._store.delete(name)
            return False
        if index == len(cache) or cache[index] != name:
            return False
        self._store.delete(name)
        self._drop(index)
        return index == 0

    def iterate(self) -> Iterator[InternalTimer]:
        """Iterate over all timers. The queue must not change meanwhile."""
        return map(self._timer, self._all_names())

    def size(self) -> int:
        """Return the number of timers."""
        return sum(1 for _ in self._all_names())

    def _has_head(self) -> bool:
        """Whether there is a timer; fills the cache if only the store knows."""
        if not self._cache and not self._all_in_cache:
            self._cache = list(
                islice(self._store.scan(self._seek_hint, self._prefix), self._cache_size)
            )
            self._all_in_cache = len(self._cache) < self._cache_size
        return bool(self._cache)

    def _drop(self, index: int) -> None:
        name = self._cache.pop(index)
        if not self._cache:
            self._seek_hint = name
        if index == 0:
            self._head = None

    def _all_names(self) -> Iterator[bytes]:
        if self._all_in_cache:
            return iter(self._cache)
        return self._store.scan(self._prefix, self._prefix)

    def _timer(self, name: bytes) -> InternalTimer:
        kept = self._store.get(name)
        assert kept is not None
        return timer_of(name[len(self._prefix) :], kept)


def entry_of(timer: InternalTimer) -> tuple[bytes, bytes]:
    """Return the bytes that stand for a timer, and what is kept with them.

    Equal timers have equal bytes: the timestamp, its sign flipped so that what is negative comes
    first, then the key and the namespace. These bytes tell of keys which are equal, not which object
    the key is. So the key and the namespace themselves are kept with them.

    Example:
        >>> early, late = InternalTimer(-1, "a", None), InternalTimer(1, "a", None)
        >>> entry_of(early) < entry_of(late)
        True
    """
    _, key, namespace = timer
    return name_of(timer), dumps((key, namespace))


def name_of(timer: InternalTimer) -> bytes:
    """Return the bytes that stand for a timer."""
    timestamp, key, namespace = timer
    return (timestamp + _SIGN).to_bytes(_LENGTH, "big") + key_bytes(key) + key_bytes(namespace)


def timer_of(name: bytes, kept: bytes) -> InternalTimer:
    """Return the timer that the bytes stand for.

    Example:
        >>> timer_of(*entry_of(InternalTimer(-1, "a", None)))
        InternalTimer(timestamp=-1, key='a', namespace=None)
    """
    key, namespace = loads(kept)
    return InternalTimer(int.from_bytes(name[:_LENGTH], "big") - _SIGN, key, namespace)
