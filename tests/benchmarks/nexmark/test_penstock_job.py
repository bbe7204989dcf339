from __future__ import annotations

import pytest
from benchmarks.nexmark.events import (
    AUCTION_DATE_TIME,
    AUCTION_EXPIRES,
    BID_DATE_TIME,
    PERSON_DATE_TIME,
    Nexmark,
)
from benchmarks.nexmark.penstock_job import LiveEvents

NEXMARK = Nexmark(2_000, events_per_second=1_000, disorder=0)
LIVE = LiveEvents(NEXMARK)
DUE = 5_000_000


@pytest.mark.parametrize("number", range(50, 100))
def test_each_number_is_one_event_of_one_kind(number: int) -> None:
    found = [kind((number, DUE)) for kind in (LIVE.persons_of, LIVE.auctions_of, LIVE.bids_of)]
    assert [len(records) for records in found] == [number == 50, 50 < number < 54, number > 53]


def test_a_live_event_is_the_same_but_for_its_time() -> None:
    (live,), (made,) = LIVE.bids_of((77, DUE)), NEXMARK.bids(77, 1)
    assert live[BID_DATE_TIME] == DUE
    assert live[:BID_DATE_TIME] == made[:BID_DATE_TIME]
    (person,) = LIVE.persons_of((50, DUE))
    assert person[PERSON_DATE_TIME] == DUE


def test_a_live_auction_is_open_as_long_as_it_was_to_be() -> None:
    (live,), (made,) = LIVE.auctions_of((51, DUE)), NEXMARK.auctions(51, 1)
    assert live[AUCTION_DATE_TIME] == DUE
    assert live[AUCTION_EXPIRES] - DUE == made[AUCTION_EXPIRES] - made[AUCTION_DATE_TIME]
