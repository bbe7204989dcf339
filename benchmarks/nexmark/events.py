"""Nexmark's events: persons, auctions and bids of an auction house, made from their numbers.

Event `n` is the same event whoever makes it, in chunks of whatever size: everything about it is a hash
of the seed and `n`. Of 50 events in a row the first is a person, the next 3 are auctions, the other 46
are bids. A query makes only the kinds that it reads:

    nexmark = Nexmark(events=1_000_000)
    source = NumberSequenceSource(0, nexmark.chunks - 1)
    bids = env.from_source(source, ...).flat_map(nexmark.bids_of)

Records are plain tuples; `PERSON`, `AUCTION` and `BID` name their fields, the constants like `BID_PRICE`
are their places. Times are milliseconds.
"""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import dataclass
from functools import cache
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    import pyarrow as pa

    Numbers = npt.NDArray[np.int64]
    Hashes = npt.NDArray[np.uint64]

Record = tuple[Any, ...]

PERSON = ("id", "name", "email", "credit_card", "city", "state", "date_time", "extra")
PERSON_ID, PERSON_NAME, PERSON_EMAIL, PERSON_CREDIT_CARD = 0, 1, 2, 3
PERSON_CITY, PERSON_STATE, PERSON_DATE_TIME, PERSON_EXTRA = 4, 5, 6, 7

AUCTION = (
    "id",
    "item_name",
    "description",
    "initial_bid",
    "reserve",
    "date_time",
    "expires",
    "seller",
    "category",
    "extra",
)
AUCTION_ID, AUCTION_ITEM_NAME, AUCTION_DESCRIPTION, AUCTION_INITIAL_BID, AUCTION_RESERVE = range(5)
AUCTION_DATE_TIME, AUCTION_EXPIRES, AUCTION_SELLER, AUCTION_CATEGORY, AUCTION_EXTRA = range(5, 10)

BID = ("auction", "bidder", "price", "channel", "url", "date_time", "extra")
BID_AUCTION, BID_BIDDER, BID_PRICE, BID_CHANNEL, BID_URL, BID_DATE_TIME, BID_EXTRA = range(7)

GROUP = 50
"""So many events in a row hold one person, 3 auctions and 46 bids."""
CHUNK = 1_000
"""Events in a chunk, of all kinds."""
START = 1_700_000_000_000
"""The time of the first event, unless another is asked for."""

FIRST_ID = 1_000
FIRST_CATEGORY = 10
CATEGORIES = 5
HOT_EVERY = 100
"""Among so many auctions, or persons, one is hot."""
IN_FLIGHT = 100
"""Cold bids go to one of so many newest auctions."""
ACTIVE = 1_000
"""Cold bidders and sellers are of so many newest persons."""
PRICES = 4_096
CHANNELS = 10_000
HOT_CHANNELS = 4
TEXTS = 1_024
CITIES = (
    ("Phoenix", "AZ"),
    ("Tucson", "AZ"),
    ("Los Angeles", "CA"),
    ("San Francisco", "CA"),
    ("Boise", "ID"),
    ("Nampa", "ID"),
    ("Portland", "OR"),
    ("Bend", "OR"),
    ("Seattle", "WA"),
    ("Redmond", "WA"),
    ("Cheyenne", "WY"),
    ("Laramie", "WY"),
)


