"""A source of consecutive numbers."""

from __future__ import annotations

from penstock.common.typeinfo.types import Types
from penstock.datastream.connectors.base import Source
from penstock.errors import InvalidArgumentError
from penstock.runtime.source import NativeSource, NumberRangeSource

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """The whole numbers from `start` to `end`, both included, in order within each subtask.

    Each subtask reads an equal share, so the numbers come in ascending order at parallelism 1 only.
    The source is bounded; where `end` is below `start` it is empty.

    Args:
        start: The first number.
        end: The last number.

    Raises:
        InvalidArgumentError: If one of them is no whole number.

    Example:
        >>> from penstock.common import WatermarkStrategy
        >>> from penstock.testing import local_environment
        >>> numbers = local_environment().from_source(
        ...     NumberSequenceSource(1, 3), WatermarkStrategy.no_watermarks(), "numbers"
        ... )
        >>> list(numbers.execute_and_collect())
        [1, 2, 3]
    """

    produced_type = Types.LONG()

    def __init__(self, start: int, end: int) -> None:
        for value in (start, end):
            if not isinstance(value, int):
                raise InvalidArgumentError(
                    f"A sequence of numbers cannot begin or end at {value!r}.",
                    hint="Give whole numbers.",
                )
        self._start = start
        self._end = end

    def description(self) -> NativeSource:
        """See `Source.description`."""
        return NumberRangeSource(self._start, self._end)
