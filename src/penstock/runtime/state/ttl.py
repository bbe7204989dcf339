"""How long state lives: time-to-live and its options."""

from __future__ import annotations

from abc import ABC
from enum import Enum
from typing import Final

from penstock.common.time import Duration, Time
from penstock.errors import InvalidArgumentError, InvalidTimeToLiveError


class StateTtlConfig:
    """How long the values of a state live after they were last used.

    Made by `StateTtlConfig.new_builder`. The time is processing time. Elements of a list and
    entries of a map live and expire one by one.

    Example:
        >>> config = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
        >>> config.get_update_type()
        <UpdateType.OnReadAndWrite: 2>
    """

    class UpdateType(Enum):
        """What makes a value live longer."""

        Disabled = 0
        """There is no time-to-live."""
        OnCreateAndWrite = 1
        """Writing it."""
        OnReadAndWrite = 2
        """Reading or writing it."""

    class StateVisibility(Enum):
        """Whether a value can be seen that has expired and has not been removed yet."""

        ReturnExpiredIfNotCleanedUp = 0
        """It is returned by the read that finds it expired, and removed then."""
        NeverReturnExpired = 1
        """It is never returned."""

    class TtlTimeCharacteristic(Enum):
        """Which time counts."""

        ProcessingTime = 0
        """The clock of the machine."""

    def __init__(
        self,
        update_type: StateTtlConfig.UpdateType,
        state_visibility: StateTtlConfig.StateVisibility,
        ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic,
        ttl: Time | Duration,
        cleanup_strategies: StateTtlConfig.CleanupStrategies,
    ) -> None:
        if Duration.of(ttl).to_millis() <= 0:
            raise InvalidTimeToLiveError(
                f"A state cannot live for {ttl}: a time-to-live is at least one millisecond.",
                hint="Give a positive time, such as Time.hours(1). For state that lives for ever, "
                "leave enable_time_to_live out.",
            )
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Time | Duration) -> StateTtlConfig.Builder:
        """Begin a configuration.

        Args:
            ttl: How long values live, at least one millisecond.

        Returns:
            A builder; by default a value lives longer when written, is never seen after it
            expired, and is removed in the background.

        Raises:
            InvalidDurationError: If `ttl` is no length of time.
            InvalidTimeToLiveError: By `build`, if it is zero or negative.
        """
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> StateTtlConfig.UpdateType:
        """Return what makes a value live longer."""
        return self._update_type

    def get_state_visibility(self) -> StateTtlConfig.StateVisibility:
        """Return whether an expired value can be seen."""
        return self._state_visibility

    def get_ttl(self) -> Time | Duration:
        """Return how long values live."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> StateTtlConfig.TtlTimeCharacteristic:
        """Return which time counts."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Return whether values expire at all."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> StateTtlConfig.CleanupStrategies:
        """Return how expired values are removed that nobody reads."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig(ttl={self._ttl}, {self._update_type.name}, "
            f"{self._state_visibility.name})"
        )

    class Builder:
        """Builds a `StateTtlConfig`; every method but `build` returns the builder."""

        def __init__(self, ttl: Time | Duration) -> None:
            self._ttl = ttl
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._state_visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._ttl_time_characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._is_cleanup_in_background = True
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies,
                StateTtlConfig.CleanupStrategies.CleanupStrategy,
            ] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """Set what makes a value live longer."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Let values live longer when they are written (default)."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Let values live longer when they are read or written."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(
            self, state_visibility: StateTtlConfig.StateVisibility
        ) -> StateTtlConfig.Builder:
            """Set whether an expired value can be seen."""
            self._state_visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Let the read that finds a value expired return it."""
            return self.set_state_visibility(
                StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            )

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Never return an expired value (default)."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Set which time counts; there is only processing time."""
            self._ttl_time_characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Let processing time count (default)."""
            return self.set_ttl_time_characteristic(
                StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            )

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Leave expired values out of snapshots of the whole state."""
            strategies = StateTtlConfig.CleanupStrategies
            return self._add(
                strategies.Strategies.FULL_STATE_SCAN_SNAPSHOT, strategies.EMPTY_STRATEGY
            )

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Look at a few keys whenever the state is used, on the backend `hashmap`.

            Args:
                cleanup_size: How many keys.
                run_cleanup_for_every_record: Whether also records that do not use the state count.

            Raises:
                InvalidArgumentError: If `cleanup_size` is below 1.
            """
            strategies = StateTtlConfig.CleanupStrategies
            return self._add(
                strategies.Strategies.INCREMENTAL_CLEANUP,
                strategies.IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record),
            )

        def cleanup_in_rocksdb_compact_filter(
            self,
            query_time_after_num_entries: int,
            periodic_compaction_time: Time | Duration | None = None,
        ) -> StateTtlConfig.Builder:
            """Remove expired values in passing, on the backend `rocksdb`.

            RocksDB's compaction cannot be asked to do so from Python: instead, every epoch ends with
            a look at as many keys as are named here, and goes on where the one before ended.

            Args:
                query_time_after_num_entries: How many keys each epoch looks at.
                periodic_compaction_time: How long it may at most take until every key was looked
                    at; None for 30 days.

            Raises:
                InvalidArgumentError: If `query_time_after_num_entries` is below 1.
            """
            strategies = StateTtlConfig.CleanupStrategies
            return self._add(
                strategies.Strategies.ROCKSDB_COMPACTION_FILTER,
                strategies.RocksdbCompactFilterCleanupStrategy(
                    query_time_after_num_entries, periodic_compaction_time
                ),
            )

        def _add(
            self,
            kind: StateTtlConfig.CleanupStrategies.Strategies,
            strategy: StateTtlConfig.CleanupStrategies.CleanupStrategy,
        ) -> StateTtlConfig.Builder:
            self._strategies[kind] = strategy
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Remove expired values only as other methods of the builder say, or when read."""
            self._is_cleanup_in_background = False
            return self

        def set_ttl(self, ttl: Time | Duration) -> StateTtlConfig.Builder:
            """Set how long values live."""
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """Return the configuration.

            Raises:
                InvalidTimeToLiveError: If the time is zero or negative.
            """
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._ttl_time_characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(
                    dict(self._strategies), self._is_cleanup_in_background
                ),
            )

    class CleanupStrategies:
        """How expired values are removed that nobody reads."""

        class Strategies(Enum):
            """The kinds of cleaning up."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy(ABC):  # noqa: B024 - PyFlink's is one
            """Base of the kinds of cleaning up."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A kind without options."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Looking at a few keys whenever the state is used.

            Args:
                cleanup_size: How many keys.
                run_cleanup_for_every_record: Whether also records that do not use the state count.
            """

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                self._cleanup_size = _at_least_one(cleanup_size, "cleanup_size")
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Return how many keys are looked at."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Return whether also records that do not use the state count."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Looking at some keys at the end of each epoch.

            Args:
                query_time_after_num_entries: How many keys.
                periodic_compaction_time: How long it may take to look at all; None for 30 days.
            """

            def __init__(
                self,
                query_time_after_num_entries: int,
                periodic_compaction_time: Time | Duration | None = None,
            ) -> None:
                self._query_time_after_num_entries = _at_least_one(
                    query_time_after_num_entries, "query_time_after_num_entries"
                )
                self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

            def get_query_time_after_num_entries(self) -> int:
                """Return how many keys each epoch looks at."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> Time | Duration:
                """Return how long it may take to look at all keys."""
                return self._periodic_compaction_time

        EMPTY_STRATEGY: Final = EmptyCleanupStrategy()

        def __init__(
            self,
            strategies: dict[Strategies, CleanupStrategy],
            is_cleanup_in_background: bool,
        ) -> None:
            self._strategies = strategies
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Return whether kinds that were not asked for run with their defaults."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Return whether snapshots leave expired values out."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy | None:
            """Return how state in memory is cleaned; by default 5 keys at every use of the state."""
            found = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP)
            if isinstance(found, self.IncrementalCleanupStrategy):
                return found
            if self._is_cleanup_in_background:
                return self.IncrementalCleanupStrategy(5, run_cleanup_for_every_record=False)
            return None

        def get_rocksdb_compact_filter_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy | None:
            """Return how state on disk is cleaned; by default 1,000 keys at each epoch's end."""
            found = self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER)
            if isinstance(found, self.RocksdbCompactFilterCleanupStrategy):
                return found
            if self._is_cleanup_in_background:
                return self.RocksdbCompactFilterCleanupStrategy(1000)
            return None


def _at_least_one(number: int, name: str) -> int:
    if number < 1:
        raise InvalidArgumentError(
            f"{name} is {number}, but it has to be at least 1.",
            hint="Leave the clean-up out to have the default, or call "
            "disable_cleanup_in_background to have none.",
        )
    return number
