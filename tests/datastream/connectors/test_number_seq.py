from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.semantics.running import collect

from penstock.common import WatermarkStrategy
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.errors import InvalidArgumentError
from penstock.testing import local_environment

ENDS = st.tuples(st.integers(-50, 50), st.integers(-50, 50))


# Three sequences side by side take little more than one.
@settings(max_examples=settings().max_examples // 3 + 1)
@given(st.lists(ENDS, min_size=3, max_size=3), st.integers(1, 5))
def test_both_ends_are_included(sequences: list[tuple[int, int]], parallelism: int) -> None:
    env = local_environment(parallelism)
    streams = {}
    for place, ends in enumerate(sequences):
        source = NumberSequenceSource(*ends)
        streams[place] = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    found = collect(streams)
    for place, (start, end) in enumerate(sequences):
        assert sorted(found[place]) == [*range(start, end + 1)]


@pytest.mark.parametrize(("start", "end"), [(1.0, 2), (1, "2"), (None, 3)])
def test_only_whole_numbers(start: Any, end: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot begin or end at"):
        NumberSequenceSource(start, end)