@dataclass(frozen=True)
class Nexmark:
    """Makes the events of one run.

    Args:
        events: How many events there are, of all kinds; a multiple of `CHUNK` times `readers`.
        seed: Other seeds, other events.
        events_per_second: Of all kinds, in event time.
        disorder: By how many milliseconds at most an event is earlier than one with a lower number:
            the bound that a watermark has to wait for. 0 makes times ascend.
        start: The time of the first event in milliseconds.
        readers: How many readers share the numbers of the chunks.
    """

    events: int
    seed: int = 0
    events_per_second: int = 10_000
    disorder: int = 1_000
    start: int = START
    readers: int = 2

    def __post_init__(self) -> None:
        if self.events % (CHUNK * self.readers):
            raise ValueError(f"events must be a multiple of {CHUNK} * {self.readers}")

    @property
    def chunks(self) -> int:
        """How many chunks of `CHUNK` events there are."""
        return self.events // CHUNK

    @property
    def longest_auction(self) -> int:
        """For how many milliseconds an auction is open at most: about as long as bids come for it."""
        newest = IN_FLIGHT * GROUP * 1_000 // (3 * self.events_per_second)
        return 2 * (newest + self.disorder) + 1

    def first_of(self, number: int) -> int:
        """The number of the first event in a chunk.

        A source of numbers gives every reader a range of its own. Here each range takes every
        `readers`-th piece of the run, so that all readers go through all of the time together.
        """
        reader, place = divmod(number, self.chunks // self.readers)
        return (place * self.readers + reader) * CHUNK

    def persons_of(self, number: int) -> list[Record]:
        """The persons of a chunk."""
        return self.persons(self.first_of(number), CHUNK)

    def auctions_of(self, number: int) -> list[Record]:
        """The auctions of a chunk."""
        return self.auctions(self.first_of(number), CHUNK)

    def bids_of(self, number: int) -> list[Record]:
        """The bids of a chunk."""
        return self.bids(self.first_of(number), CHUNK)

    def persons(self, first: int, count: int) -> list[Record]:
        """The persons among `count` events from event `first` on, in the order of their numbers."""
        return _tuples(_persons(self, first, count))

    def auctions(self, first: int, count: int) -> list[Record]:
        """The auctions among `count` events from event `first` on, in the order of their numbers."""
        return _tuples(_auctions(self, first, count))

    def bids(self, first: int, count: int) -> list[Record]:
        """The bids among `count` events from event `first` on, in the order of their numbers."""
        return _tuples(_bids(self, first, count))

    def table(self, kind: str, first: int = 0, count: int | None = None) -> pa.Table:
        """The events of a kind (person, auction or bid) as an Arrow table; by default of all events."""
        names, columns_of = KINDS[kind]
        columns = columns_of(self, first, self.events if count is None else count)
        return _table(names, columns)


class _Texts(NamedTuple):
    """A column of texts: the name of a pool, and each record's place in it."""

    pool: str
    places: Numbers


_Columns = list["Numbers | _Texts"]


def _persons(nexmark: Nexmark, first: int, count: int) -> _Columns:
    numbers = _numbers(first, count, 0, 1)
    hashes = _hashes(nexmark.seed, "person", numbers)
    account = _below(hashes, 16, TEXTS)
    city = _below(hashes, 32, len(CITIES))
    return [
        FIRST_ID + numbers // GROUP,
        _Texts("name", _below(hashes, 0, TEXTS)),
        _Texts("email", account),
        _Texts("credit_card", account),
        _Texts("city", city),
        _Texts("state", city),
        _times(nexmark, numbers),
        _Texts("person_extra", _below(hashes, 48, TEXTS)),
    ]


def _auctions(nexmark: Nexmark, first: int, count: int) -> _Columns:
    numbers = _numbers(first, count, 1, 3)
    hashes = _hashes(nexmark.seed, "auction", numbers)
    more = _hashes(nexmark.seed, "terms", numbers)
    texts = _hashes(nexmark.seed, "item", numbers)
    group = numbers // GROUP
    initial_bid = _prices(hashes)
    opened = _times(nexmark, numbers)
    item = _below(texts, 0, TEXTS)
    return [
        FIRST_ID + group * 3 + numbers % GROUP - 1,
        _Texts("item_name", item),
        _Texts("description", item),
        initial_bid,
        initial_bid + _prices(more),
        opened,
        opened + 1 + _below(more, 48, nexmark.longest_auction),
        FIRST_ID + _person(hashes, group, 0),
        FIRST_CATEGORY + _below(texts, 16, CATEGORIES),
        _Texts("auction_extra", _below(texts, 32, TEXTS)),
    ]


def _bids(nexmark: Nexmark, first: int, count: int) -> _Columns:
    numbers = _numbers(first, count, 4, 46)
    hashes = _hashes(nexmark.seed, "bid", numbers)
    more = _hashes(nexmark.seed, "choice", numbers)
    group = numbers // GROUP
    last = group * 3 + 2
    auction = last - _below(more, 0, np.minimum(last + 1, IN_FLIGHT))
    auction = np.where(_is_hot(more, 16, 2), last // HOT_EVERY * HOT_EVERY, auction)
    channel = _below(more, 32, CHANNELS)
    channel = np.where(_is_hot(more, 18, 2), channel % HOT_CHANNELS, channel)
    return [
        FIRST_ID + auction,
        FIRST_ID + _person(hashes, group, 1),
        _prices(hashes),
        _Texts("channel", channel),
        _Texts("url", channel),
        _times(nexmark, numbers),
        _Texts("bid_extra", _below(more, 48, TEXTS)),
    ]


KINDS: dict[str, tuple[tuple[str, ...], Callable[[Nexmark, int, int], _Columns]]] = {
    "person": (PERSON, _persons),
    "auction": (AUCTION, _auctions),
    "bid": (BID, _bids),
}


def _numbers(first: int, count: int, offset: int, share: int) -> Numbers:
    """The numbers, from `first` on, of events at places `offset` to `offset + share` of their group."""

    def before(number: int) -> int:
        group, place = divmod(number, GROUP)
        return group * share + min(max(place - offset, 0), share)

    ordinals = np.arange(before(first), before(first + count), dtype=np.int64)
    return ordinals // share * GROUP + offset + ordinals % share


@cache
def _key(seed: int, stream: str) -> int:
    digest = hashlib.blake2b(f"{seed} {stream}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _hashes(seed: int, stream: str, numbers: Numbers) -> Hashes:
    """64 random bits for each number, by the finaliser of splitmix64."""
    bits = numbers.astype(np.uint64)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits += np.uint64(_key(seed, stream))
    bits ^= bits >> np.uint64(30)
    bits *= np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(27)
    bits *= np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits


def _below(hashes: Hashes, shift: int, limit: int | Numbers) -> Numbers:
    """Numbers from 0 to `limit`, without it, of 16 bits from bit `shift` on."""
    bits = ((hashes >> np.uint64(shift)) & np.uint64(0xFFFF)).view(np.int64)
    return bits * limit >> 16


def _is_hot(hashes: Hashes, shift: int, one_in: int) -> npt.NDArray[np.bool_]:
    """All but one in `one_in` (a power of two)."""
    return ((hashes >> np.uint64(shift)) & np.uint64(one_in - 1)).astype(np.bool_)


def _person(hashes: Hashes, group: Numbers, hot: int) -> Numbers:
    """Persons who exist by then: mostly the `hot`-th of the newest hundred, else a recent one."""
    hottest = np.minimum(group // HOT_EVERY * HOT_EVERY + hot, group)
    recent = group - _below(hashes, 48, np.minimum(group + 1, ACTIVE))
    return np.where(_is_hot(hashes, 32, 4), hottest, recent)


def _times(nexmark: Nexmark, numbers: Numbers) -> Numbers:
    times = nexmark.start + numbers * 1_000 // nexmark.events_per_second
    if nexmark.disorder:
        hashes = _hashes(nexmark.seed, "time", numbers)
        times += _below(hashes, 0, nexmark.disorder + 1)
    return times


@cache
def _price_steps() -> Numbers:
    """Prices from 100 to 100 million cents, each by the same factor above the one before."""
    # Python's own power: NumPy's differs in the last bit between versions.
    return np.array([round(10 ** (2 + 6 * step / PRICES)) for step in range(PRICES + 1)])


def _prices(hashes: Hashes) -> Numbers:
    steps = _price_steps()
    bits = (hashes & np.uint64(0xFFFFFFFF)).view(np.int64)
    step = bits >> 20
    low = steps[step]
    prices: Numbers = low + ((steps[step + 1] - low) * (bits & 0xFFFFF) >> 20)
    return prices


def _hex(name: str, length: int) -> list[str]:
    return [
        hashlib.shake_256(f"{name} {place}".encode()).hexdigest(length // 2)
        for place in range(TEXTS)
    ]


def _digits(name: str) -> list[str]:
    numbers = [str(int(text, 16) + 10**16)[-16:] for text in _hex(name, 16)]
    return [" ".join(text[at : at + 4] for at in range(0, 16, 4)) for text in numbers]


def _channels() -> list[str]:
    return ["Apple", "Baidu", "Facebook", "Google"] + [
        f"channel-{place}" for place in range(HOT_CHANNELS, CHANNELS)
    ]


FIRST_NAMES = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Finn", "Gala", "Hugo")
LAST_NAMES = ("Abt", "Blum", "Carr", "Diaz", "Eco", "Ford", "Gray", "Hall")
POOLS: dict[str, Callable[[], list[str]]] = {
    "name": lambda: [
        f"{FIRST_NAMES[place % 8]} {LAST_NAMES[place // 8 % 8]} {place // 64}"
        for place in range(TEXTS)
    ],
    "email": lambda: [f"{text[:7]}@{text[7:]}.com" for text in _hex("email", 12)],
    "credit_card": lambda: _digits("credit_card"),
    "city": lambda: [city for city, _ in CITIES],
    "state": lambda: [state for _, state in CITIES],
    "person_extra": lambda: _hex("person", 120),
    "item_name": lambda: _hex("item", 20),
    "description": lambda: _hex("description", 100),
    "auction_extra": lambda: _hex("auction", 300),
    "channel": _channels,
    "url": lambda: [
        f"https://auctions.example/{text}/item?channel={place}"
        for place, text in enumerate(_hex("url", 6) * (CHANNELS // TEXTS + 1))
    ][:CHANNELS],
    "bid_extra": lambda: _hex("bid", 40),
}
"""The texts that columns choose from; average records are of about 200, 500 and 100 bytes."""


@cache
def _pool(name: str) -> npt.NDArray[np.object_]:
    return np.array(POOLS[name](), dtype=object)


@cache
def _arrow_pool(name: str) -> Any:
    import pyarrow as pa

    return pa.array(POOLS[name](), pa.string())


def _tuples(columns: _Columns) -> list[Record]:
    lists = [
        (_pool(column.pool)[column.places] if isinstance(column, _Texts) else column).tolist()
        for column in columns
    ]
    return list(zip(*lists, strict=True))


def _table(names: tuple[str, ...], columns: _Columns) -> pa.Table:
    import pyarrow as pa

    arrays = [
        _arrow_pool(column.pool).take(pa.array(column.places))
        if isinstance(column, _Texts)
        else pa.array(column)
        for column in columns
    ]
    return pa.table(arrays, names=list(names))


def _measured(nexmark: Nexmark, make: Callable[[int], object]) -> float:
    """Events per second of one core's time."""
    make(0)
    start = process_time()
    for number in range(nexmark.chunks):
        make(number)
    return nexmark.events / (process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast Nexmark's events are made.")
    parser.add_argument("--events", type=int, default=5_000_000)
    nexmark = Nexmark(parser.parse_args().events)

    def tuples(number: int) -> None:
        nexmark.persons_of(number)
        nexmark.auctions_of(number)
        nexmark.bids_of(number)

    def tables(number: int) -> None:
        for kind in KINDS:
            nexmark.table(kind, nexmark.first_of(number), CHUNK)

    print(f"tuples: {_measured(nexmark, tuples):,.0f} events/s of one core")
    print(f"Arrow tables: {_measured(nexmark, tables):,.0f} events/s of one core")


if __name__ == "__main__":
    main()
