"""What is sent at once is bounded in bytes, however large records are."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.exchange.test_writer import BARRIER, Writer
from tests.runtime.programs import Journal, ProgramBuilder, Unpicklable, last_epoch, tasks_for

from penstock.errors import RecordTooLargeError, ValueNotSerializableError
from penstock.runtime.exchange import buffer as buffer_module
from penstock.runtime.exchange import record_size
from penstock.runtime.exchange.buffer import BUFFER_BYTES, BUFFER_SIZE, Buffer, decode
from penstock.runtime.exchange.elements import Block, Watermark
from penstock.runtime.exchange.partitioners import GlobalPartitioner, RebalancePartitioner
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.operators.sink import CollectOperator, PrintOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.source import NumberRangeSource
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.task.message import Message
from penstock.testing import local_environment

LARGE = 100_000


def records_in(buffer: Buffer) -> list[Any]:
    elements = decode(buffer.payload)
    return [value for item in elements if isinstance(item, Block) for value in item.values]


def test_large_records_make_small_buffers() -> None:
    writer = Writer(GlobalPartitioner(), 1)
    for start in range(0, 400, 100):
        writer.output.collect(Block([bytes([n % 250]) * LARGE for n in range(start, start + 100)]))
    writer.output.emit_barrier(*BARRIER)

    assert len(writer.sent) >= 20
    assert max(len(buffer.payload) for buffer in writer.sent) <= 2 * BUFFER_BYTES


def test_a_record_that_is_too_large_goes_alone() -> None:
    writer = Writer(GlobalPartitioner(), 1)
    writer.output.collect(Block([b"a" * LARGE, b"b" * 5 * BUFFER_BYTES, b"c" * LARGE]))
    writer.output.emit_barrier(*BARRIER)

    large = [buffer for buffer in writer.sent if len(buffer.payload) > 2 * BUFFER_BYTES]
    assert [len(records_in(buffer)) for buffer in large] == [1]


def test_small_records_make_buffers_of_as_many_as_before() -> None:
    writer = Writer(GlobalPartitioner(), 1)
    for start in range(0, 20 * 1024, 1024):
        writer.output.collect(Block([("item", n) for n in range(start, start + 1024)]))
    writer.output.emit_barrier(*BARRIER)

    assert [len(records_in(buffer)) for buffer in writer.sent] == [BUFFER_SIZE] * 5 + [0]


def test_what_waits_for_all_subtasks_together_is_bounded() -> None:
    writer = Writer(RebalancePartitioner(), 200)
    waiting: list[int] = []
    for _ in range(20):
        writer.output.collect(Block([bytes([n]) * LARGE for n in range(50)]))
        sent = sum(len(records_in(buffer)) for buffer in writer.sent)
        waiting.append(50 * (len(waiting) + 1) - sent)

    assert max(waiting) <= (32 << 20) // LARGE


def test_records_that_grow_are_noticed() -> None:
    writer = Writer(GlobalPartitioner(), 1)
    for _ in range(8):
        writer.output.collect(Block([b"s"] * 1024))
    writer.sent.clear()
    for number in range(2):
        writer.output.collect(
            Block([bytes([number, n % 250]) * (LARGE // 10) for n in range(1024)])
        )

    assert sum(map(len, map(records_in, writer.sent))) >= 1024


def test_a_sample_that_cannot_be_pickled_is_left_to_who_sends_it() -> None:
    writer = Writer(GlobalPartitioner(), 1)
    writer.output.collect(Block([1]))
    writer.output.collect(Block([Unpicklable("of the second block")] * 1024))
    with pytest.raises(ValueNotSerializableError, match="of the second block"):
        writer.output.emit_barrier(*BARRIER)


@settings(max_examples=60)
@given(
    sizes=st.lists(st.lists(st.sampled_from([0, 10, 300, 2000]), max_size=12), max_size=12),
    targets=st.integers(1, 3),
    limit=st.integers(200, 1000),
    held=st.integers(500, 5000),
    between=st.integers(0, 20),
    records=st.integers(1, 20),
)
def test_wherever_bytes_cut_what_is_read_is_what_was_written(
    sizes: list[list[int]], targets: int, limit: int, held: int, between: int, records: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_size, "BUFFER_BYTES", limit)
        patch.setattr(record_size, "BUFFER_SIZE", records)
        patch.setattr(record_size, "_HELD_BYTES", held)
        patch.setattr(record_size, "_BETWEEN_SAMPLES", between)
        writer = Writer(RebalancePartitioner(), targets)
        number = 0
        given_: list[tuple[int, int, bytes]] = []
        for time, block in enumerate(sizes):
            values = [(number + place, time, bytes(size)) for place, size in enumerate(block)]
            number += len(values)
            given_ += values
            writer.emit(Block(list(values)))
            writer.emit(Watermark(time))
        writer.output.emit_barrier(*BARRIER)

    found: list[tuple[int, int, bytes]] = []
    for target in range(targets):
        read = writer.received(target)
        own = [record[0] for record in read if type(record) is tuple]
        assert own == sorted(own)
        found += own
        buffers = [buffer for buffer in writer.sent if buffer.subtask == target]
        assert [buffer.watermark for buffer in buffers] == sorted(
            buffer.watermark for buffer in buffers
        )
    assert sorted(found) == given_
    for buffer in writer.sent:
        assert len(records_in(buffer)) <= 1 or len(buffer.payload) <= 2 * limit
        # A buffer promises no watermark that its sender gave after a record in it.
        assert all(buffer.watermark < time for _, time, _ in records_in(buffer))


class Wide:
    """Makes a large value of each number, and writes down that it did."""

    def __init__(self, journal: Journal, size: int) -> None:
        self._journal = journal
        self._size = size

    def map(self, value: int) -> bytes:
        self._journal.append(value)
        return str(value).encode() * self._size


@pytest.mark.usefixtures("_no_time_passes")
def test_a_source_sends_what_it_has_before_it_reads_on() -> None:
    journal = Journal()
    builder = ProgramBuilder()
    source = builder.vertex(
        SourceOperator(NumberRangeSource(1, 50_000)), MapOperator(Wide(journal, 10_000))
    )
    builder.vertex(PrintOperator(), inputs=[(source, GlobalPartitioner())])
    program = builder.build()
    tasks = tasks_for(program)
    carrier = Carrier(tasks.layout, last_epoch(program), 0, 0, "attempt", tasks)

    next(carrier.control(0, 1))

    assert len(journal) <= 3 * 1024


@pytest.mark.parametrize("operator", [PrintOperator(), CollectOperator("it")])
def test_what_the_driver_is_told_is_cut_too(operator: Any) -> None:
    values = [str(n) * LARGE for n in range(100)]
    builder = ProgramBuilder()
    builder.source([values], operator)
    program = builder.build()
    tasks = tasks_for(program)
    carrier = Carrier(tasks.layout, last_epoch(program), 0, 0, "attempt", tasks)

    buffers = [*carrier.control(0, 1), *carrier.finish()]

    told = [Message._make(pickle.loads(buffer.payload)) for buffer in buffers]
    assert max(len(buffer.payload) for buffer in buffers) <= 3 * BUFFER_BYTES
    assert [buffer.sequence for buffer in buffers] == list(range(len(buffers)))
    results = [message for message in told if message.kind != "report"]
    assert [value for message in results for value in message.values] == values


def test_a_record_that_cannot_go_to_another_process_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(buffer_module, "LARGEST_PAYLOAD", 3 * BUFFER_BYTES)
    writer = Writer(GlobalPartitioner(), 1)
    writer.output.collect(Block([b"a" * LARGE, b"b" * LARGE, b"c" * 4 * BUFFER_BYTES]))

    with pytest.raises(RecordTooLargeError) as caught:
        writer.output.emit_barrier(*BARRIER)

    assert "emitted the record b'cccc" in caught.value.message
    assert "bytes in pickled form. No more than 3,145,728 can go" in caught.value.message


def test_so_is_a_result_that_cannot_go_to_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer_module, "LARGEST_PAYLOAD", 3 * LARGE)
    numbers = local_environment().from_collection([1, 2])

    with pytest.raises(RecordTooLargeError, match="emitted the record 'xxx"):
        list(numbers.map(lambda number: "x" * number * 2 * LARGE).execute_and_collect())
