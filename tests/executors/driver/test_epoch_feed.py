from __future__ import annotations

import threading

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.executors.driver.epoch_feed import EpochFeed, EpochResult


def test_gives_each_result_once_and_in_order() -> None:
    feed = EpochFeed()
    results = [EpochResult(EpochRecord(number)) for number in range(3)]
    for result in results:
        feed.put(result)

    assert [feed.next() for _ in range(4)] == [*results, None]


def test_whoever_waits_can_be_woken() -> None:
    feed = EpochFeed()
    waiter = threading.Thread(target=feed.next, args=(60,))
    waiter.start()

    feed.wake()
    waiter.join(10)

    assert not waiter.is_alive()
