from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from tests.runtime.programs import Harness
from tests.runtime.strategies import blocks

from penstock.runtime.exchange.elements import Block
from penstock.runtime.operators.filter import FilterOperator


def is_wanted(value: Any) -> bool:
    return len(str(value)) % 2 == 0


@given(blocks(with_timestamps=None))
def test_emits_the_records_that_are_accepted_with_their_timestamps(block: Block) -> None:
    harness = Harness(FilterOperator(is_wanted))
    harness.process(block.values, block.timestamps)

    assert harness.output.records() == [
        (record.value, record.timestamp) for record in block.records() if is_wanted(record.value)
    ]


@pytest.mark.parametrize("timestamps", [None, [1, 2, 3, 4]])
def test_whatever_is_true_accepts(timestamps: list[int | None] | None) -> None:
    answers = {"a": 0, "b": "yes", "c": None, "d": [0]}
    harness = Harness(FilterOperator(answers.get))
    harness.process(list(answers), timestamps)

    assert harness.output.values() == ["b", "d"]
