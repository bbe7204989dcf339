"""The Nexmark queries as DataStream programs: what `oracles.py` says, of the events of `events.py`.

This file and `streams.py` use nothing but what PyFlink has too: the other side of the comparison runs these
very files, with `penstock` replaced by `pyflink` in their imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks.nexmark.events import (
    AUCTION_CATEGORY,
    AUCTION_DATE_TIME,
    AUCTION_EXPIRES,
    AUCTION_ID,
    AUCTION_SELLER,
    BID_AUCTION,
    BID_BIDDER,
    BID_DATE_TIME,
    BID_EXTRA,
    BID_PRICE,
    PERSON_CITY,
    PERSON_DATE_TIME,
    PERSON_ID,
    PERSON_NAME,
    PERSON_STATE,
)
from benchmarks.nexmark.lookup import KEYS, LookupClient
from benchmarks.nexmark.streams import LONG, TEXT, Events, numbers

from penstock.common import Time, TypeInformation, Types
from penstock.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedCoProcessFunction,
    RuntimeContext,
    Trigger,
    TriggerResult,
    WindowFunction,
)
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

CAPACITY = 100
"""How many calls of query 13 are under way at once in each subtask."""
FAN_OUT = 32
"""The highest price of a window is found among so many parts of it first."""
LAST_TIME = 2**63 - 1


def first(record: Any) -> Any:
    return record[0]


class Count(AggregateFunction):
    """Counts records."""

    def create_accumulator(self) -> int:
        """See `AggregateFunction`."""
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        """See `AggregateFunction`."""
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """See `AggregateFunction`."""
        return accumulator

    def merge(self, a: int, b: int) -> int:
        """See `AggregateFunction`."""
        return a + b


class Greatest(AggregateFunction):
    """Keeps the records that have the greatest value in a field: several, if it is the same.

    Args:
        field: The field.
    """

    def __init__(self, field: int) -> None:
        self._field = field

    def create_accumulator(self) -> list[Any]:
        """See `AggregateFunction`."""
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        """See `AggregateFunction`."""
        field = self._field
        if not accumulator or value[field] > accumulator[0][field]:
            return [value]
        if value[field] == accumulator[0][field]:
            accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        """See `AggregateFunction`."""
        return accumulator

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        """See `AggregateFunction`."""
        for value in b:
            a = self.add(value, a)
        return a


class Each(WindowFunction[list[Any], Any, Any, TimeWindow]):
    """Gives the records of an accumulated list one by one."""

    def apply(self, key: Any, window: TimeWindow, inputs: Iterable[list[Any]]) -> Iterator[Any]:
        """See `WindowFunction`."""
        for records in inputs:
            yield from records


def q0(events: Events) -> DataStream:
    """Bids as they are."""
    return events.bids


def in_euros(bid: Any) -> Any:
    price = bid[BID_PRICE] * 908 // 1000
    return bid[BID_AUCTION], bid[BID_BIDDER], price, bid[BID_DATE_TIME], bid[BID_EXTRA]


def q1(events: Events) -> DataStream:
    """Prices in euros."""
    return events.bids.map(in_euros, Types.TUPLE([LONG, LONG, LONG, LONG, TEXT]))


def q2(events: Events) -> DataStream:
    """Bids on some auctions."""
    wanted = events.bids.filter(lambda bid: bid[BID_AUCTION] % 123 == 0)
    return wanted.map(lambda bid: (bid[BID_AUCTION], bid[BID_PRICE]), numbers(2))


def seller_type() -> TypeInformation:
    """The type of query 3's sellers: id, name, city and state."""
    return Types.TUPLE([Types.LONG(), Types.STRING(), Types.STRING(), Types.STRING()])


