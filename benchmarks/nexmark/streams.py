"""The streams of events that the queries read, for penstock and for PyFlink: see `queries.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from benchmarks.nexmark.events import Record

from penstock.common import Duration, Time, TypeInformation, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import DataStream

LONG, TEXT = Types.LONG(), Types.STRING()
PERSON_TYPE = Types.TUPLE([LONG, TEXT, TEXT, TEXT, TEXT, TEXT, LONG, TEXT])
AUCTION_TYPE = Types.TUPLE([LONG, TEXT, TEXT, LONG, LONG, LONG, LONG, LONG, LONG, TEXT])
BID_TYPE = Types.TUPLE([LONG, LONG, LONG, TEXT, TEXT, LONG, TEXT])

WINDOW = 10_000
"""The size of windows, and the gap between sessions, in milliseconds."""
SLIDES = 5
"""So many sliding windows hold each bid."""


def numbers(count: int) -> TypeInformation:
    """The type of tuples of so many numbers.

    Functions make the types of their state anew: of those of PyFlink not all can be sent to a worker.
    """
    return Types.TUPLE([Types.LONG()] * count)


class Maker(Protocol):
    """Makes the events of a record of the source, by their kinds."""

    @property
    def disorder(self) -> int:
        """As of `Nexmark`."""

    def persons_of(self, source: Any) -> Sequence[Record]:
        """Makes persons."""

    def auctions_of(self, source: Any) -> Sequence[Record]:
        """Makes auctions."""

    def bids_of(self, source: Any) -> Sequence[Record]:
        """Makes bids."""


class Events:
    """The three streams of events, each made where a query reads it.

    Args:
        source: What the events are made of.
        maker: Makes them.
        port: Where the service of query 13 listens.
        window: The size of windows in milliseconds.
    """

    def __init__(
        self, source: DataStream, maker: Maker, port: int = 0, window: int = WINDOW
    ) -> None:
        self._source = source
        self._maker = maker
        self.port = port
        self.window = Time.milliseconds(window)
        self.slide = Time.milliseconds(window // SLIDES)

    @property
    def persons(self) -> DataStream:
        """Persons, without timestamps."""
        return self._source.flat_map(self._maker.persons_of, PERSON_TYPE)

    @property
    def auctions(self) -> DataStream:
        """Auctions, without timestamps."""
        return self._source.flat_map(self._maker.auctions_of, AUCTION_TYPE)

    @property
    def bids(self) -> DataStream:
        """Bids, without timestamps."""
        return self._source.flat_map(self._maker.bids_of, BID_TYPE)

    def timed(self, stream: DataStream, field: int) -> DataStream:
        """The tuples of a stream, with timestamps from one of their fields, and with watermarks."""
        disorder = Duration.of_millis(self._maker.disorder)
        return stream.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_bounded_out_of_orderness(disorder).with_timestamp_assigner(
                TimeIn(field)
            )
        )


class TimeIn(TimestampAssigner):
    """Takes the time from a field."""

    def __init__(self, field: int) -> None:
        self._field = field

    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        """See `TimestampAssigner`."""
        time: int = value[self._field]
        return time
