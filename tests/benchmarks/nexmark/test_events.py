from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from benchmarks.nexmark.events import (
    ACTIVE,
    AUCTION,
    AUCTION_CATEGORY,
    AUCTION_DATE_TIME,
    AUCTION_EXPIRES,
    AUCTION_ID,
    AUCTION_INITIAL_BID,
    AUCTION_RESERVE,
    AUCTION_SELLER,
    BID,
    BID_AUCTION,
    BID_BIDDER,
    BID_CHANNEL,
    BID_DATE_TIME,
    BID_PRICE,
    BID_URL,
    CHUNK,
    CITIES,
    IN_FLIGHT,
    KINDS,
    PERSON,
    PERSON_CITY,
    PERSON_DATE_TIME,
    PERSON_ID,
    PERSON_STATE,
    START,
    Nexmark,
)
from hypothesis import given
from hypothesis import strategies as st

EVENTS = 20_000
NEXMARK = Nexmark(EVENTS, seed=3)
Make = Callable[[Nexmark, int, int], list[tuple[Any, ...]]]
MAKERS: dict[str, Make] = {
    "person": Nexmark.persons,
    "auction": Nexmark.auctions,
    "bid": Nexmark.bids,
}


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 2**70),
    first=st.integers(0, 10**9),
    sizes=st.lists(st.integers(0, 130), max_size=6),
    disorder=st.sampled_from([0, 1, 1_000]),
)
def test_events_do_not_depend_on_the_chunks_they_are_made_in(
    kind: str, seed: int, first: int, sizes: list[int], disorder: int
) -> None:
    nexmark = Nexmark(EVENTS, seed=seed, disorder=disorder)
    make = MAKERS[kind]
    parts = []
    at = first
    for size in sizes:
        parts += make(nexmark, at, size)
        at += size
    assert parts == make(nexmark, first, sum(sizes))


@given(first=st.integers(0, 10**6))
def test_fifty_in_a_row_are_one_person_three_auctions_and_46_bids(first: int) -> None:
    counts = [len(make(NEXMARK, first, 50)) for make in MAKERS.values()]
    assert counts == [1, 3, 46]


def test_kinds_come_in_the_order_person_auctions_bids() -> None:
    assert len(NEXMARK.persons(100, 1)) == 1
    assert len(NEXMARK.auctions(101, 3)) == 3
    assert len(NEXMARK.bids(104, 46)) == 46


def test_ids_count_up() -> None:
    assert [p[PERSON_ID] for p in NEXMARK.persons(0, EVENTS)] == list(range(1_000, 1_400))
    assert [a[AUCTION_ID] for a in NEXMARK.auctions(0, EVENTS)] == list(range(1_000, 2_200))


@given(seed=st.integers(0, 2**64), group=st.one_of(st.integers(0, 120), st.integers(0, 10**7)))
def test_events_refer_to_what_came_before(seed: int, group: int) -> None:
    nexmark = Nexmark(EVENTS, seed=seed)
    newest_person, newest_auction = 1_000 + group, 1_000 + 3 * group + 2
    for auction in nexmark.auctions(group * 50, 50):
        assert 1_000 <= auction[AUCTION_SELLER] <= newest_person
        assert newest_person - auction[AUCTION_SELLER] < ACTIVE
    for bid in nexmark.bids(group * 50, 50):
        assert 1_000 <= bid[BID_BIDDER] <= newest_person
        assert newest_person - bid[BID_BIDDER] < ACTIVE
        assert 1_000 <= bid[BID_AUCTION] <= newest_auction
        assert newest_auction - bid[BID_AUCTION] < IN_FLIGHT


def columns(kind: str, first: int, count: int, *places: int) -> list[Any]:
    """Columns of many events: a table of them is made much faster than tuples, and holds the same."""
    table = NEXMARK.table(kind, first, count)
    return [table.column(place).to_numpy() for place in places]


def test_half_of_the_bids_are_for_hot_auctions_and_three_quarters_by_hot_persons() -> None:
    auctions, bidders = columns("bid", 10**6, 3 * 10**5, BID_AUCTION, BID_BIDDER)
    # The cold choices fall on a hot one by chance: one in a hundred.
    assert (auctions % 100 == 0).mean() == pytest.approx(0.505, abs=0.003)
    # In one group of a hundred the hot bidder is still to come.
    assert (bidders % 100 == 1).mean() == pytest.approx(0.745, abs=0.003)
    (sellers,) = columns("auction", 10**6, 3 * 10**5, AUCTION_SELLER)
    assert (sellers % 100 == 0).mean() == pytest.approx(0.7525, abs=0.005)


@given(
    seed=st.integers(0, 2**64),
    disorder=st.integers(0, 5_000),
    events_per_second=st.sampled_from([1, 50, 999, 10_000, 10**6]),
)
def test_no_event_is_earlier_than_an_earlier_one_by_more_than_the_disorder(
    seed: int, disorder: int, events_per_second: int
) -> None:
    nexmark = Nexmark(EVENTS, seed, events_per_second, disorder)
    for make, place in [
        (nexmark.persons, PERSON_DATE_TIME),
        (nexmark.auctions, AUCTION_DATE_TIME),
        (nexmark.bids, BID_DATE_TIME),
    ]:
        latest = START
        for event in make(500, 1_000):
            assert latest - event[place] <= disorder
            latest = max(latest, event[place])


