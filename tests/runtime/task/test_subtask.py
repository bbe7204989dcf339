from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.programs import Journal, ProgramBuilder, Unpicklable, messages
from tests.runtime.subtasks import BARRIER, Logging, Ready

from penstock.errors import LostBufferError, ValueNotSerializableError
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer, channel_number
from penstock.runtime.exchange.elements import (
    Block,
    ChannelWatermark,
    CheckpointBarrier,
    EndOfInput,
    Watermark,
    WatermarkStatus,
)
from penstock.runtime.exchange.partitioners import KeyGroupStreamPartitioner
from penstock.runtime.layout import Layout
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.sink import CollectOperator, PrintOperator
from penstock.runtime.program import DRIVER
from penstock.runtime.task.subtask import Subtask
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP


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
