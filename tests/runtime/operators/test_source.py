from __future__ import annotations

from hypothesis import given
from tests.runtime.programs import Harness
from tests.runtime.strategies import blocks

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.runtime.exchange.elements import Block, ChannelWatermark
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.source import CollectionSource
from penstock.runtime.timestamp import MAX_TIMESTAMP

STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda value, _: value
)


@given(blocks(with_timestamps=None))
def test_passes_on_what_is_read(block: Block) -> None:
    for strategy in (None, WatermarkStrategy.no_watermarks()):
        harness = Harness(SourceOperator(strategy=strategy))
        harness.operator.process_block(block)
        harness.operator.flush()

        assert harness.output.log == [("main", block)]
        assert harness.operator.snapshot() is None


def test_takes_what_it_reads_along_to_the_worker() -> None:
    operator = Harness(SourceOperator(CollectionSource([1, 2]))).operator

    assert isinstance(operator, SourceOperator)
    assert isinstance(operator.source, CollectionSource)
    assert [block.values for block in operator.source.read(0, 0, 1)] == [[1, 2]]


def test_gives_timestamps_and_watermarks_if_a_strategy_says_how() -> None:
    harness = Harness(SourceOperator(strategy=STRATEGY, interval=200))
    harness.process([10, 20])
    harness.operator.flush()
    harness.operator.process_watermark(MAX_TIMESTAMP)

    assert harness.output.records() == [(10, 10), (20, 20)]
    assert harness.output.log[1:] == [("watermark", 19), ("watermark", MAX_TIMESTAMP)]


def test_tells_how_far_its_splits_are_if_it_has_any() -> None:
    operator = Harness(SourceOperator(strategy=STRATEGY, interval=200, has_splits=True)).operator
    assert isinstance(operator, SourceOperator)
    assert operator.split_progress() == ()
    operator.process_split(Block([10]), "a")
    operator.process_split(Block([20]), "b")
    operator.flush()

    assert operator.split_progress() == (("a", ChannelWatermark(9)), ("b", ChannelWatermark(19)))


def test_tells_nothing_of_splits_if_it_has_none() -> None:
    for source in (SourceOperator(), SourceOperator(strategy=STRATEGY, interval=200)):
        operator = Harness(source).operator
        assert isinstance(operator, SourceOperator)
        operator.process_block(Block([10]))
        assert operator.split_progress() == ()
