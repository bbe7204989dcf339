from __future__ import annotations

from typing import Any

from hypothesis import given
from tests.runtime.programs import Harness
from tests.runtime.strategies import blocks

from penstock.runtime.exchange.elements import Block
from penstock.runtime.operators.map import MapOperator


def doubled(value: Any) -> Any:
    return value * 2


@given(blocks(with_timestamps=None))
def test_emits_one_result_for_each_record_with_its_timestamp(block: Block) -> None:
    harness = Harness(MapOperator(doubled))
    harness.process(block.values, block.timestamps)

    assert harness.output.records() == [
        (record.value * 2, record.timestamp) for record in block.records()
    ]


def test_none_is_a_result_as_any_other() -> None:
    harness = Harness(MapOperator(lambda value: None))
    harness.process([1, 2])

    assert harness.output.values() == [None, None]


def test_results_have_no_keys() -> None:
    harness = Harness(MapOperator(doubled))
    harness.process([1], keys=["k"])

    [block] = harness.output.blocks()
    assert block.keys is None
