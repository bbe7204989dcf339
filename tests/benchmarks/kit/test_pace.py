from __future__ import annotations

from benchmarks.kit.pace import count_due, due
from hypothesis import given
from hypothesis import strategies as st

START = 1_700_000_000_123


@given(st.integers(1, 10_000), st.integers(0, 100_000))
def test_a_record_counts_from_the_millisecond_in_which_it_is_due(rate: int, elapsed: int) -> None:
    count = count_due(START, START + elapsed, rate)

    assert due(START, count - 1, rate) <= START + elapsed < due(START, count, rate)
