"""The head of a chain that begins at a source."""

from __future__ import annotations

from penstock.runtime.elements import Block
from penstock.runtime.operator import StreamOperator
from penstock.runtime.source import NativeSource


class SourceOperator(StreamOperator):
    """Passes on what a source reads.

    Args:
        source: The source to read, if a worker reads it by itself; None where Spark does.
    """

    def __init__(self, source: NativeSource | None = None) -> None:
        self.source = source

    def process_block(self, block: Block) -> None:
        self.output.collect(block)
