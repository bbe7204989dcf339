"""Time-to-live, put over the tables of all backends: each value is kept with the time it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from penstock.common.time import Duration
from penstock.runtime.objects.mutability import given
from penstock.runtime.state.tables import (
    ABSENT,
    WITH_TTL,
    ListView,
    MapView,
    Shape,
    StateTable,
    ValueView,
    as_it_is,
    ignore,
    shape_of,
)
from penstock.runtime.state.ttl import StateTtlConfig


def _nothing() -> None:
    pass


class TimeToLive:
    """How long values live, and who may still see them.

    Args:
        config: What the user wants.
        clock: Returns the processing time in milliseconds.
    """

    def __init__(self, config: StateTtlConfig, clock: Callable[[], int]) -> None:
        self._length = Duration.of(config.get_ttl()).to_millis()
        self.clock = clock
        self.is_renewed_by_reading = (
            config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        )
        self.shows_expired = (
            config.get_state_visibility()
            is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        )

    def is_expired(self, written: int, now: int) -> bool:
        """Return whether a value that was written then has expired now."""
        return written + self._length <= now


class TtlEntries:
    """One value a key, each of which expires."""

    def __init__(self, view: ValueView, ttl: TimeToLive, on_use: Callable[[], object]) -> None:
        self._entries, self._mark, self._keep = view
        self._ttl = ttl
        self._on_use = on_use

    def get(self, key: Any, default: Any = None, /) -> Any:
        self._on_use()
        pair = given(self._entries.get(key))
        if pair is None:
            return default
        value, written = pair
        if self._ttl.is_expired(written, self._ttl.clock()):
            self.pop(key, None)
            return value if self._ttl.shows_expired else default
        if self._ttl.is_renewed_by_reading:
            self[key] = value
        return value

    def __setitem__(self, key: Any, value: Any, /) -> None:
        self._on_use()
        self._entries[key] = self._keep((value, self._ttl.clock()), key)
        self._mark(key)

    def pop(self, key: Any, default: Any, /) -> Any:
        pair = given(self._entries.pop(key, None))
        if pair is None:
            return default
        self._mark(key)
        return pair[0]

    def expire(self, key: Any) -> None:
        """Remove the value of a key if it has expired."""
        pair = given(self._entries.get(key))
        if pair is not None and self._ttl.is_expired(pair[1], self._ttl.clock()):
            self.pop(key, None)


class TtlLists:
    """One list a key, whose elements expire one by one."""

    def __init__(self, view: ListView, ttl: TimeToLive, on_use: Callable[[], object]) -> None:
        self._view = view
        self._ttl = ttl
        self._on_use = on_use

    def get(self, key: Any) -> list[Any]:
        self._on_use()
        pairs = self._view.get(key)
        if not pairs:
            return []
        alive = self._without_expired(key, pairs)
        if self._ttl.is_renewed_by_reading and alive:
            self._view.remove(key)
            self.extend(key, [value for value, _ in alive])
        return [value for value, _ in (pairs if self._ttl.shows_expired else alive)]

    def extend(self, key: Any, values: Iterable[Any]) -> None:
        self._on_use()
        now = self._ttl.clock()
        self._view.extend(key, [(value, now) for value in values])

    def remove(self, key: Any) -> None:
        self._view.remove(key)

    def expire(self, key: Any) -> None:
        """Remove the elements under a key that have expired."""
        self._without_expired(key, self._view.get(key))

    def _without_expired(self, key: Any, pairs: list[Any]) -> list[Any]:
        now = self._ttl.clock()
        alive = [pair for pair in pairs if not self._ttl.is_expired(pair[1], now)]
        if len(alive) < len(pairs):
            self._view.remove(key)
            self._view.extend(key, alive)
        return alive


class TtlMaps(MapView):
    """One map a key, whose entries expire one by one."""

    def __init__(self, view: MapView, ttl: TimeToLive, on_use: Callable[[], object]) -> None:
        self._view = view
        self._ttl = ttl
        self._on_use = on_use

    def get(self, key: Any, map_key: Any, default: Any) -> Any:
        self._on_use()
        pair = self._view.get(key, map_key, ABSENT)
        return default if pair is ABSENT else self._read(key, map_key, pair, default)

    def _read(self, key: Any, map_key: Any, pair: Any, default: Any) -> Any:
        value, written = pair
        if self._ttl.is_expired(written, self._ttl.clock()):
            self._view.remove(key, map_key)
            return value if self._ttl.shows_expired else default
        if self._ttl.is_renewed_by_reading:
            self.put(key, map_key, value)
        return value

    def put(self, key: Any, map_key: Any, value: Any) -> None:
        self._on_use()
        self._view.put(key, map_key, (value, self._ttl.clock()))

    def remove(self, key: Any, map_key: Any) -> None:
        self._view.remove(key, map_key)

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        self._on_use()
        found = [
            (map_key, self._read(key, map_key, pair, ABSENT))
            for map_key, pair in self._view.items(key)
        ]
        return [item for item in found if item[1] is not ABSENT]

    def is_empty(self, key: Any) -> bool:
        return not self.items(key)

    def expire(self, key: Any) -> None:
        """Remove the entries under a key that have expired."""
        now = self._ttl.clock()
        for map_key, (_, written) in self._view.items(key):
            if self._ttl.is_expired(written, now):
                self._view.remove(key, map_key)


_VIEWS: Final[Mapping[Shape, Callable[..., TtlEntries | TtlLists | TtlMaps]]] = {
    Shape.VALUE: TtlEntries,
    Shape.LIST: TtlLists,
    Shape.MAP: TtlMaps,
}


class TtlTable:
    """A table whose values expire, in the place of the table itself.

    Args:
        table: The table under it.
        config: What the user wants.
        clock: Returns the processing time in milliseconds.
    """

    def __init__(self, table: StateTable, config: StateTtlConfig, clock: Callable[[], int]) -> None:
        self._table = table
        self._ttl = TimeToLive(config, clock)
        self._strategies = config.get_cleanup_strategies()
        self._on_use: Callable[[], object] = _nothing
        self._after: Any = None
        self._pass_began = clock()

    def hold(self, value: Any, key: Any) -> Any:
        """See `StateTable.hold`."""
        return self._table.hold(value, key)

    def enter(self, namespace: Any) -> Any:
        """Return a view in which expired values cannot be seen, or only once."""
        view = self._over(self._table.enter(namespace), self._on_use)
        return ValueView(view, ignore, as_it_is) if isinstance(view, TtlEntries) else view

    def _over(self, view: Any, on_use: Callable[[], object]) -> TtlEntries | TtlLists | TtlMaps:
        return _VIEWS[shape_of(self._table.kind)](view, self._ttl, on_use)

    def clean_when_used(self) -> Callable[[], object] | None:
        """Have some keys looked at whenever the state is read or written, as is done in memory.

        Returns:
            What is to be called for every record, too; None for nothing.
        """
        strategy = self._strategies.get_incremental_cleanup_strategy()
        if strategy is None:
            return None
        self._on_use = partial(self.expire_some, strategy.get_cleanup_size())
        return self._on_use if strategy.run_cleanup_for_every_record() else None

    def clean_after_epoch(self) -> None:
        """Look at some keys, as is done on disk at the end of each epoch; at all if that is due."""
        strategy = self._strategies.get_rocksdb_compact_filter_cleanup_strategy()
        if strategy is None:
            return
        longest = Duration.of(strategy.get_periodic_compaction_time()).to_millis()
        if self._ttl.clock() - self._pass_began >= longest:
            self.expire_all()
        else:
            self.expire_some(strategy.get_query_time_after_num_entries())

    def clean_before_snapshot(self) -> None:
        """Look at all keys, if snapshots shall leave out what has expired."""
        if self._strategies.in_full_snapshot():
            self.expire_all()

    def expire_some(self, count: int) -> None:
        """Remove what has expired of some keys, going on where the call before ended."""
        keys, self._after = self._table.some_keys(self._after, count)
        if self._after is None:
            self._pass_began = self._ttl.clock()
        for namespace, key in keys:
            self._over(self._table.view(namespace), _nothing).expire(key)
            self._table.release(namespace)

    def expire_all(self) -> None:
        """Remove whatever has expired."""
        self._after = None
        self.expire_some(1000)
        while self._after is not None:
            self.expire_some(1000)


def without_times(kind: str, value: Any) -> Any:
    """Return a value, list or map of a table of some kind without the times at which it was written."""
    if not kind.endswith(WITH_TTL):
        return value
    if isinstance(value, dict):
        return {key: pair[0] for key, pair in value.items()}
    return [pair[0] for pair in value] if isinstance(value, list) else value[0]