class ItemsOfSellers(KeyedCoProcessFunction):
    """Joins sellers with their auctions, whoever comes first."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """See `Function`."""
        self._seller = runtime_context.get_state(ValueStateDescriptor("seller", seller_type()))
        self._waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.LONG()))

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        """Takes a seller."""
        self._seller.update(value)
        for auction in self._waiting.get():
            yield *value[1:], auction
        self._waiting.clear()

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        """Takes an auction."""
        seller = self._seller.value()
        if seller is None:
            self._waiting.add(value[1])
        else:
            yield *seller[1:], value[1]


def q3(events: Events) -> DataStream:
    """Auctions of a category whose sellers live in some states."""
    sellers = events.persons.filter(lambda person: person[PERSON_STATE] in {"OR", "ID", "CA"}).map(
        lambda it: (it[PERSON_ID], it[PERSON_NAME], it[PERSON_CITY], it[PERSON_STATE]),
        seller_type(),
    )
    auctions = events.auctions.filter(lambda auction: auction[AUCTION_CATEGORY] == 10).map(
        lambda it: (it[AUCTION_SELLER], it[AUCTION_ID]), numbers(2)
    )
    both = sellers.key_by(first, LONG).connect(auctions.key_by(first, LONG))
    return both.process(ItemsOfSellers(), Types.TUPLE([TEXT, TEXT, TEXT, LONG]))


class WinningBids(KeyedCoProcessFunction):
    """Finds what each auction ends at, when it expires: `(auction, category, seller, expires, price)`."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """See `Function`."""
        # An auction's category, seller, times, and its highest price so far.
        self._auction = runtime_context.get_state(ValueStateDescriptor("auction", numbers(5)))
        self._early = runtime_context.get_list_state(ListStateDescriptor("early bids", numbers(2)))

    def process_element1(self, value: Any, ctx: Any) -> None:
        """Takes an auction: `(id, category, seller, date_time, expires)`."""
        _, category, seller, begin, end = value
        highest = max(
            (price for price, time in self._early.get() if begin <= time <= end), default=0
        )
        self._early.clear()
        self._auction.update((category, seller, begin, end, highest))
        ctx.timer_service().register_event_time_timer(end)

    def process_element2(self, value: Any, ctx: Any) -> None:
        """Takes a bid: `(auction, price, date_time)`."""
        _, price, time = value
        auction = self._auction.value()
        if auction is None:
            # Its auction comes before the watermark passes the bid, or is over.
            self._early.add((price, time))
            ctx.timer_service().register_event_time_timer(time)
        else:
            category, seller, begin, end, highest = auction
            if price > highest and begin <= time <= end:
                self._auction.update((category, seller, begin, end, price))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        """Ends the auction, or forgets bids whose auction is over."""
        auction = self._auction.value()
        if auction is None:
            later = [bid for bid in self._early.get() if bid[1] > timestamp]
            self._early.update(later)
        elif auction[3] == timestamp:
            category, seller, _, end, highest = auction
            self._auction.clear()
            if highest:
                yield ctx.get_current_key(), category, seller, end, highest


def winning_bids(events: Events) -> DataStream:
    auctions = events.auctions.map(
        lambda it: (
            it[AUCTION_ID],
            it[AUCTION_CATEGORY],
            it[AUCTION_SELLER],
            it[AUCTION_DATE_TIME],
            it[AUCTION_EXPIRES],
        ),
        numbers(5),
    )
    bids = events.bids.map(
        lambda it: (it[BID_AUCTION], it[BID_PRICE], it[BID_DATE_TIME]), numbers(3)
    )
    both = (
        events.timed(auctions, 3)
        .key_by(first, LONG)
        .connect(events.timed(bids, 2).key_by(first, LONG))
    )
    return both.process(WinningBids(), numbers(5))


def q4(events: Events) -> DataStream:
    """What the auctions of a category ended at."""
    return (
        winning_bids(events)
        .map(lambda it: (it[1], it[4], 1), numbers(3))
        .key_by(first, LONG)
        .reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]))
    )


class WithEnd(WindowFunction[int, Any, int, TimeWindow]):
    """Puts a count between its key and the end of its window."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[int]) -> Iterator[Any]:
        """See `WindowFunction`."""
        for count in inputs:
            yield key, count, window.end


def q5(events: Events) -> DataStream:
    """The auctions with the most bids in each sliding window."""
    bids = events.bids.map(lambda bid: (bid[BID_AUCTION], bid[BID_DATE_TIME]), numbers(2))
    counts = (
        events.timed(bids, 1)
        .key_by(first, LONG)
        .window(SlidingEventTimeWindows.of(events.window, events.slide))
        .aggregate(Count(), WithEnd(), Types.LONG(), numbers(3))
    )
    return (
        counts.key_by(lambda count: count[2], LONG)
        .window(TumblingEventTimeWindows.of(events.slide))
        .aggregate(Greatest(1), Each(), Types.LIST(numbers(3)), numbers(3))
    )


ENDED = Types.TUPLE([LONG, Types.LIST(numbers(3))])


def latest_ten(a: Any, b: Any) -> Any:
    return a[0], sorted([*a[1], *b[1]])[-10:]


def sum_of_prices(ended: Any) -> Any:
    seller, auctions = ended
    return seller, sum(price for _, _, price in auctions), len(auctions)


def q6(events: Events) -> DataStream:
    """What the last ten auctions of each seller ended at."""
    return (
        winning_bids(events)
        .map(lambda it: (it[2], [(it[3], it[0], it[4])]), ENDED)
        .key_by(first, LONG)
        .reduce(latest_ten)
        .map(sum_of_prices, numbers(3))
    )


def q7(events: Events) -> DataStream:
    """The bids of the highest price in each window."""
    bids = events.bids.map(
        lambda it: (it[BID_AUCTION], it[BID_PRICE], it[BID_BIDDER], it[BID_DATE_TIME]), numbers(4)
    )
    window = TumblingEventTimeWindows.of(events.window)
    kept = Types.LIST(numbers(4))
    return (
        events.timed(bids, 3)
        .key_by(lambda bid: bid[3] % FAN_OUT, LONG)
        .window(window)
        .aggregate(Greatest(1), Each(), kept, numbers(4))
        .key_by(lambda _: 0, LONG)
        .window(window)
        .aggregate(Greatest(1), Each(), kept, numbers(4))
    )


