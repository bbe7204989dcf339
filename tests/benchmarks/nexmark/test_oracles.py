from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from benchmarks.nexmark.events import AUCTION, BID, KINDS, PERSON, Nexmark
from benchmarks.nexmark.oracles import QUERIES, expected
from hypothesis import given, settings
from hypothesis import strategies as st

Tables = dict[str, pa.Table]


def table_of(fields: tuple[str, ...], rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {
        name: pa.string() if isinstance(rows[0].get(name, ""), str) else pa.int64()
        for name in fields
    }
    filled = [dict.fromkeys(fields, "") | row for row in rows]
    return pa.Table.from_pylist(filled, pa.schema(kinds))


def persons(*rows: tuple[Any, ...]) -> pa.Table:
    """Of (id, name, city, state, date_time)."""
    names = ("id", "name", "city", "state", "date_time")
    return table_of(PERSON, [dict(zip(names, row, strict=True)) for row in rows])


def auctions(*rows: tuple[Any, ...]) -> pa.Table:
    """Of (id, seller, category, date_time, expires)."""
    names = ("id", "seller", "category", "date_time", "expires")
    return table_of(AUCTION, [dict(zip(names, row, strict=True)) for row in rows])


def bids(*rows: tuple[Any, ...]) -> pa.Table:
    """Of (auction, bidder, price, date_time)."""
    names = ("auction", "bidder", "price", "date_time")
    return table_of(BID, [dict(zip(names, row, strict=True)) for row in rows])


def test_query_0_gives_bids_as_they_are() -> None:
    nexmark = Nexmark(2_000)
    assert expected("q0", {"bid": nexmark.table("bid")}) == sorted(nexmark.bids(0, 2_000))


def test_query_1_gives_whole_euros_rounded_down() -> None:
    given = bids((1, 2, 1_000, 5), (1, 2, 999, 6), (1, 2, 1, 7))
    assert expected("q1", {"bid": given}) == [
        (1, 2, 0, 7, ""),
        (1, 2, 907, 6, ""),
        (1, 2, 908, 5, ""),
    ]


def test_query_2_gives_bids_on_every_123rd_auction() -> None:
    given = bids((123, 1, 10, 0), (124, 1, 11, 0), (1_230, 1, 12, 0), (123, 2, 10, 0))
    assert expected("q2", {"bid": given}) == [(123, 10), (123, 10), (1_230, 12)]


def test_query_3_joins_auctions_of_one_category_with_their_sellers_in_three_states() -> None:
    person = persons(
        (1, "Ada", "Bend", "OR", 0),
        (2, "Ben", "Boise", "ID", 0),
        (3, "Cleo", "Los Angeles", "CA", 0),
        (4, "Dora", "Kent", "WA", 0),
    )
    auction = auctions(
        (10, 1, 10, 0, 1),
        (11, 1, 10, 0, 1),
        (12, 1, 11, 0, 1),
        (13, 2, 10, 0, 1),
        (14, 3, 10, 0, 1),
        (15, 4, 10, 0, 1),
        (16, 5, 10, 0, 1),
    )
    assert expected("q3", {"person": person, "auction": auction}) == [
        ("Ada", "Bend", "OR", 10),
        ("Ada", "Bend", "OR", 11),
        ("Ben", "Boise", "ID", 13),
        ("Cleo", "Los Angeles", "CA", 14),
    ]


def test_query_4_sums_the_highest_bids_in_time() -> None:
    auction = auctions((1, 5, 10, 100, 200), (2, 5, 10, 100, 200), (3, 6, 11, 100, 200))
    bid = bids(
        (1, 9, 999, 99),  # before the auction opened
        (1, 9, 30, 100),  # as it opened
        (1, 9, 40, 200),  # as it expired
        (1, 9, 999, 201),
        (2, 9, 7, 150),
        (2, 8, 7, 151),
        (3, 9, 1, 300),  # the auction's only bid is late
    )
    assert expected("q4", {"auction": auction, "bid": bid}) == [(10, 47, 2)]


def test_query_5_keeps_all_of_the_hottest() -> None:
    bid = bids((1, 9, 1, 9_999), (2, 9, 1, 10_000), (2, 9, 1, 11_999))
    assert expected("q5", {"bid": bid}) == [
        (1, 1, 10_000),  # the only one
        (2, 2, 12_000),
        (2, 2, 14_000),
        (2, 2, 16_000),
        (2, 2, 18_000),
        (2, 2, 20_000),
    ]
    tied = bids((1, 9, 1, 0), (2, 9, 1, 1_999), (3, 9, 1, 2_000), (3, 9, 1, 2_000))
    assert expected("q5", {"bid": tied})[:3] == [(1, 1, 2_000), (2, 1, 2_000), (3, 2, 4_000)]


def test_query_6_sums_the_last_ten_to_expire() -> None:
    ended = [(number, 5, 10, 0, 1_000 - number) for number in range(12)]
    auction = auctions(*ended, (99, 5, 10, 0, 5_000), (50, 6, 10, 0, 10), (51, 6, 10, 0, 10))
    bid = bids(*((number, 9, 2**number, 0) for number in range(12)), (50, 9, 3, 0), (51, 9, 4, 0))
    # Seller 5's auctions 10 and 11 expired first; nobody bid for 99.
    assert expected("q6", {"auction": auction, "bid": bid}) == [(5, 2**10 - 1, 10), (6, 7, 2)]


def test_query_6_prefers_the_higher_id_of_auctions_that_expire_together() -> None:
    auction = auctions(*((number, 5, 10, 0, 100) for number in range(11)))
    bid = bids(*((number, 9, 2**number, 0) for number in range(11)))
    assert expected("q6", {"auction": auction, "bid": bid}) == [(5, 2**11 - 2, 10)]


def test_query_7_keeps_all_bids_of_the_highest_price() -> None:
    bid = bids(
        (1, 7, 50, 0),
        (2, 8, 50, 9_999),
        (3, 9, 49, 5_000),
        (4, 9, 10, 10_000),
    )
    assert expected("q7", {"bid": bid}) == [(1, 50, 7, 0), (2, 50, 8, 9_999), (4, 10, 9, 10_000)]


def test_query_8_gives_new_persons_who_sell_in_the_same_window() -> None:
    person = persons(
        (1, "Ada", "", "OR", 10_000),
        (2, "Ben", "", "OR", 19_999),
        (3, "Cleo", "", "OR", 5_000),
    )
    auction = auctions(
        (10, 1, 10, 19_999, 0),
        (11, 1, 10, 12_000, 0),
        (12, 2, 10, 20_000, 0),  # in the next window
        (13, 3, 10, 4_000, 0),  # before its seller, in the same window
    )
    assert expected("q8", {"person": person, "auction": auction}) == [
        (1, "Ada", 10_000),
        (3, "Cleo", 0),
    ]


def test_query_11_parts_sessions_by_pauses_longer_than_the_gap() -> None:
    bid = bids((1, 7, 1, 0), (1, 7, 1, 100), (2, 7, 1, 100), (1, 7, 1, 201), (1, 8, 1, 150))
    assert expected("q11", {"bid": bid}, gap=100) == [
        (7, 1, 201, 301),
        (7, 3, 0, 200),
        (8, 1, 150, 250),
    ]
    assert expected("q11", {"bid": bid}) == [(7, 4, 0, 10_201), (8, 1, 150, 10_150)]


def test_query_12_counts_each_bidders_bids() -> None:
    assert expected("q12", {"bid": bids((1, 7, 1, 0), (2, 7, 1, 1), (1, 8, 1, 2))}) == [
        (7, 2),
        (8, 1),
    ]


def test_query_13_looks_up_the_auction() -> None:
    side = pa.table({"key": [3, 4], "value": [30, 40]})
    bid = bids((10_003, 7, 1, 0), (4, 8, 2, 1))
    assert expected("q13", {"bid": bid, "side": side}) == [(4, 8, 2, 1, 40), (10_003, 7, 1, 0, 30)]


bid_rows = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 5), st.integers(0, 30_000)),
    min_size=1,
    max_size=40,
)
auction_rows = st.lists(
    st.tuples(
        st.integers(1, 3), st.integers(10, 12), st.integers(0, 20_000), st.integers(0, 20_000)
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=40, deadline=None)
@given(rows=bid_rows)
def test_windowed_queries_are_what_a_loop_over_windows_gives(rows: list[tuple[int, ...]]) -> None:
    hottest = []
    for end in range(2_000, 42_000, 2_000):
        found = [auction for auction, _, _, time in rows if end - 10_000 <= time < end]
        counts = {auction: found.count(auction) for auction in found}
        hottest += [
            (auction, count, end)
            for auction, count in counts.items()
            if count == max(counts.values())
        ]
    highest = []
    for start in range(0, 40_000, 10_000):
        inside = [row for row in rows if start <= row[3] < start + 10_000]
        top = max((price for _, _, price, _ in inside), default=None)
        highest += [(row[0], row[2], row[1], row[3]) for row in inside if row[2] == top]
    sessions = []
    for bidder in {row[1] for row in rows}:
        times = sorted(row[3] for row in rows if row[1] == bidder)
        cuts = [place for place, (a, b) in enumerate(pairwise(times), 1) if b - a > 1_000]
        for start, end in pairwise([0, *cuts, len(times)]):
            sessions.append((bidder, end - start, times[start], times[end - 1] + 1_000))
    tables = {"bid": bids(*rows)}
    assert expected("q5", tables) == sorted(hottest)
    assert expected("q7", tables) == sorted(highest)
    assert expected("q11", tables, gap=1_000) == sorted(sessions)


@settings(max_examples=40, deadline=None)
@given(bid=bid_rows, terms=auction_rows)
def test_winning_bids_are_what_a_loop_over_auctions_gives(
    bid: list[tuple[int, ...]], terms: list[tuple[int, ...]]
) -> None:
    opened = [
        (number, seller, category, time, time + length)
        for number, (seller, category, time, length) in enumerate(terms, 1)
    ]
    by_category: dict[int, list[int]] = {}
    by_seller: dict[int, list[int]] = {}
    for number, seller, category, time, expires in sorted(opened, key=lambda a: (a[4], a[0])):
        prices = [row[2] for row in bid if row[0] == number and time <= row[3] <= expires]
        if prices:
            by_category.setdefault(category, []).append(max(prices))
            by_seller.setdefault(seller, []).append(max(prices))
    tables = {"auction": auctions(*opened), "bid": bids(*bid)}
    assert expected("q4", tables) == sorted(
        (category, sum(prices), len(prices)) for category, prices in by_category.items()
    )
    assert expected("q6", tables) == sorted(
        (seller, sum(prices[-10:]), len(prices[-10:])) for seller, prices in by_seller.items()
    )


@pytest.fixture(scope="module")
def generated() -> Tables:
    nexmark = Nexmark(20_000, events_per_second=2_000)
    side = pa.table({"key": range(10_000), "value": range(10_000)})
    return {kind: nexmark.table(kind) for kind in KINDS} | {"side": side}


@pytest.mark.parametrize("query", QUERIES)
def test_generated_events_give_every_query_something_to_do(generated: Tables, query: str) -> None:
    assert len(expected(query, generated)) >= (2 if query == "q7" else 5)


def test_generated_events_have_bids_in_and_out_of_their_auctions_time(generated: Tables) -> None:
    winners = sum(count for _, _, count in expected("q4", generated))
    assert 200 < winners < generated["auction"].num_rows


def test_generated_bidders_pause(generated: Tables) -> None:
    assert len(expected("q11", generated, gap=1_000)) > 1.2 * len(expected("q12", generated))
