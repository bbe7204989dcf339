from __future__ import annotations

from typing import Any

import pytest

from penstock.common import WatermarkStrategy
from penstock.errors import InvalidArgumentError
from penstock.testing import TestingSource, local_environment


@pytest.mark.parametrize(
    ("epochs", "count"), [([], 1), ([[]], 1), ([[1]], 1), ([[1, 2], [], [3]], 3)]
)
def test_epochs_are_those_that_were_given(epochs: list[list[int]], count: int) -> None:
    env = local_environment(parallelism=2)
    stream = env.from_source(TestingSource(epochs), WatermarkStrategy.no_watermarks(), "numbers")
    stream.add_sink(lambda _: None)
    metrics = env.execute().metrics
    assert (metrics["epochs"], metrics["records_in"]) == (count, sum(map(len, epochs)))


def test_blocks_are_no_larger_than_asked_for() -> None:
    blocks = list(TestingSource([[1, 2, 3]], block_size=2).description().read(0, 0, 1))
    assert [block.values for block in blocks] == [[1, 2], [3]]


@pytest.mark.parametrize("wrong", [0, 1025])
def test_block_sizes_out_of_range(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="Blocks cannot have"):
        TestingSource([[1]], block_size=wrong)