class NewSellers(WindowFunction[Any, Any, int, TimeWindow]):
    """Gives those who both came and opened an auction."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[Any]) -> Iterator[Any]:
        """See `WindowFunction`."""
        for _, name, is_seller, _ in inputs:
            if name and is_seller:
                yield key, name, window.start


def q8(events: Events) -> DataStream:
    """Persons who opened an auction in the window in which they came."""
    seen = Types.TUPLE([LONG, TEXT, Types.BOOLEAN(), LONG])
    persons = events.persons.map(
        lambda it: (it[PERSON_ID], it[PERSON_NAME], False, it[PERSON_DATE_TIME]), seen
    )
    sellers = events.auctions.map(
        lambda it: (it[AUCTION_SELLER], "", True, it[AUCTION_DATE_TIME]), seen
    )
    return (
        events.timed(persons, 3)
        .union(events.timed(sellers, 3))
        .key_by(first, LONG)
        .window(TumblingEventTimeWindows.of(events.window))
        .reduce(
            lambda a, b: (a[0], a[1] or b[1], a[2] or b[2], a[3]),
            NewSellers(),
            Types.TUPLE([LONG, TEXT, LONG]),
        )
    )


class WithBounds(WindowFunction[int, Any, int, TimeWindow]):
    """Puts a count between its key and its window."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[int]) -> Iterator[Any]:
        """See `WindowFunction`."""
        for count in inputs:
            yield key, count, window.start, window.end


def q11(events: Events) -> DataStream:
    """Bids of each bidder's sessions."""
    bids = events.bids.map(lambda bid: (bid[BID_BIDDER], bid[BID_DATE_TIME]), numbers(2))
    return (
        events.timed(bids, 1)
        .key_by(first, LONG)
        .window(EventTimeSessionWindows.with_gap(events.window))
        .aggregate(Count(), WithBounds(), Types.LONG(), numbers(4))
    )


class ProcessingTimeOrEnd(Trigger[Any, TimeWindow]):
    """Fires when the clock has passed the end of a window, or at the end of the input."""

    def on_element(
        self, element: Any, timestamp: int | None, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """See `Trigger`."""
        ctx.register_processing_time_timer(window.max_timestamp())
        ctx.register_event_time_timer(LAST_TIME)
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """See `Trigger`."""
        return TriggerResult.FIRE_AND_PURGE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """See `Trigger`."""
        return TriggerResult.FIRE_AND_PURGE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """See `Trigger`."""

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """See `Trigger`."""
        ctx.delete_processing_time_timer(window.max_timestamp())
        ctx.delete_event_time_timer(LAST_TIME)


class WithKey(WindowFunction[int, Any, int, TimeWindow]):
    """Puts a count behind its key."""

    def apply(self, key: int, window: TimeWindow, inputs: Iterable[int]) -> Iterator[Any]:
        """See `WindowFunction`."""
        for count in inputs:
            yield key, count


def q12(events: Events) -> DataStream:
    """Bids of each bidder in windows of processing time."""
    return (
        events.bids.map(lambda bid: bid[BID_BIDDER], LONG)
        .key_by(lambda bidder: bidder, LONG)
        .window(TumblingProcessingTimeWindows.of(events.window))
        .trigger(ProcessingTimeOrEnd())
        .aggregate(Count(), WithKey(), Types.LONG(), numbers(2))
    )


class LookUp(AsyncFunction[Any, Any]):
    """Asks the service about the auction of a bid.

    Args:
        port: Where the service listens.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._client: LookupClient | None = None

    async def async_invoke(self, value: Any) -> list[Any]:
        """See `AsyncFunction`."""
        client = self._client
        if client is None:
            client = await LookupClient.connect(self._port)
            # Other calls were connecting meanwhile.
            if self._client is None:
                self._client = client
            else:
                client.close()
                client = self._client
        known = await client.ask(value[0] % KEYS)
        return [(*value, known)]

    def close(self) -> None:
        """See `Function`."""
        if self._client is not None:
            self._client.close()


def q13(events: Events) -> DataStream:
    """Bids with what a service knows of their auction."""
    bids = events.bids.map(
        lambda it: (it[BID_AUCTION], it[BID_BIDDER], it[BID_PRICE], it[BID_DATE_TIME]), numbers(4)
    )
    return AsyncDataStream.unordered_wait(
        bids, LookUp(events.port), Time.seconds(60), CAPACITY, numbers(5)
    )


QUERIES: dict[str, Callable[[Events], DataStream]] = {
    query.__name__: query for query in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q11, q12, q13)
}
