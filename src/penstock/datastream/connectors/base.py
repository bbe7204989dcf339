"""What can be given to `from_source` and `sink_to`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

from penstock.common.typeinfo.type_information import TypeInformation
from penstock.runtime.operator import StreamOperator

__all__ = ["DeliveryGuarantee", "Sink", "Source", "StreamTransformer", "SupportsPreprocessing"]


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

    def of_type(self, type_info: TypeInformation | None) -> Sink:
        """Return the sink for records of a type. Default: this one, whatever the type.

        Args:
            type_info: The declared type of the stream; None if it has none.
        """
        return self

    @abstractmethod
    def create_operator(self) -> StreamOperator:
        """Return the operator that ends the program here."""


class DeliveryGuarantee(Enum):
    """What a sink promises, where it can be chosen. Most sinks have one promise.

    Attributes:
        EXACTLY_ONCE: Each record is delivered once, whatever fails.
        AT_LEAST_ONCE: Each record is delivered, when something fails maybe more than once.
        NONE: When something fails, records may be lost or delivered more than once.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class StreamTransformer(ABC):
    """Turns a stream into another before it is written; see `SupportsPreprocessing`."""

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """Return the `DataStream` that is written.

        Args:
            ds: The stream that was given to `sink_to`.
        """


class SupportsPreprocessing(ABC):
    """A sink that wants a stream turned into another before it is written."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """Return what turns it; None for nothing."""
