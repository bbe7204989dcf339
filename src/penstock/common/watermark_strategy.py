"""How a stream knows of the progress of event time."""

from __future__ import annotations

__all__ = ["WatermarkStrategy"]


class WatermarkStrategy:
    """Says which watermarks a stream has.

    Example:
        >>> WatermarkStrategy.no_watermarks() == WatermarkStrategy.no_watermarks()
        True
    """

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Return the strategy for streams that do not need event time.

        Returns:
            A strategy that makes no watermarks, but for the last one of a bounded stream.
        """
        return WatermarkStrategy()

    def __eq__(self, other: object) -> bool:
        return type(other) is WatermarkStrategy

    def __hash__(self) -> int:
        return hash(WatermarkStrategy)

    def __repr__(self) -> str:
        return "WatermarkStrategy.no_watermarks()"
