from __future__ import annotations

import pytest
from benchmarks.nexmark.events import GROUP, Nexmark
from benchmarks.nexmark.one_by_one import OneByOne

NEXMARK = Nexmark(4_000)


@pytest.mark.parametrize("kind", ["persons_of", "auctions_of", "bids_of"])
def test_events_come_as_they_do_in_chunks(kind: str) -> None:
    single = getattr(OneByOne(NEXMARK), kind)
    whole = getattr(NEXMARK, kind)
    for chunk in (2, 0, 3):
        numbers = range(chunk * 1_000, (chunk + 1) * 1_000)
        assert [event for number in numbers for event in single(number)] == whole(chunk)


@pytest.mark.parametrize("place", range(GROUP))
def test_a_number_is_one_event_of_one_kind(place: int) -> None:
    kinds = ("persons_of", "auctions_of", "bids_of")
    maker = OneByOne(NEXMARK)
    found = [getattr(maker, kind)(GROUP + place) for kind in kinds]
    assert [len(events) for events in found] == [place == 0, 0 < place < 4, place >= 4]


def test_kinds_do_not_disturb_each_other() -> None:
    maker = OneByOne(NEXMARK)
    found = [maker.persons_of(0), maker.auctions_of(1), maker.persons_of(50), maker.bids_of(54)]
    assert [events[0] for events in found] == [
        NEXMARK.persons_of(0)[0],
        NEXMARK.auctions_of(0)[0],
        NEXMARK.persons_of(0)[1],
        NEXMARK.bids_of(0)[46],
    ]
