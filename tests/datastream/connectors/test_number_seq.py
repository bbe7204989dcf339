from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import WatermarkStrategy
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.errors import InvalidArgumentError
from penstock.testing import local_environment


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(1, 5))
def test_both_ends_are_included(start: int, end: int, parallelism: int) -> None:
    source = NumberSequenceSource(start, end)
    env = local_environment(parallelism)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    assert sorted(numbers.execute_and_collect()) == [*range(start, end + 1)]


@pytest.mark.parametrize(("start", "end"), [(1.0, 2), (1, "2"), (None, 3)])
def test_only_whole_numbers(start: Any, end: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot begin or end at"):
        NumberSequenceSource(start, end)
