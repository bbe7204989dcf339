from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.runtime.programs import Harness, Journal, Unpicklable, operator_id

from penstock.errors import (
    InvalidArgumentError,
    LostOutputError,
    UserFunctionError,
    ValueNotSerializableError,
)
from penstock.runtime.operators.two_phase_commit import TwoPhaseCommitOperator
from penstock.runtime.sinks import (
    Committer,
    SinkWriter,
    WriterContext,
    committable_from_plain,
)
from penstock.runtime.timestamp import MIN_TIMESTAMP


class Writer(SinkWriter):
    """Prepares what it was given, and leaves odd numbers for later."""

    def __init__(self, sink: Sink, context: WriterContext) -> None:
        self._sink = sink
        self._context = context
        self._values: list[Any] = []
        self._ends = False

    def restore(self, snapshots: list[bytes]) -> None:
        self._sink.log.append(("restore", snapshots))
        self._values = [number for snapshot in snapshots for number in snapshot]

    def write(self, value: Any, timestamp: int | None) -> None:
        if value == self._sink.fails_on:
            raise self._sink.error
        self._sink.log.append((value, timestamp, self._context.watermark))
        self._values.append(value)

    def write_block(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> bool:
        if len(values) != self._sink.takes_blocks_of:
            return False
        self._sink.log.append((values, timestamps))
        self._values += values
        return True

    def end_input(self) -> None:
        self._ends = True

    def prepare_commit(self) -> list[Any]:
        if self._sink.fails_on == "prepare":
            raise self._sink.error
        ready = [value for value in self._values if self._ends or not self._is_later(value)]
        self._values = [value for value in self._values if value not in ready]
        return ready

    def _is_later(self, value: Any) -> bool:
        return self._sink.has_writer_state and value % 2 == 1

    def snapshot(self) -> bytes | None:
        return bytes(self._values) or None

    def next_wake_up(self) -> int | None:
        return 5

    def close(self) -> None:
        self._sink.log.append("close")


class Sink:
    restores_writer_state = False
    wants_wake_ups = True
    place = ""

    def __init__(
        self,
        fails_on: Any = None,
        error: Exception | None = None,
        *,
        has_state: bool = True,
        takes_blocks_of: int | None = None,
    ) -> None:
        self.log: Journal = Journal()
        self.takes_blocks_of = takes_blocks_of
        self.fails_on = fails_on
        self.error = error or ValueError("mine")
        self.has_writer_state = has_state

    def create_writer(self, context: WriterContext) -> SinkWriter:
        self.log.append(("create", context.sink_id, context.epoch))
        return Writer(self, context)

    def create_committer(self) -> Committer:
        raise AssertionError("never, in a task")


def harness_of(sink: Sink) -> Harness:
    harness = Harness(TwoPhaseCommitOperator(sink), name="Sink: it")
    sink.log.clear()
    harness.operator.restore(None)
    return harness


def end_epoch(harness: Harness) -> tuple[list[Any], bytes | None]:
    """End an epoch, and return what was prepared and the snapshot."""
    harness.operator.flush()
    found = []
    for kind, (sink_id, text) in harness.told:
        assert (kind, sink_id) == ("prepared", operator_id("Sink: it"))
        found.append(committable_from_plain(text))
    harness.told.clear()
    return found, harness.operator.snapshot()


def created(sink: Sink) -> int:
    return sum(entry[0] == "create" for entry in sink.log if entry != "close")


def test_records_come_with_timestamps_and_the_watermark() -> None:
    sink = Sink()
    harness = harness_of(sink)
    harness.begin_epoch(3)
    harness.process([2, 4])
    harness.operator.process_watermark(10)
    harness.process([6, 8], [11, 12])

    assert sink.log == [
        "close",
        ("create", operator_id("Sink: it"), 3),
        (2, None, MIN_TIMESTAMP),
        (4, None, MIN_TIMESTAMP),
        (6, 11, 10),
        (8, 12, 10),
    ]
    assert end_epoch(harness) == ([2, 4, 6, 8], None)
    assert harness.output.log == [("watermark", 10)]
    assert harness.operator.next_wake_up() == 5


def test_a_writer_may_take_blocks() -> None:
    sink = Sink(takes_blocks_of=2)
    harness = harness_of(sink)
    harness.begin_epoch(0)
    harness.process([2, 4], [7, 8])
    harness.process([6])

    assert sink.log[2:] == [([2, 4], [7, 8]), (6, None, MIN_TIMESTAMP)]
    assert end_epoch(harness)[0] == [2, 4, 6]


def test_a_writer_lives_from_epoch_to_epoch() -> None:
    sink = Sink()
    harness = harness_of(sink)
    snapshot: bytes | None = None
    prepared = []
    for number in range(4):
        harness.operator.restore(snapshot)
        harness.begin_epoch(number)
        harness.process([number])
        if number == 3:
            harness.operator.end_input()
        found, snapshot = end_epoch(harness)
        prepared.append(found)

    assert prepared == [[0], [], [2], [1, 3]]
    assert snapshot is None
    assert created(sink) == 1
    assert all(entry[0] != "restore" for entry in sink.log)


def test_a_writer_that_was_given_up_gives_way_to_a_new_one() -> None:
    sink = Sink()
    harness = harness_of(sink)
    harness.begin_epoch(0)
    harness.process([1, 2])
    first = end_epoch(harness)
    harness.operator.restore(first[1])
    harness.begin_epoch(1)
    harness.process([4, 6])
    harness.operator.restore(first[1])
    harness.begin_epoch(1)
    harness.process([8, 3])

    assert end_epoch(harness)[0] == [8]
    assert created(sink) == 2
    assert ("restore", [b"\x01"]) in sink.log


def test_a_writer_that_is_ahead_gives_way_to_a_new_one() -> None:
    sink = Sink()
    harness = harness_of(sink)
    harness.begin_epoch(0)
    harness.process([1])
    _, first = end_epoch(harness)
    harness.operator.restore(first)
    harness.begin_epoch(1)
    harness.process([3])
    end_epoch(harness)
    # The epoch failed elsewhere.
    harness.operator.restore(first)
    harness.begin_epoch(1)
    harness.operator.end_input()

    assert end_epoch(harness)[0] == [1]


def test_snapshots_of_several_writers_are_taken_up_by_one() -> None:
    sink = Sink()
    snapshots = []
    for number in (1, 3):
        harness = harness_of(sink)
        harness.begin_epoch(0)
        harness.process([number])
        snapshots.append(end_epoch(harness)[1] or b"")
    merged = harness.operator.merge_snapshots(snapshots)
    harness.operator.restore(merged)
    harness.begin_epoch(1)
    harness.operator.end_input()

    assert end_epoch(harness) == ([1, 3], None)


def test_a_snapshot_has_to_be_announced() -> None:
    sink = Sink(has_state=False)
    harness = harness_of(sink)
    assert not harness.operator.needs_its_subtask
    harness.begin_epoch(0)
    harness.process([1])
    harness.operator.flush()
    harness.process([3])

    with pytest.raises(InvalidArgumentError, match="has_writer_state"):
        harness.operator.snapshot()


def test_what_a_writer_raises_names_operator_and_record() -> None:
    harness = harness_of(Sink(fails_on=4))
    harness.begin_epoch(0)

    with pytest.raises(UserFunctionError, match="'Sink: it' failed on the record 4") as caught:
        harness.process([2, 4], [0, 1])
    assert "ValueError: mine" in str(caught.value)


def test_what_a_writer_raises_at_the_end_names_the_operator() -> None:
    harness = harness_of(Sink(fails_on="prepare"))
    harness.begin_epoch(0)

    with pytest.raises(UserFunctionError, match="'Sink: it' failed on preparing its commit"):
        harness.operator.flush()


def test_errors_of_penstock_stay_what_they_are() -> None:
    class Guest(TwoPhaseCommitOperator):
        def flush(self) -> None:
            self._guarded("anything", _lose)

    harness = Harness(Guest(Sink()))

    with pytest.raises(LostOutputError, match="lost"):
        harness.operator.flush()


_lose = eval(  # as penstock's own code: no frame of a user's
    "lambda: (_ for _ in ()).throw(error)",
    {"__name__": "penstock.there", "error": LostOutputError("lost")},
)


def test_committables_have_to_be_pickled() -> None:
    harness = harness_of(Sink(has_state=False))
    harness.begin_epoch(0)
    harness.process([Unpicklable("a lock")])

    with pytest.raises(ValueNotSerializableError, match="prepared <a lock>"):
        harness.operator.flush()


def test_closing_closes_the_writer_once() -> None:
    sink = Sink()
    harness = harness_of(sink)
    harness.begin_epoch(0)
    sink.log.clear()
    harness.operator.close()
    harness.operator.close()

    assert sink.log == ["close"]
