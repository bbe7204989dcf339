from __future__ import annotations

from hypothesis import given
from tests.runtime.programs import Harness
from tests.runtime.strategies import blocks

from penstock.runtime.elements import Block
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.source import CollectionSource


@given(blocks(with_timestamps=None))
def test_passes_on_what_is_read(block: Block) -> None:
    harness = Harness(SourceOperator())
    harness.operator.process_block(block)

    assert harness.output.log == [("main", block)]


def test_takes_what_it_reads_along_to_the_worker() -> None:
    operator = Harness(SourceOperator(CollectionSource([1, 2]))).operator

    assert isinstance(operator, SourceOperator)
    assert operator.source is not None
    assert [block.values for block in operator.source.read(0, 0, 1)] == [[1, 2]]
