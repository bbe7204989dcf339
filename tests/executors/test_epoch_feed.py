from __future__ import annotations

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.executors.epoch_feed import EpochFeed, EpochResult


def test_gives_each_result_once_and_in_order() -> None:
    feed = EpochFeed()
    results = [EpochResult(EpochRecord(number)) for number in range(3)]
    for result in results:
        feed.put(result)

    assert [feed.next() for _ in range(4)] == [*results, None]
