"""Whole numbers in columns."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.exchange.arrow_numbers import floored, milliseconds

NUMBERS = st.integers(-(2**60), 2**60)
SECONDS = st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20)


@given(
    numbers=st.lists(NUMBERS, min_size=1),
    step=st.integers(1, 10**12),
    offset=st.integers(-(10**12), 10**12),
)
def test_floors_as_python_does(numbers: list[int], step: int, offset: int) -> None:
    found = floored(pa.array(numbers), step, offset).to_pylist()
    assert found == [number - (number - offset) % step for number in numbers]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@given(seconds=SECONDS, part=st.integers(0, 10**9 - 1))
def test_times_are_milliseconds(unit: str, seconds: list[int], part: int) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    numbers = [second * per_second + part % per_second for second in seconds]
    for zone in (None, "UTC", "Europe/Berlin"):
        found = milliseconds(pa.array(numbers, pa.int64()).cast(pa.timestamp(unit, zone)))
        assert found is not None
        assert found.to_pylist() == [number * 1000 // per_second for number in numbers]


def test_an_instant_has_one_number_whatever_its_zone() -> None:
    noon = datetime.datetime(2020, 6, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    found = milliseconds(pa.array([noon], pa.timestamp("us", "Asia/Tokyo")))
    assert found is not None
    assert found.to_pylist() == [round(noon.timestamp() * 1000)]


def test_whole_numbers_are_milliseconds_already() -> None:
    found = milliseconds(pa.array([-1, None, 7], pa.int16()))
    assert found is not None
    assert found.type == pa.int64()
    assert found.to_pylist() == [-1, None, 7]


@pytest.mark.parametrize("kind", [pa.string(), pa.float64(), pa.date32()])
def test_other_columns_tell_no_time(kind: pa.DataType) -> None:
    assert milliseconds(pa.nulls(1, kind)) is None
