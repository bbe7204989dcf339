"""Operators with two inputs."""

from __future__ import annotations

from abc import abstractmethod

from penstock.runtime.exchange.elements import Block
from penstock.runtime.operator import StreamOperator


class TwoInputOperator(StreamOperator):
    """Base class of operators with two inputs. Such an operator is always the head of its chain.

    The watermark, the status and the end that it is told of are those of both inputs together.
    """

    @abstractmethod
    def process_block1(self, block: Block) -> None:
        """Process a block of the first input."""

    @abstractmethod
    def process_block2(self, block: Block) -> None:
        """Process a block of the second input."""
