from __future__ import annotations

import datetime
import pickle
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastream.connectors.files.date_pattern import DatePattern
from penstock.datastream.connectors.files.policies import (
    BucketAssigner,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.errors import InvalidArgumentError

NOON = 1_715_947_200_000
"""17 May 2024, 12:00 UTC."""


def at(now: int) -> Any:
    return SimpleNamespace(current_processing_time=lambda: now)


def part(size: int = 0, created: int = 0, updated: int = 0) -> Any:
    return SimpleNamespace(bucket_id="", size=size, creation_time=created, last_update_time=updated)


class TestDatePattern:
    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("yyyy-MM-dd--HH", "2024-05-07--09"),
            ("'dt='yyyy/M/d/H:m:s", "dt=2024/5/7/9:2:3"),
            ("yy.DDD.SSS", "24.128.045"),
            ("uuuu''mm'o''clock'ss", "2024'02o'clock03"),
            ("", ""),
        ],
    )
    def test_makes_texts(self, pattern: str, expected: str) -> None:
        time = datetime.datetime(2024, 5, 7, 9, 2, 3, 45_678, datetime.UTC)
        assert DatePattern(pattern).format(time) == expected

    @pytest.mark.parametrize("pattern", ["EEE", "MMM", "hh a", "yyyy-'W", "SSSSSSS"])
    def test_refuses_what_it_does_not_know(self, pattern: str) -> None:
        with pytest.raises(InvalidArgumentError):
            DatePattern(pattern)

    @given(st.datetimes(), st.sampled_from(["yyyy-MM-dd HH:mm:ss", "yyyy/MM/dd"]))
    def test_agrees_with_the_standard_library(self, time: datetime.datetime, pattern: str) -> None:
        other = time.isoformat(" ", "seconds")
        if "HH" not in pattern:
            other = other.partition(" ")[0].replace("-", "/")
        assert DatePattern(pattern).format(time) == other


class TestDateTimeBuckets:
    @pytest.mark.parametrize(
        ("zone", "expected"),
        [
            ("UTC", "2024-05-17--12"),
            ("Europe/Rome", "2024-05-17--14"),
            ("GMT-08:00", "2024-05-17--04"),
            ("+5:30", "2024-05-17--17"),
        ],
    )
    def test_go_by_processing_time(self, zone: str, expected: str) -> None:
        assigner = BucketAssigner.date_time_bucket_assigner(timezone_id=zone)
        assigner = pickle.loads(pickle.dumps(assigner))

        assert assigner.get_bucket_id("a", at(NOON)) == expected
        assert assigner.get_bucket_id("a", at(NOON)) == expected
        assert assigner.get_bucket_id("a", at(NOON + 3_600_000)) != expected

    def test_go_by_the_machines_time_zone(self) -> None:
        local = datetime.datetime.fromtimestamp(NOON / 1000)  # noqa: DTZ006
        assigner = BucketAssigner.date_time_bucket_assigner("HH:mm")
        assert assigner.get_bucket_id("a", at(NOON)) == f"{local:%H:%M}"

    @pytest.mark.parametrize("zone", ["Europe/Nowhere", "../etc", ""])
    def test_need_a_time_zone(self, zone: str) -> None:
        with pytest.raises(InvalidArgumentError, match="no time zone"):
            BucketAssigner.date_time_bucket_assigner(timezone_id=zone)


class TestDefaultRollingPolicy:
    @pytest.mark.parametrize(("size", "expected"), [(99, False), (100, True)])
    def test_goes_by_size(self, size: int, expected: bool) -> None:
        policy = RollingPolicy.default_rolling_policy(part_size=100)
        assert policy.should_roll_on_event(part(size), "a") is expected
        assert policy.should_roll_on_checkpoint(part(size)) is expected

    @pytest.mark.parametrize(
        ("created", "updated", "now", "expected"),
        [(0, 10, 19, False), (0, 10, 20, True), (0, 4, 8, False), (0, 4, 9, True)],
    )
    def test_goes_by_time(self, created: int, updated: int, now: int, expected: bool) -> None:
        policy = RollingPolicy.default_rolling_policy(rollover_interval=20, inactivity_interval=5)
        updated = max(updated, now - 4) if updated == 10 else updated
        found = policy.should_roll_on_processing_time(part(0, created, updated), now)
        assert found is expected

    @pytest.mark.parametrize(
        "options",
        [{"part_size": 0}, {"rollover_interval": -1}, {"inactivity_interval": 1.5}],
    )
    def test_needs_whole_numbers(self, options: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgumentError):
            RollingPolicy.default_rolling_policy(**options)


def test_the_policy_of_each_epoch() -> None:
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    assert policy.should_roll_on_checkpoint(part())
    assert not policy.should_roll_on_event(part(10**12), "a")
    assert not policy.should_roll_on_processing_time(part(), 10**12)


def test_names_of_files() -> None:
    config = OutputFileConfig.builder().with_part_prefix("p").with_part_suffix(".csv").build()
    assert (config.get_part_prefix(), config.get_part_suffix()) == ("p", ".csv")
    config = OutputFileConfig.builder().build()
    assert (config.get_part_prefix(), config.get_part_suffix()) == ("part", "")
    with pytest.raises(InvalidArgumentError, match="cannot be part of a file's name"):
        OutputFileConfig("a/b", "")
