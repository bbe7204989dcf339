from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import (
    Journal,
    ProgramBuilder,
    Unpicklable,
    messages,
    records_of,
)
from tests.runtime.strategies import blocks

from penstock.errors import LostBufferError, UserFunctionError, ValueNotSerializableError
from penstock.runtime.buffer import Buffer, channel_number, decode, encode
from penstock.runtime.context import RuntimeContext
from penstock.runtime.elements import (
    BLOCK_SIZE,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    Block,
    ChannelWatermark,
    CheckpointBarrier,
    Element,
    EndOfInput,
    Watermark,
    WatermarkStatus,
)
from penstock.runtime.epoch import Epoch
from penstock.runtime.layout import Layout
from penstock.runtime.message import SubtaskReport
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.map import MapOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.sink import CollectOperator, PrintOperator
from penstock.runtime.partitioners import ForwardPartitioner, KeyGroupStreamPartitioner
from penstock.runtime.program import DRIVER
from penstock.runtime.subtask import Subtask

BARRIER = CheckpointBarrier(0, "sender's attempt")


class Logging(StreamOperator):
    """Writes down all that comes, and passes it on."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def begin_epoch(self, epoch: Epoch) -> None:
        self.journal.append(("begin", epoch.number))

    def process_block(self, block: Block) -> None:
        self.journal.append(("block", records_of(block)))
        self.output.collect(block)

    def process_watermark(self, timestamp: int) -> None:
        self.journal.append(("watermark", timestamp))
        self.output.emit_watermark(timestamp)

    def flush(self) -> None:
        self.journal.append(("flush", None))

    def end_input(self) -> None:
        self.journal.append(("end", None))

    def close(self) -> None:
        self.journal.append(("close", None))


def _after(mark: ChannelWatermark, elements: Iterable[Element]) -> ChannelWatermark:
    """Return where a channel is after these elements."""
    for element in elements:
        if isinstance(element, Watermark):
            mark = mark._replace(timestamp=element.timestamp)
        elif isinstance(element, WatermarkStatus):
            mark = mark._replace(is_idle=element is WatermarkStatus.IDLE)
    return mark


class Ready:
    """A subtask of a chain between a source and another chain."""

    def __init__(self, *operators: StreamOperator, index: int = 0, parallelism: int = 1) -> None:
        builder = ProgramBuilder()
        source = builder.source([[]])
        middle = builder.vertex(
            *operators, inputs=[(source, ForwardPartitioner())], parallelism=parallelism
        )
        builder.vertex(MapOperator(str), inputs=[(middle, ForwardPartitioner())])
        layout = Layout(builder.build(), 2)
        self.outbox: list[Buffer] = []
        self.subtask = Subtask(layout, layout.program.vertices[middle], index)
        self._sent: dict[int, int] = {}

    def begin(self, number: int = 0, **options: Any) -> None:
        self._sent = {}
        self._mark = ChannelWatermark()
        self.outbox = []
        self.subtask.begin_epoch(Epoch("job", number, **options), "own attempt", self.outbox)

    def receive(self, *elements: Element, sender: int = 0, sequence: int | None = None) -> None:
        if sequence is None:
            sequence = self._sent.get(sender, 0)
        self._sent[sender] = sequence + 1
        # As the sender would say it at the end: where its last watermark and status leave it.
        self._mark = _after(self._mark, elements)
        elements = tuple(
            element._replace(watermark=self._mark)
            if isinstance(element, CheckpointBarrier)
            else element
            for element in elements
        )
        payload = encode(list(elements), "sender")
        channel = channel_number(0, sender)
        self.subtask.receive(Buffer(0, 1, 0, 1, MIN_TIMESTAMP, channel, sequence, payload))

    def epoch(self, *elements: Element, number: int = 0, **options: Any) -> SubtaskReport:
        self.begin(number, **options)
        self.receive(*elements, BARRIER)
        self.subtask.end_epoch()
        return self.report()

    def report(self) -> SubtaskReport:
        *_, last = messages(buffer for buffer in self.outbox if buffer.vertex == DRIVER)
        assert last.kind == "report"
        report: SubtaskReport = last.content
        return report

    def sent(self) -> list[Any]:
        """Return what went to the next chain: records one by one, and in-band elements."""
        own = [buffer for buffer in self.outbox if buffer.vertex == 2]
        assert [buffer.sequence for buffer in own] == list(range(len(own)))
        found: list[Any] = []
        for buffer in own:
            for element in decode(buffer.payload):
                found += records_of(element) if isinstance(element, Block) else [element]
        return found


class Passing(StreamOperator):
    def process_block(self, block: Block) -> None:
        self.output.collect(block)


class Announcing(StreamOperator):
    """Has something to say when an epoch begins."""

    def begin_epoch(self, epoch: Epoch) -> None:
        self.output.emit_watermark(7)


class TestAnEpoch:
    def test_takes_records_through_the_chain_and_ends_with_the_barrier(self) -> None:
        ready = Ready(MapOperator(str), Passing())
        report = ready.epoch(Block([1], [5]), Block([2, 3]))

        assert ready.sent() == [
            ("1", 5, None),
            ("2", None, None),
            ("3", None, None),
            CheckpointBarrier(0, "own attempt"),
        ]
        assert [entry[:2] for entry in report.metrics] == [(3, 3), (3, 3)]
        assert report.attempts == {channel_number(0, 0): "sender's attempt"}
        assert report.handles is None

    def test_comes_after_another(self) -> None:
        journal = Journal()
        ready = Ready(Logging(journal))
        for number in (7, 8):
            report = ready.epoch(Block([number]), number=number)
            assert ready.sent() == [
                (number, None, None),
                CheckpointBarrier(number, "own attempt"),
            ]
            assert report.metrics[0][:2] == (1, 1)

        assert journal == [
            ("begin", 7),
            ("block", [(7, None, None)]),
            ("flush", None),
            ("begin", 8),
            ("block", [(8, None, None)]),
            ("flush", None),
        ]

    def test_has_its_watermarks_in_band_where_there_is_one_channel(self) -> None:
        journal = Journal()
        ready = Ready(Logging(journal))
        report = ready.epoch(Block([1]), Watermark(5), Block([2]), Watermark(3))

        assert journal == [
            ("begin", 0),
            ("block", [(1, None, None)]),
            ("watermark", 5),
            ("block", [(2, None, None)]),
            ("flush", None),
        ]
        assert ready.sent() == [
            (1, None, None),
            Watermark(5),
            (2, None, None),
            CheckpointBarrier(0, "own attempt", ChannelWatermark(5)),
        ]
        assert report.metrics[0][2:4] == (5, 5)
        assert report.progress.watermark == ChannelWatermark(5)
        assert report.progress.outputs == ((1, ChannelWatermark(5)),)
        assert report.progress.gauges == ((5, 5),)

    def test_goes_on_with_the_watermark_of_the_last(self) -> None:
        journal = Journal()
        there, here = Ready(Logging(journal)), Ready(Logging(journal))
        progress = there.epoch(Watermark(5)).progress
        report = here.epoch(Watermark(3), number=1, progress={(1, 0): progress})
        assert report.metrics[0][2:4] == (5, 5)
        here.epoch(Watermark(6), number=2, progress={(1, 0): report.progress})

        assert [entry for entry in journal if entry[0] == "watermark"] == [
            ("watermark", 5),
            ("watermark", 6),
        ]
        assert here.sent()[0] == Watermark(6)

    def test_that_is_run_again_knows_nothing_of_the_attempt_before(self) -> None:
        ready = Ready(Passing())
        ready.epoch(Watermark(5))
        report = ready.epoch()

        assert report.metrics[0][2:4] == (MIN_TIMESTAMP, MIN_TIMESTAMP)
        assert ready.sent() == [CheckpointBarrier(0, "own attempt")]

    def test_begins_tail_to_head_so_that_none_emits_to_one_that_has_not_begun(self) -> None:
        journal = Journal()
        ready = Ready(Announcing(), Logging(journal))
        ready.begin()

        assert journal == [("begin", 0), ("watermark", 7)]

    def test_goes_idle_with_its_channel(self) -> None:
        ready = Ready(Passing())
        report = ready.epoch(Watermark(5), WatermarkStatus.IDLE, EndOfInput())

        idle = ChannelWatermark(5, is_idle=True)
        assert ready.sent() == [
            Watermark(5),
            WatermarkStatus.IDLE,
            CheckpointBarrier(0, "own attempt", idle),
        ]
        assert (report.progress.watermark, report.progress.outputs) == (idle, ((1, idle),))

    def test_that_is_the_last_ends_the_input_and_closes_the_functions(self) -> None:
        journal = Journal()
        ready = Ready(Logging(journal))
        ready.epoch(Block([1]), finishing=frozenset({0}))

        assert journal == [
            ("begin", 0),
            ("block", [(1, None, None)]),
            ("watermark", MAX_TIMESTAMP),
            ("end", None),
            ("flush", None),
            ("close", None),
        ]
        assert ready.sent() == [
            (1, None, None),
            Watermark(MAX_TIMESTAMP),
            EndOfInput(),
            CheckpointBarrier(0, "own attempt", ChannelWatermark(MAX_TIMESTAMP)),
        ]
        assert ready.report().metrics[0][2:4] == (MAX_TIMESTAMP, MAX_TIMESTAMP)

    def test_without_input_is_an_epoch(self) -> None:
        ready = Ready(Passing())
        ready.begin()
        ready.subtask.end_epoch()

        assert ready.sent() == [CheckpointBarrier(0, "own attempt")]
        assert ready.report().attempts == {}

    def test_that_stopped_half_way_leaves_nothing(self) -> None:
        ready = Ready(Passing(), PrintOperator(), Passing())
        ready.begin()
        ready.receive(Block(["left over"]))
        report = ready.epoch(Block(["new"]))

        assert ready.sent() == [CheckpointBarrier(0, "own attempt")]
        assert [entry[0] for entry in report.metrics] == [1, 1, 0]
        told = [buffer for buffer in ready.outbox if buffer.vertex == DRIVER]
        assert [buffer.sequence for buffer in told] == [0, 1]
        assert messages(told)[0].content == ["new"]

    def test_that_is_run_again_sends_its_watermark_again(self) -> None:
        ready = Ready(Passing())
        ready.epoch(Watermark(5))
        ready.epoch(Watermark(5))

        assert Watermark(5) in ready.sent()


class TestLostAndRepeatedBuffers:
    def test_in_between_are_noticed_when_the_next_comes(self) -> None:
        ready = Ready(Passing())
        ready.begin()
        ready.receive(Block([1]), sequence=0)
        with pytest.raises(LostBufferError, match=r"'Op1.0 \(1/1\)' got buffer 2"):
            ready.receive(Block([3]), sequence=2)

    def test_are_not_processed_twice(self) -> None:
        journal = Journal()
        ready = Ready(Logging(journal))
        ready.begin()
        ready.receive(Block([1]), sequence=0)
        with pytest.raises(LostBufferError):
            ready.receive(Block([1]), sequence=0)

        assert journal == [("begin", 0), ("block", [(1, None, None)])]

    def test_at_the_end_are_noticed_at_the_end(self) -> None:
        ready = Ready(Passing())
        ready.begin()
        ready.receive(Block([1]))
        with pytest.raises(LostBufferError, match="no barrier"):
            ready.subtask.end_epoch()

        assert not ready.outbox


class TestState:
    def values(self, ready: Ready) -> list[Any]:
        return [entry[0] for entry in ready.sent() if isinstance(entry, tuple) and len(entry) == 3]

    def test_goes_on_in_the_next_epoch_wherever_that_runs(self, tmp_path: Path) -> None:
        def joined() -> Ready:
            return Ready(ReduceOperator(lambda one, other: f"{one}{other}"))

        here, there = joined(), joined()
        folder = str(tmp_path)
        report = here.epoch(Block(["a", "b"], None, [1, 2]), location=folder)
        assert report.handles is not None
        state = {(1, 0): report.handles}
        report = there.epoch(Block(["c"], None, [1]), number=1, location=folder, state=state)
        assert self.values(there) == ["ac"]
        assert report.handles is not None
        state = {(1, 0): report.handles}
        here.epoch(Block(["d", "e"], None, [1, 2]), number=2, location=folder, state=state)

        assert self.values(here) == ["acd", "be"]

    def test_is_not_written_in_the_last_epoch(self, tmp_path: Path) -> None:
        ready = Ready(ReduceOperator(max))
        report = ready.epoch(Block([1], None, [1]), location=str(tmp_path), is_last=True)

        assert report.handles == ()
        assert not list(tmp_path.rglob("*"))


class Clock:
    """A clock that only moves when records are processed."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