def test_disorder_is_really_there_and_reaches_its_bound() -> None:
    times = [bid[BID_DATE_TIME] for bid in Nexmark(EVENTS, disorder=100).bids(0, EVENTS)]
    slots = [
        START + number // 10
        for number in range(EVENTS)
        if number % 50 >= 4  # those of bids
    ]
    delays = {time - slot for time, slot in zip(times, slots, strict=True)}
    assert delays == set(range(101))


def test_event_time_goes_as_fast_as_asked_for() -> None:
    nexmark = Nexmark(EVENTS, events_per_second=500, disorder=0, start=70)
    assert nexmark.persons(0, 1)[0][PERSON_DATE_TIME] == 70
    assert nexmark.persons(500, 1)[0][PERSON_DATE_TIME] == 1_070
    assert nexmark.bids(504, 1)[0][BID_DATE_TIME] == 1_078


def test_auctions_stay_open_for_some_time() -> None:
    begins, ends = columns("auction", 0, 10**6, AUCTION_DATE_TIME, AUCTION_EXPIRES)
    lengths = ends - begins
    assert lengths.min() >= 1
    assert NEXMARK.longest_auction * 0.99 < lengths.max() <= NEXMARK.longest_auction


def test_values_are_those_of_nexmark() -> None:
    persons = NEXMARK.persons(0, 10**5)
    assert {person[PERSON_STATE] for person in persons} == {"AZ", "CA", "ID", "OR", "WA", "WY"}
    assert {(person[PERSON_CITY], person[PERSON_STATE]) for person in persons} == set(CITIES)
    auctions = NEXMARK.auctions(0, 10**5)
    assert {auction[AUCTION_CATEGORY] for auction in auctions} == set(range(10, 15))
    assert all(auction[AUCTION_RESERVE] > auction[AUCTION_INITIAL_BID] for auction in auctions)
    bids = NEXMARK.bids(0, 10**5)
    hot = {"Apple", "Baidu", "Facebook", "Google"}
    assert sum(bid[BID_CHANNEL] in hot for bid in bids) / len(bids) == pytest.approx(0.5, abs=0.01)
    assert len({(bid[BID_CHANNEL], bid[BID_URL]) for bid in bids}) == len(
        {bid[BID_CHANNEL] for bid in bids}
    )


def test_prices_spread_evenly_over_the_powers_of_ten() -> None:
    (prices,) = columns("bid", 0, 10**5, BID_PRICE)
    assert prices.min() >= 100
    assert prices.max() < 10**8
    for power in range(2, 8):
        share = ((prices >= 10**power) & (prices < 10 ** (power + 1))).mean()
        assert share == pytest.approx(1 / 6, abs=0.01)


def test_another_seed_gives_other_events() -> None:
    assert NEXMARK.bids(0, 50) != Nexmark(EVENTS, seed=4).bids(0, 50)


def test_every_interpreter_and_numpy_makes_the_same_events() -> None:
    made = [make(Nexmark(EVENTS), 0, EVENTS) for make in MAKERS.values()]
    digest = hashlib.sha256(repr(made).encode()).hexdigest()
    assert digest == "8a10ca587ecb02d4b509a079288c516a52697a3b327495cd891f2e170eac7c3d"


@pytest.mark.parametrize(
    ("kind", "fields", "make"),
    [
        ("person", PERSON, Nexmark.persons),
        ("auction", AUCTION, Nexmark.auctions),
        ("bid", BID, Nexmark.bids),
    ],
)
def test_tables_hold_the_same_as_the_tuples(kind: str, fields: tuple[str, ...], make: Make) -> None:
    table = NEXMARK.table(kind, 130, 777)
    assert table.column_names == list(fields)
    assert [tuple(row.values()) for row in table.to_pylist()] == make(NEXMARK, 130, 777)
    assert NEXMARK.table(kind).num_rows == len(make(NEXMARK, 0, EVENTS))


def test_records_are_plain_numbers_and_texts() -> None:
    for make in MAKERS.values():
        assert {type(value) for record in make(NEXMARK, 0, 50) for value in record} == {int, str}


@given(readers=st.integers(1, 5), pieces=st.integers(1, 10))
def test_every_reader_goes_through_all_of_the_time_and_none_is_left_out(
    readers: int, pieces: int
) -> None:
    nexmark = Nexmark(readers * pieces * CHUNK, readers=readers)
    firsts = [nexmark.first_of(number) for number in range(nexmark.chunks)]
    assert sorted(firsts) == list(range(0, nexmark.events, CHUNK))
    for reader in range(readers):
        own = firsts[reader * pieces : (reader + 1) * pieces]
        assert own == list(range(reader * CHUNK, nexmark.events, readers * CHUNK))


def test_chunks_are_of_the_events_they_say() -> None:
    first = NEXMARK.first_of(11)
    assert first == 3 * CHUNK
    assert NEXMARK.persons_of(11) == NEXMARK.persons(first, CHUNK)
    assert NEXMARK.auctions_of(11) == NEXMARK.auctions(first, CHUNK)
    assert NEXMARK.bids_of(11) == NEXMARK.bids(first, CHUNK)


def test_events_that_fill_no_whole_chunks_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 1000 \\* 2"):
        Nexmark(3_000)


def test_it_travels_small() -> None:
    sent = pickle.dumps(NEXMARK)
    assert len(sent) < 200
    assert pickle.loads(sent) == NEXMARK
