"""An output that keeps what an operator emits."""

from __future__ import annotations

from collections import defaultdict

from penstock.runtime.exchange.elements import (
    Block,
    EndOfInput,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from penstock.runtime.exchange.output import Output


class CapturedOutput(Output):
    """Keeps what an operator emits, in order.

    Attributes:
        main: Records, watermarks and status changes of the main output.
        sides: The records of each side output, by the id of its tag.
    """

    def __init__(self) -> None:
        self.main: list[StreamRecord | Watermark | WatermarkStatus] = []
        self.sides: defaultdict[str, list[StreamRecord]] = defaultdict(list)

    def collect(self, block: Block) -> None:
        """Keep records of the main output."""
        self.main += block.records()

    def collect_side(self, tag: str, block: Block) -> None:
        """Keep records of a side output."""
        self.sides[tag] += block.records()

    def emit_watermark(self, timestamp: int) -> None:
        """Keep a watermark."""
        self.watermark = timestamp
        self.main.append(Watermark(timestamp))

    def emit_status(self, status: WatermarkStatus) -> None:
        """Keep a change between active and idle."""
        self.main.append(status)

    def end_input(self, end: EndOfInput) -> None:
        """Keep nothing: who drives the operator ended its input."""

    def flush(self) -> None:
        """Keep nothing: nothing is held back here."""
