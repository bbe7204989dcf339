from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from tests.runtime.programs import Harness
from tests.runtime.strategies import blocks

from penstock.runtime.exchange.elements import Block, WatermarkStatus
from penstock.runtime.operator import ChainingStrategy, StreamOperator


class PerRecord(StreamOperator):
    """An operator that knows nothing of blocks."""

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self.output.collect(Block([(value, timestamp)]))


@given(blocks(with_timestamps=None))
def test_the_path_by_blocks_calls_the_path_by_records(block: Block) -> None:
    harness = Harness(PerRecord())
    harness.process(block.values, block.timestamps)

    assert harness.output.values() == [
        (record.value, record.timestamp) for record in block.records()
    ]


def test_needs_one_of_both_paths() -> None:
    with pytest.raises(TypeError, match="StreamOperator takes blocks or records"):
        Harness(StreamOperator()).process([1])


def test_forwards_what_is_in_band() -> None:
    harness = Harness(StreamOperator())
    harness.operator.process_watermark(5)
    harness.operator.process_status(WatermarkStatus.IDLE)
    harness.operator.flush()
    harness.operator.end_input()
    harness.operator.close()

    assert harness.output.log == [("watermark", 5), ("status", WatermarkStatus.IDLE)]


def test_has_the_names_of_flink_and_travels_to_workers() -> None:
    assert [strategy.name for strategy in ChainingStrategy] == ["ALWAYS", "HEAD", "NEVER"]
    for strategy in ChainingStrategy:
        assert pickle.loads(pickle.dumps(strategy)) is strategy