CLOCK = Clock()
SIZES: list[int] = []


class Slow(StreamOperator):
    """Takes as many seconds for a record as the record says."""

    def process_block(self, block: Block) -> None:
        SIZES.append(len(block))
        CLOCK.now += sum(block.values)
        self.output.collect(block)


@pytest.fixture
def _fake_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    SIZES.clear()
    monkeypatch.setattr(
        "penstock.runtime.subtask.time", SimpleNamespace(perf_counter=CLOCK.perf_counter)
    )


@pytest.mark.usefixtures("_fake_clock")
class TestBlocks:
    def sizes(self, *blocks: Sequence[float]) -> list[int]:
        ready = Ready(Slow())
        ready.begin()
        for block in blocks:
            ready.subtask.process(Block(list(block)))
        return SIZES

    def test_grow_while_the_function_is_fast(self) -> None:
        assert self.sizes([0.0] * 5000) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] + [1024] * 3 + [
            905
        ]

    def test_stay_single_records_while_the_function_is_slow(self) -> None:
        assert self.sizes([0.15] * 10) == [1] * 10

    def test_shrink_when_the_function_becomes_slow(self) -> None:
        fast, slow = [0.0] * 1023, [0.01] * 2000

        # A block of 1,024 was under way; from then on ten records of 10 ms are half of the interval.
        first, *others, _ = self.sizes(fast, slow)[10:]
        assert first == 1024
        assert set(others) <= {9, 10}

    def test_keep_their_size_from_block_to_block_and_epoch_to_epoch(self) -> None:
        ready = Ready(Slow())
        for number in range(2):
            ready.begin(number)
            ready.subtask.process(Block([0.0] * 8))
            ready.subtask.process(Block([0.0] * 3))

        assert SIZES == [1, 2, 4, 1, 3, 8, 3]

    def test_are_never_larger_than_the_largest_block(self) -> None:
        assert max(self.sizes([0.0] * 100_000)) == BLOCK_SIZE

    @settings(max_examples=50)
    @given(st.floats(0.0001, 0.3), st.lists(st.integers(1, 2000), min_size=1, max_size=10))
    def test_let_no_record_wait_longer_than_the_watermark_interval(
        self, cost: float, lengths: list[int]
    ) -> None:
        SIZES.clear()
        sizes = self.sizes(*[[cost] * length for length in lengths])

        assert sum(sizes) == sum(lengths)
        assert all(size == 1 or size * cost < 0.201 for size in sizes)

    @settings(max_examples=30)
    @given(
        stream=st.lists(
            blocks(
                st.sampled_from([0.0, 0.001, 0.05, 1.0]),
                max_size=60,
                with_timestamps=None,
                with_keys=None,
            ),
            max_size=5,
        )
    )
    def test_are_cut_without_losing_or_mixing_anything(self, stream: list[Block]) -> None:
        journal = Journal()
        ready = Ready(Logging(journal), Slow())
        ready.begin()
        for block in stream:
            ready.subtask.process(block)

        received = [record for step, content in journal if step == "block" for record in content]
        assert received == [record for block in stream for record in records_of(block)]


