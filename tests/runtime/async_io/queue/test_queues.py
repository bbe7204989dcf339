"""Both queues, by themselves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.async_io.emitter import Emitter
from penstock.runtime.async_io.queue.entries import (
    StatusQueueEntry,
    StreamElementQueueEntry,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
)
from penstock.runtime.async_io.queue.ordered_stream_element_queue import OrderedStreamElementQueue
from penstock.runtime.async_io.queue.stream_element_queue import StreamElementQueue
from penstock.runtime.async_io.queue.unordered_stream_element_queue import (
    UnorderedStreamElementQueue,
)
from penstock.runtime.exchange.elements import StreamRecord, Watermark, WatermarkStatus
from penstock.testing.captured_output import CapturedOutput

KINDS: list[Any] = [OrderedStreamElementQueue, UnorderedStreamElementQueue]


def nobody_waits() -> NoReturn:
    raise AssertionError("nothing is to be waited for")


def record(name: Any, timestamp: int | None = None) -> StreamRecordQueueEntry:
    return StreamRecordQueueEntry(name, timestamp, (b"", 0))


def done(entry: StreamRecordQueueEntry) -> None:
    entry.complete([entry.value])


class Driven:
    """A queue, and all that came out of it."""

    def __init__(self, kind: Callable[..., StreamElementQueue], capacity: int = 100) -> None:
        self.queue = kind(capacity, nobody_waits)
        self._output = CapturedOutput()
        self._emitter = Emitter(self.queue, self._output)

    def emitted(self) -> list[Any]:
        self._emitter.emit_completed()
        found, self._output.main = self._output.main, []
        return [
            element.value
            if isinstance(element, StreamRecord)
            else f"w{element.timestamp}"
            if isinstance(element, Watermark)
            else element
            for element in found
        ]


def put_the_example(queue: StreamElementQueue) -> dict[str, StreamRecordQueueEntry]:
    """Put in w1, r1, r2, r3, w2, r4."""
    records = {name: record(name) for name in ("r1", "r2", "r3", "r4")}
    first, second = WatermarkQueueEntry(1), WatermarkQueueEntry(2)
    for entry in (first, records["r1"], records["r2"], records["r3"], second, records["r4"]):
        assert queue.try_put(entry)
    return records


def test_order_is_that_of_coming_if_it_is_kept() -> None:
    driven = Driven(OrderedStreamElementQueue)
    records = put_the_example(driven.queue)
    assert driven.emitted() == ["w1"]
    done(records["r4"])
    done(records["r2"])
    assert driven.emitted() == []
    done(records["r1"])
    assert driven.emitted() == ["r1", "r2"]
    done(records["r3"])
    assert driven.emitted() == ["r3", "w2", "r4"]
    assert driven.queue.is_empty()


def test_between_watermarks_order_is_that_of_completion_if_it_is_not_kept() -> None:
    driven = Driven(UnorderedStreamElementQueue)
    records = put_the_example(driven.queue)
    assert driven.emitted() == ["w1"]
    done(records["r4"])
    assert driven.emitted() == []
    done(records["r3"])
    assert driven.emitted() == ["r3"]
    done(records["r1"])
    assert driven.emitted() == ["r1"]
    done(records["r2"])
    assert driven.emitted() == ["r2", "w2", "r4"]
    assert driven.queue.is_empty()


@pytest.mark.parametrize("order", [*itertools.permutations(["r1", "r2", "r3", "r4"])])
@pytest.mark.parametrize("kind", KINDS)
def test_the_example_in_every_order_of_completion(
    kind: Callable[..., StreamElementQueue], order: tuple[str, ...]
) -> None:
    driven = Driven(kind)
    records = put_the_example(driven.queue)
    found = []
    for name in order:
        done(records[name])
        found += driven.emitted()
    between = [name for name in order if name != "r4"]
    middle = ["r1", "r2", "r3"] if kind is OrderedStreamElementQueue else between
    assert found == ["w1", *middle, "w2", "r4"]


@pytest.mark.parametrize("kind", KINDS)
def test_watermarks_take_room(kind: Callable[..., StreamElementQueue]) -> None:
    queue = kind(2, nobody_waits)
    first = record("r1")
    assert queue.try_put(first)
    assert queue.try_put(WatermarkQueueEntry(1))
    assert not queue.try_put(record("r2"))
    assert queue.size() == len(queue.values()) == 2
    done(first)
    assert queue.poll() is first
    assert queue.try_put(record("r2"))


@pytest.mark.parametrize("kind", KINDS)
def test_put_makes_room_as_often_as_needed(kind: Callable[..., StreamElementQueue]) -> None:
    queue = kind(1, nobody_waits)
    first, second = record("r1"), record("r2")
    queue.put(first, nobody_waits)
    turns: Iterator[Callable[[], Any]] = iter([lambda: None, lambda: done(first), queue.poll])

    def take_a_turn() -> None:
        next(turns)()

    queue.put(second, take_a_turn)
    assert queue.values() == [second]


@pytest.mark.parametrize("kind", KINDS)
def test_peek_and_poll_wait_until_the_next_is_done(kind: Callable[..., StreamElementQueue]) -> None:
    entry = record("r1")
    turns: Iterator[Callable[[], Any]] = iter([lambda: None, lambda: done(entry)])

    def take_a_turn() -> None:
        next(turns)()

    queue = kind(3, take_a_turn)
    assert queue.try_put(entry)
    assert queue.peek_blockingly() is entry
    assert queue.size() == 1
    assert queue.poll() is entry
    assert queue.is_empty()


@pytest.mark.parametrize("kind", KINDS)
def test_watermarks_that_follow_each_other(kind: Callable[..., StreamElementQueue]) -> None:
    driven = Driven(kind)
    first, last = record("r1"), record("r2")
    entries: list[StreamElementQueueEntry] = [first, WatermarkQueueEntry(1), WatermarkQueueEntry(2)]
    for entry in [*entries, StatusQueueEntry(WatermarkStatus.IDLE), last]:
        driven.queue.try_put(entry)
    done(last)
    assert driven.emitted() == []
    done(first)
    assert driven.emitted() == ["r1", "w1", "w2", WatermarkStatus.IDLE, "r2"]


def test_an_unordered_queue_stays_small() -> None:
    queue = UnorderedStreamElementQueue(10, nobody_waits)
    for number in range(1000):
        queue.try_put(WatermarkQueueEntry(number))
        queue.poll()
    assert len(queue._segments) <= 2


def test_what_is_awaited() -> None:
    for kind, expected in zip(KINDS, ["r1", "r2"], strict=True):
        queue = kind(10, nobody_waits)
        assert queue.awaited() is None
        entries = [record("r1"), record("r2"), record("r3")]
        queue.try_put(entries[0])
        queue.try_put(entries[1])
        queue.try_put(WatermarkQueueEntry(1))
        queue.try_put(entries[2])
        found = queue.awaited()
        assert isinstance(found, StreamRecordQueueEntry)
        assert found.value == expected


def test_done_entries_that_are_put_in_again_come_first() -> None:
    queue = UnorderedStreamElementQueue(10, nobody_waits)
    entries = [record("r1"), record("r2")]
    done(entries[1])
    for entry in entries:
        queue.try_put(entry)
    assert queue.values() == [entries[1], entries[0]]


def test_the_first_completion_counts() -> None:
    entry = record("r1")
    seen: list[StreamRecordQueueEntry] = []
    entry.on_complete(seen.append)
    assert entry.complete([1])
    assert not entry.complete([2])
    assert not entry.complete_exceptionally(ValueError())
    assert (entry.results, entry.error, seen) == ([1], None, [entry])


def test_a_failure_completes_with_no_results() -> None:
    entry = record("r1")
    assert entry.complete_exceptionally(error := ValueError())
    assert not entry.complete([1])
    assert (entry.results, entry.error) == ((), error)


def test_results_keep_their_records_timestamps_and_come_in_blocks() -> None:
    output = CapturedOutput()
    queue = OrderedStreamElementQueue(10, nobody_waits)
    emitter = Emitter(queue, output)
    for name, timestamp, results in [("a", 5, [1, 2]), ("b", None, []), ("c", 7, [3])]:
        entry = record(name, timestamp)
        queue.try_put(entry)
        entry.complete(results)
    assert emitter.emit_completed() == 3
    assert output.main == [StreamRecord(1, 5), StreamRecord(2, 5), StreamRecord(3, 7)]


ELEMENTS = st.lists(st.sampled_from("rrrrw"), max_size=30)


@given(elements=ELEMENTS, data=st.data())
def test_any_order_of_completion(elements: list[str], data: st.DataObject) -> None:
    for kind in KINDS:
        driven = Driven(kind)
        records: list[StreamRecordQueueEntry] = []
        expected: list[Any] = []
        for number, element in enumerate(elements):
            entry: StreamElementQueueEntry = WatermarkQueueEntry(number)
            if element == "r":
                entry = record(number)
                records.append(entry)
            driven.queue.try_put(entry)
            expected.append(number if element == "r" else f"w{number}")
        order = data.draw(st.permutations(records))
        found = []
        for entry in order:
            done(entry)
            found += driven.emitted()
        found += driven.emitted()
        if kind is UnorderedStreamElementQueue:
            expected = in_segments(expected, [entry.value for entry in order])
        assert found == expected


def in_segments(elements: list[Any], order: list[Any]) -> list[Any]:
    """The elements with the records between two watermarks in the order of their completion."""
    found: list[Any] = []
    segment: list[Any] = []
    for element in [*elements, None]:
        if isinstance(element, int):
            segment.append(element)
            continue
        found += sorted(segment, key=order.index)
        segment = []
        if element is not None:
            found.append(element)
    return found
