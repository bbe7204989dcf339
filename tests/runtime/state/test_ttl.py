from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Duration, Time
from penstock.errors import InvalidArgumentError, InvalidDurationError, InvalidTimeToLiveError
from penstock.runtime.state.ttl import StateTtlConfig


def test_the_defaults() -> None:
    config = StateTtlConfig.new_builder(Time.hours(1)).build()
    assert config.get_ttl() == Time.hours(1)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert (
        config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    )
    assert config.is_enabled()
    strategies: Any = config.get_cleanup_strategies()
    assert strategies.is_cleanup_in_background()
    assert not strategies.in_full_snapshot()
    assert strategies.get_incremental_cleanup_strategy().get_cleanup_size() == 5
    assert not strategies.get_incremental_cleanup_strategy().run_cleanup_for_every_record()
    on_disk = strategies.get_rocksdb_compact_filter_cleanup_strategy()
    assert on_disk.get_query_time_after_num_entries() == 1000
    assert on_disk.get_periodic_compaction_time() == Duration.of_days(30)


def test_everything_can_be_set() -> None:
    config = (
        StateTtlConfig.new_builder(Time.hours(1))
        .set_ttl(Duration.of_seconds(1))
        .update_ttl_on_create_and_write()
        .update_ttl_on_read_and_write()
        .never_return_expired()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(3, run_cleanup_for_every_record=True)
        .cleanup_in_rocksdb_compact_filter(7, Duration.of_hours(1))
        .disable_cleanup_in_background()
        .build()
    )
    assert config.get_ttl() == Duration.of_seconds(1)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert (
        config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    )
    strategies: Any = config.get_cleanup_strategies()
    assert strategies.in_full_snapshot()
    assert strategies.get_incremental_cleanup_strategy().get_cleanup_size() == 3
    assert strategies.get_incremental_cleanup_strategy().run_cleanup_for_every_record()
    on_disk = strategies.get_rocksdb_compact_filter_cleanup_strategy()
    assert on_disk.get_query_time_after_num_entries() == 7
    assert on_disk.get_periodic_compaction_time() == Duration.of_hours(1)


def test_no_strategy_runs_that_was_not_asked_for_if_so_wanted() -> None:
    config = StateTtlConfig.new_builder(Time.hours(1)).disable_cleanup_in_background().build()
    strategies: Any = config.get_cleanup_strategies()
    assert strategies.get_incremental_cleanup_strategy() is None
    assert strategies.get_rocksdb_compact_filter_cleanup_strategy() is None


def test_it_can_be_disabled() -> None:
    builder = StateTtlConfig.new_builder(Time.hours(1))
    builder.set_update_type(StateTtlConfig.UpdateType.Disabled)
    assert not builder.build().is_enabled()


@pytest.mark.parametrize("millis", [0, -1])
def test_a_time_to_live_is_positive(millis: int) -> None:
    with pytest.raises(InvalidTimeToLiveError, match="at least one millisecond"):
        StateTtlConfig.new_builder(Time.milliseconds(millis)).build()


def test_a_time_to_live_is_a_time() -> None:
    soon: Any = "soon"
    builder = StateTtlConfig.new_builder(soon)
    with pytest.raises(InvalidDurationError):
        builder.build()


def test_cleaning_looks_at_something() -> None:
    builder = StateTtlConfig.new_builder(Time.hours(1))
    with pytest.raises(InvalidArgumentError, match="cleanup_size is 0"):
        builder.cleanup_incrementally(0, run_cleanup_for_every_record=False)
    with pytest.raises(InvalidArgumentError, match="query_time_after_num_entries is 0"):
        builder.cleanup_in_rocksdb_compact_filter(0)
