# ruff: noqa: DTZ001 - timestamps without time zone are what is tested
from __future__ import annotations

import time as clock
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.typeinfo.time_typeinfo import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.errors import TypeMismatchError

TimeType = LocalTimeTypeInfo.TimeType


@pytest.fixture
def far_away(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the test in a time zone that is hours from UTC and has daylight saving time."""
    monkeypatch.setenv("TZ", "America/New_York")
    clock.tzset()
    yield
    monkeypatch.undo()
    clock.tzset()


@given(st.dates())
def test_dates_are_days(value: date) -> None:
    stored = DateTypeInfo().to_internal_type(value)

    assert stored == (value - date(1970, 1, 1)).days
    assert DateTypeInfo().from_internal_type(stored) == value


@given(st.times())
def test_times_are_microseconds_of_the_day(value: time) -> None:
    stored = TimeTypeInfo().to_internal_type(value)

    assert stored is not None
    assert 0 <= stored < 86_400_000_000
    assert TimeTypeInfo().from_internal_type(stored) == value


@given(st.datetimes())
def test_timestamps_are_microseconds(value: datetime) -> None:
    stored = TimestampTypeInfo().to_internal_type(value)

    assert stored == (value - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    assert TimestampTypeInfo().from_internal_type(stored) == value


@pytest.mark.usefixtures("far_away")
def test_the_zone_of_the_machine_plays_no_part() -> None:
    in_the_gap_of_spring = datetime(2024, 3, 10, 2, 30)
    stored = TimestampTypeInfo().to_internal_type(in_the_gap_of_spring)

    assert stored == 1_710_037_800_000_000
    assert TimestampTypeInfo().from_internal_type(stored) == in_the_gap_of_spring
    assert TimeTypeInfo().to_internal_type(time(1)) == 3_600_000_000


def test_a_timestamp_with_zone_is_stored_in_utc() -> None:
    east = timezone(timedelta(hours=5))
    stored = TimestampTypeInfo().to_internal_type(datetime(1970, 1, 1, 6, tzinfo=east))

    assert stored == 3_600_000_000
    assert TimestampTypeInfo().from_internal_type(stored) == datetime(1970, 1, 1, 1)


@pytest.mark.parametrize("info", [DateTypeInfo(), TimeTypeInfo(), TimestampTypeInfo()])
def test_none_stays_none(info: TypeInformation) -> None:
    assert info.need_conversion()
    assert info.to_internal_type(None) is None
    assert info.from_internal_type(None) is None


@pytest.mark.parametrize(
    ("info", "good", "bad"),
    [
        (SqlTimeTypeInfo.DATE(), date(2024, 1, 1), time(1)),
        (SqlTimeTypeInfo.TIME(), time(1), time(1, tzinfo=UTC)),
        (SqlTimeTypeInfo.TIMESTAMP(), datetime(2024, 1, 1), date(2024, 1, 1)),
        (LocalTimeTypeInfo(TimeType.LOCAL_DATE), date(2024, 1, 1), "2024-01-01"),
        (LocalTimeTypeInfo(TimeType.LOCAL_TIME), time(1), 1),
        (LocalTimeTypeInfo(TimeType.LOCAL_DATE_TIME), datetime(2024, 1, 1), time(1)),
    ],
)
def test_takes_its_values_and_no_others(info: TypeInformation, good: Any, bad: Any) -> None:
    info.check(good)
    assert info.from_internal_type(info.to_internal_type(good)) == good
    with pytest.raises(TypeMismatchError):
        info.check(bad)


def test_values_of_other_classes_become_the_same_date_or_time() -> None:
    midnight, noon = datetime(2024, 1, 1), datetime(2024, 1, 1, 12)
    aware = datetime(2024, 1, 1, tzinfo=UTC)
    stamp = pd.Timestamp("2024-01-01 12:00:00.000001")

    assert DateTypeInfo().convert(midnight) == date(2024, 1, 1)
    assert type(DateTypeInfo().convert(midnight)) is date
    assert TimestampTypeInfo().convert(aware) is aware
    assert TimestampTypeInfo().convert(stamp) == noon + timedelta(microseconds=1)
    assert type(TimestampTypeInfo().convert(stamp)) is datetime
    for info, value in ((DateTypeInfo(), noon), (DateTypeInfo(), aware)):
        with pytest.raises(TypeMismatchError, match=r"Return its date\(\)"):
            info.convert(value)
    with pytest.raises(TypeMismatchError):
        TimestampTypeInfo().convert(pd.NaT)


def test_each_kind_equals_itself_only() -> None:
    infos: list[TypeInformation] = [
        DateTypeInfo(),
        TimeTypeInfo(),
        TimestampTypeInfo(),
        *map(LocalTimeTypeInfo, TimeType),
    ]

    assert len(set(infos)) == len(infos)
    assert [repr(info) for info in infos] == [
        "DateTypeInfo",
        "TimeTypeInfo",
        "TimestampTypeInfo",
        "LocalTimeTypeInfo<LOCAL_DATE>",
        "LocalTimeTypeInfo<LOCAL_TIME>",
        "LocalTimeTypeInfo<LOCAL_DATE_TIME>",
    ]
    assert DateTypeInfo() == SqlTimeTypeInfo.DATE()