class Counting:
    """A function that counts, as a user's may."""

    def open(self, context: RuntimeContext) -> None:
        self._hits = context.get_metrics_group().counter("hits")
        self._hits.inc(10)

    def map(self, value: Any) -> Any:
        self._hits.inc()
        return value


class TestUserMetrics:
    def test_tell_what_functions_counted_in_each_epoch(self) -> None:
        ready = Ready(MapOperator(Counting()))

        assert ready.epoch(Block([1, 2])).metrics[0][4] == {"hits": 12}
        assert ready.epoch(Block([1]), number=1).metrics[0][4] == {"hits": 1}

    def test_leave_out_what_was_counted_in_an_epoch_that_stopped_half_way(self) -> None:
        ready = Ready(MapOperator(Counting()))
        ready.epoch(Block([1]))
        ready.begin(1)
        ready.receive(Block([1, 2, 3]))

        assert ready.epoch(Block([1]), number=1).metrics[0][4] == {"hits": 1}

    def test_that_cannot_be_read_name_the_operator(self) -> None:
        class Gauging:
            def open(self, context: RuntimeContext) -> None:
                context.get_metrics_group().gauge("rate", lambda: 1 // 0)

            def map(self, value: Any) -> Any:
                return value

        with pytest.raises(UserFunctionError, match=r"Operator 'Op1\.0' failed") as raised:
            Ready(MapOperator(Gauging())).epoch(Block([1]))

        assert "ZeroDivisionError" in str(raised.value)


class TestMessages:
    def test_come_in_order_and_the_report_last(self) -> None:
        ready = Ready(PrintOperator())
        ready.begin()
        for value in "ab":
            ready.receive(Block([value]))
        ready.receive(BARRIER)
        ready.subtask.end_epoch()

        told = messages(buffer for buffer in ready.outbox if buffer.vertex == DRIVER)
        assert [(message.kind, message.vertex, message.sender) for message in told] == [
            ("print", 1, 0),
            ("print", 1, 0),
            ("report", 1, 0),
        ]
        assert [message.content for message in told[:2]] == [["a"], ["b"]]

    def test_of_what_cannot_be_pickled_name_operator_and_record(self) -> None:
        ready = Ready(Passing(), CollectOperator("id"))
        ready.begin()
        ready.subtask.process(Block(list(range(2000))))
        with pytest.raises(ValueNotSerializableError) as raised:
            ready.subtask.process(
                Block([*(f"long {n}" for n in range(1000)), Unpicklable("culprit")])
            )

        assert "'Op1" in raised.value.message
        assert "<culprit>" in raised.value.message
        assert "TypeError: it holds a lock" in raised.value.message


def test_names_itself_as_flink_does() -> None:
    assert (
        Ready(Passing(), Passing(), index=1, parallelism=4).subtask.name == "Op1.0 -> Op1.1 (2/4)"
    )


def test_a_partition_of_spark_is_a_subtask_too() -> None:
    builder = ProgramBuilder()
    source = builder.source([[]], parallelism=2)
    builder.vertex(
        MapOperator(str), inputs=[(source, KeyGroupStreamPartitioner(str))], parallelism=3
    )
    layout = Layout(builder.build(), 2)
    subtask = Subtask(layout, layout.program.vertices[0], 5)
    outbox: list[Buffer] = []
    subtask.begin_epoch(Epoch("job"), "a", outbox)
    subtask.end_epoch()

    assert subtask.name == "Op0.0 (2/2)"
    assert {buffer.channel for buffer in outbox if buffer.vertex == 1} == {channel_number(0, 5)}
    [told] = [buffer for buffer in outbox if buffer.vertex == DRIVER]
    assert pickle.loads(told.payload)[:3] == ("report", 0, 5)
