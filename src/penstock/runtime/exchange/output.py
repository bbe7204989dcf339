"""Where an operator's results go: what every output can do."""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.runtime.exchange.elements import Block, EndOfInput, WatermarkStatus
from penstock.runtime.timestamp import MIN_TIMESTAMP


class Output(ABC):
    """Where an operator's results go.

    Attributes:
        watermark: The last watermark that was emitted here, in milliseconds.
    """

    watermark: int = MIN_TIMESTAMP

    runs_functions: bool = True
    """Whether functions may run on the very values that are given here, before `collect` returns."""

    copies_will_do: bool = False
    """Whether a copy of a value that can be changed may come here in its place, some time later."""

    def takes(self, tag: str | None) -> bool:
        """Whether it takes records of a side output; of the main output, if the tag is None."""
        return True

    @abstractmethod
    def collect(self, block: Block) -> None:
        """Take records of the main output."""

    @abstractmethod
    def collect_side(self, tag: str, block: Block) -> None:
        """Take records of the side output with the id `tag`."""

    @abstractmethod
    def emit_watermark(self, timestamp: int) -> None:
        """Take a watermark (milliseconds)."""

    @abstractmethod
    def emit_status(self, status: WatermarkStatus) -> None:
        """Take a change between active and idle."""

    @abstractmethod
    def end_input(self, end: EndOfInput) -> None:
        """Learn that nothing comes any more, in this epoch or a later one."""

    @abstractmethod
    def flush(self) -> None:
        """Pass on what is held back, as the epoch ends."""
