"""What can be given to `from_source` and `sink_to`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.common.typeinfo.type_information import TypeInformation
from penstock.runtime.operator import StreamOperator

__all__ = ["Sink", "Source"]


class Source(ABC):
    """Describes what a stream is read from.

    Attributes:
        is_bounded: Whether the source ends.
        produced_type: The type of its records; None if it is not known.
    """

    is_bounded: bool = True
    produced_type: TypeInformation | None = None

    @abstractmethod
    def description(self) -> Any:
        """Return what the runtime reads: a `NativeSource`, or what an executor knows to read."""


class Sink(ABC):
    """Describes where a stream is written to."""

    @abstractmethod
    def create_operator(self) -> StreamOperator:
        """Return the operator that ends the program here."""
