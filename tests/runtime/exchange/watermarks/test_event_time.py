from __future__ import annotations

import pickle
from collections.abc import Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import CollectingOutput
from tests.runtime.timers.manual_clock import ManualClock

from penstock.common.time import Duration
from penstock.common.watermark_generator import (
    WatermarkGenerator,
    WatermarkGeneratorContext,
    WatermarkOutput,
)
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.errors import (
    UnsupportedOperationError,
    UserFunctionError,
    ValueNotSerializableError,
)
from penstock.runtime.exchange.elements import Block, ChannelWatermark, WatermarkStatus
from penstock.runtime.exchange.watermarks.event_time import (
    EventTime,
    _Split,
    least_event_time,
    merge_event_time,
)
from penstock.runtime.metrics import MetricGroup
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE


class Marking(WatermarkGenerator):
    """Does what the events say: emit a watermark, go idle, or become active."""

    def __init__(self) -> None:
        self.periodic = 0

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event == "idle":
            output.mark_idle()
        elif event == "active":
            output.mark_active()
        elif event is not None:
            output.emit_watermark(event)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self.periodic += 1
        output.emit_watermark(self.periodic)


class Counting(Marking):
    """Counts what it is shown."""

    def open(self, context: WatermarkGeneratorContext) -> None:
        self.events = context.get_metric_group().counter("events")

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.events.inc()


class Merging(Marking):
    def merge(self, other: WatermarkGenerator) -> WatermarkGenerator:
        assert isinstance(other, Merging)
        self.periodic += other.periodic
        return self


class Anew(Marking):
    """Has fields, and says that a new one may stand in for it."""

    def can_begin_anew(self) -> bool:
        return True


class Bare(WatermarkGenerator):
    """Has no fields."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Undecided(Bare):
    def can_begin_anew(self) -> bool:
        raise ValueError("not known")


class Ready:
    """Event time, its output and its clock."""

    def __init__(self, strategy: WatermarkStrategy, *, interval: int = 200, **options: Any) -> None:
        self.output = CollectingOutput()
        self.clock = ManualClock()
        strategy.with_timestamp_assigner(_number)
        self.event_time = EventTime(strategy, interval, "Mine", self.output, self.clock, **options)
        self.event_time.restore(None)
        self.event_time.begin_epoch()

    def process(self, *values: Any, split: Hashable = None) -> None:
        self.event_time.process(Block(list(values)), split)

    def next_epoch(self, passed: int = 0) -> None:
        """End the epoch, and begin another somewhere else, after that many milliseconds."""
        self.event_time.flush()
        state = self.event_time.snapshot()
        self.clock.advance(passed)
        self.event_time.restore(None)
        self.event_time.restore(state)
        self.event_time.begin_epoch()

    def taken(self) -> list[Any]:
        """Return what was emitted since: values, watermarks and statuses."""
        found: list[Any] = []
        for kind, content in self.output.log:
            if kind == "main":
                found += content.values
            else:
                found.append((kind, content))
        self.output.log.clear()
        return found


def _number(value: Any, timestamp: int | None) -> int:
    return value if isinstance(value, int) else 0


def bounded(delay: int = 0) -> WatermarkStrategy:
    return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(delay))


def watermarks(*timestamps: int) -> list[Any]:
    return [("watermark", timestamp) for timestamp in timestamps]


@given(st.lists(st.lists(st.integers(-50, 50), max_size=5), max_size=6), st.integers(0, 20))
def test_a_bounded_watermark_is_that_of_the_greatest_timestamp(
    epochs: list[list[int]], delay: int
) -> None:
    ready = Ready(bounded(delay))
    greatest = emitted = MIN_TIMESTAMP
    for epoch in epochs:
        ready.process(*epoch)
        ready.next_epoch()
        greatest = max([greatest, *epoch])
        expected: list[Any] = list(epoch)
        if greatest > MIN_TIMESTAMP and greatest - delay - 1 > emitted:
            emitted = greatest - delay - 1
            expected += watermarks(emitted)
        assert ready.taken() == expected


class TestEmitting:
    def test_comes_right_behind_the_record_it_stems_from(self) -> None:
        ready = Ready(WatermarkStrategy.for_generator(Marking), interval=0)
        ready.process(None, 5, 3, 5, None, 6, None)
        assert ready.taken() == [
            *(None, 5, ("watermark", 5)),
            *(3, 5, None, 6, ("watermark", 6)),
            None,
        ]

    def test_keeps_timestamps_and_keys_with_their_records(self) -> None:
        ready = Ready(WatermarkStrategy.for_generator(Marking), interval=0)
        ready.event_time.process(Block([1, 2, 1], None, ["a", "b", "c"]))
        assert [(b.values, b.timestamps, b.keys) for b in ready.output.blocks()] == [
            ([1], [1], ["a"]),
            ([2], [2], ["b"]),
            ([1], [1], ["c"]),
        ]

    def test_follows_the_interval_between_blocks(self) -> None:
        ready = Ready(bounded(), interval=200)
        ready.process(10)
        ready.clock.advance(199)
        ready.process(20)
        assert ready.taken() == [10, 20]
        ready.clock.advance(1)
        ready.process(30)
        ready.process(40)
        assert ready.taken() == [30, ("watermark", 29), 40]

    def test_comes_after_many_records_at_the_latest(self) -> None:
        ready = Ready(bounded())
        for _ in range(9):
            ready.process(*range(1000))
        assert [entry for entry in ready.taken() if isinstance(entry, tuple)] == watermarks(998)

    def test_is_only_up_to_events_if_there_is_no_interval(self) -> None:
        ready = Ready(WatermarkStrategy.for_generator(Marking), interval=0)
        ready.clock.advance(10_000)
        ready.process(None)
        ready.next_epoch()
        assert ready.taken() == [None]

    def test_goes_on_with_the_generator_it_had(self) -> None:
        ready = Ready(WatermarkStrategy.for_generator(Marking))
        for _ in range(3):
            ready.next_epoch()
        assert ready.taken() == watermarks(1, 2, 3)

    def test_ends_with_the_last_watermark_of_all(self) -> None:
        ready = Ready(WatermarkStrategy.for_generator(Marking), interval=0)
        ready.process("idle")
        ready.event_time.end_input()
        assert ready.taken() == [
            *("idle", ("status", IDLE), ("status", ACTIVE)),
            ("watermark", MAX_TIMESTAMP),
        ]

    def test_needs_a_generator_that_pickles(self) -> None:
        ready = Ready(WatermarkStrategy.for_generator(Marking))
        ready.process(None)
        ready.event_time._splits[None].generator.on_event = lambda: None  # type: ignore[method-assign, union-attr]
        with pytest.raises(ValueNotSerializableError, match="generator of operator 'Mine'"):
            ready.next_epoch()


class TestIdleness:
    def test_may_be_told_by_the_generator(self) -> None:
        ready = Ready(WatermarkStrategy.for_generator(Marking), interval=0)
        ready.process(5, "idle", 4, 5, 6, "idle", "active")
        assert ready.taken() == [
            *(5, ("watermark", 5), "idle", ("status", IDLE)),
            # What does not raise the watermark leaves the stream idle.
            *(4, 5, 6, ("status", ACTIVE), ("watermark", 6)),
            *("idle", ("status", IDLE), "active", ("status", ACTIVE)),
        ]

    def idle_after(self, timeout: int) -> Ready:
        return Ready(bounded().with_idleness(Duration.of_millis(timeout)))

    def test_comes_when_more_than_the_timeout_has_passed_without_records(self) -> None:
        ready = self.idle_after(100)
        ready.process(7)
        ready.next_epoch(1000)  # It had records.
        ready.next_epoch(100)  # From here on it is empty.
        assert ready.taken() == [7, ("watermark", 6)]
        assert ready.event_time.next_idle_check() == 1101
        ready.next_epoch(1)
        assert ready.taken() == [("status", IDLE)]
        assert ready.event_time.next_idle_check() is None
        assert ready.event_time.progress() == ((None, ChannelWatermark(6, is_idle=True)),)

    def test_comes_where_there_never_was_a_record(self) -> None:
        ready = self.idle_after(100)
        ready.next_epoch(101)
        assert ready.taken() == [("status", IDLE)]

    def test_ends_with_a_higher_watermark(self) -> None:
        ready = self.idle_after(100)
        ready.process(7)
        ready.next_epoch()
        ready.next_epoch(101)
        ready.taken()
        ready.process(5)
        ready.next_epoch()
        assert ready.taken() == [5]
        ready.process(9)
        ready.next_epoch()
        assert ready.taken() == [9, ("status", ACTIVE), ("watermark", 8)]

    def test_begins_anew_after_records(self) -> None:
        ready = self.idle_after(100)
        ready.next_epoch(60)
        ready.process(7)
        ready.next_epoch(60)
        ready.next_epoch(60)
        ready.next_epoch(40)
        assert ready.taken() == [7, ("watermark", 6)]

    def test_that_has_come_keeps_the_generator_from_emitting(self) -> None:
        strategy = WatermarkStrategy.for_generator(Marking).with_idleness(Duration.of_millis(100))
        ready = Ready(strategy)
        ready.next_epoch(101)
        ready.next_epoch(101)
        assert ready.taken() == [*watermarks(1), ("status", IDLE)]


class TestSplits:
    def ready(self, strategy: WatermarkStrategy | None = None) -> Ready:
        return Ready(strategy or bounded(), has_splits=True)

    def test_have_generators_of_their_own(self) -> None:
        ready = self.ready()
        ready.process(10, split="a")
        ready.process(50, split="b")
        ready.next_epoch()
        assert ready.taken() == [10, 50, ("watermark", 9)]
        ready.process(60, split="a")
        ready.next_epoch()
        assert ready.taken() == [60, ("watermark", 49)]

    def test_that_are_empty_hold_the_others_back_until_they_are_idle(self) -> None:
        ready = self.ready(bounded().with_idleness(Duration.of_millis(100)))
        ready.process(10, split="a")
        ready.process(50, split="b")
        ready.next_epoch()
        for _ in range(2):
            ready.process(70, split="b")
            ready.next_epoch(101)
        assert ready.taken() == [10, 50, ("watermark", 9), 70, ("watermark", 69), 70]
        assert dict(ready.event_time.progress()) == {
            "b": ChannelWatermark(69),
        }

    def test_that_are_all_idle_leave_the_greatest_watermark(self) -> None:
        ready = self.ready(bounded().with_idleness(Duration.of_millis(100)))
        ready.process(10, split="a")
        ready.process(50, split="b")
        ready.next_epoch()
        ready.next_epoch(101)
        assert ready.taken()[2:] == [("watermark", 9), ("watermark", 49), ("status", IDLE)]


class TestSplitsThatHaveEnded:
    def files(self, count: int, idle: int = 100) -> tuple[list[Any], list[int]]:
        """Read a file in each epoch, and return what came out, and how large the state was."""
        ready = Ready(bounded().with_idleness(Duration.of_millis(idle)), has_splits=True)
        sizes = []
        for number in range(count):
            ready.process(10 * number, 10 * number + 5, split=f"/data/file-{number:06d}.json")
            ready.event_time.flush()
            sizes.append(len(ready.event_time.snapshot()))
            ready.next_epoch(60)
        return ready.taken(), sizes

    def test_are_forgotten(self) -> None:
        _, sizes = self.files(500)

        assert max(sizes) < 1_000

    def test_let_the_same_come_out_as_if_they_were_not(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found, _ = self.files(50)
        monkeypatch.setattr(EventTime, "_forget_ended", lambda _: None)
        expected, sizes = self.files(50)

        assert found == expected
        assert sizes[-1] > 2_000

    def test_are_new_when_they_come_back(self) -> None:
        ready = Ready(bounded().with_idleness(Duration.of_millis(100)), has_splits=True)
        ready.process(10, split="a")
        ready.process(50, split="b")
        for _ in range(4):
            ready.next_epoch(60)
            ready.process(90, split="b")
        ready.taken()
        ready.process(70, split="a")
        ready.next_epoch(60)
        ready.process(95, split="a")
        ready.process(99, split="b")
        ready.next_epoch(60)

        assert ready.taken() == [70, 95, 99, ("watermark", 94)]

    @pytest.mark.parametrize(("make", "are_left"), [(Marking, 20), (Anew, 1), (Bare, 1)], ids=str)
    def test_stay_if_a_function_of_the_users_remembers_them(
        self, make: type[WatermarkGenerator], are_left: int
    ) -> None:
        strategy = WatermarkStrategy.for_generator(make)
        ready = Ready(strategy.with_idleness(Duration.of_millis(100)), has_splits=True)
        for number in range(20):
            ready.process(number, split=f"file-{number}")
            ready.next_epoch(60)
        for _ in range(3):
            ready.next_epoch(101)

        assert len(ready.event_time.progress()) == are_left

    def test_are_told_by_generators_that_fail(self) -> None:
        strategy = WatermarkStrategy.for_generator(Undecided)
        ready = Ready(strategy.with_idleness(Duration.of_millis(100)), has_splits=True)
        ready.process(1, split="a")
        ready.next_epoch()
        ready.next_epoch(101)
        with pytest.raises(UserFunctionError, match="not known"):
            ready.next_epoch(101)


class TestMerging:
    def states(self, strategy: WatermarkStrategy, *reads: dict[str, list[Any]]) -> list[bytes]:
        """Return the states of tasks which went on from the same state."""
        first = Ready(strategy, has_splits=True)
        first.process(1, split="old")
        first.event_time.flush()
        before = first.event_time.snapshot()
        states = []
        for splits in reads:
            ready = Ready(strategy, has_splits=True)
            ready.event_time.restore(before)
            ready.event_time.begin_epoch()
            for split, values in splits.items():
                ready.process(*values, split=split)
            ready.event_time.flush()
            states.append(ready.event_time.snapshot())
        return states

    def test_takes_each_split_from_who_read_it(self) -> None:
        states = self.states(bounded(), {"old": [30]}, {"new": [20]}, {})
        merged = Ready(bounded(), has_splits=True)
        merged.event_time.restore(merge_event_time(states, "Mine"))
        merged.event_time.begin_epoch()
        assert dict(merged.event_time.progress()) == {
            "old": ChannelWatermark(29),
            "new": ChannelWatermark(19),
        }

    @given(st.permutations([{"old": [30]}, {"old": [70]}, {}]))
    def test_of_one_split_is_as_far_as_the_farthest(
        self, reads: list[dict[str, list[Any]]]
    ) -> None:
        merged = Ready(bounded(), has_splits=True)
        merged.event_time.restore(merge_event_time(self.states(bounded(), *reads), "Mine"))
        assert dict(merged.event_time.progress()) == {"old": ChannelWatermark(69)}

    def test_is_for_the_generator_to_say(self) -> None:
        strategy = WatermarkStrategy.for_generator(Merging)
        states = self.states(strategy, {"old": [None]}, {"old": [None]})
        merged = Ready(strategy, has_splits=True)
        merged.event_time.restore(merge_event_time(states, "Mine"))
        merged.next_epoch()
        # Two tasks, each of which was asked twice; then once more.
        assert merged.taken() == watermarks(5)

    def test_is_refused_where_the_generator_does_not_say(self) -> None:
        strategy = WatermarkStrategy.for_generator(Marking)
        states = self.states(strategy, {"old": [None]}, {"old": [None]})
        with pytest.raises(UnsupportedOperationError, match=r"'Mine' .* Marking, does not say"):
            merge_event_time(states, "Mine")

    def test_needs_no_merging_where_each_split_was_read_by_one(self) -> None:
        strategy = WatermarkStrategy.for_generator(Marking)
        merge_event_time(self.states(strategy, {"old": [None]}, {"new": [None]}), "Mine")


class TestTheLeastOfSeveralTasks:
    def state(self, emitted: int, *, is_idle: bool = False, **splits: tuple[int, bool]) -> bytes:
        made = {
            name: _Split(None, watermark=at, is_idle=idle) for name, (at, idle) in splits.items()
        }
        return pickle.dumps((made, emitted, is_idle))

    def test_is_ahead_of_none(self) -> None:
        states = [self.state(5, a=(5, False)), self.state(3, a=(3, False))]

        splits, emitted, is_idle = pickle.loads(least_event_time(states))

        assert (splits["a"].watermark, emitted, is_idle) == (3, 3, False)

    def test_is_that_of_an_active_one(self) -> None:
        states = [self.state(5, a=(5, False)), self.state(3, is_idle=True, a=(3, True))]

        splits, emitted, is_idle = pickle.loads(least_event_time(states))

        assert (splits["a"].watermark, splits["a"].is_idle) == (5, False)
        assert (emitted, is_idle) == (3, False)

    def test_knows_the_splits_of_all(self) -> None:
        states = [self.state(5, a=(5, False)), self.state(3, b=(3, False))]

        splits, _, _ = pickle.loads(least_event_time(states))

        assert {name: split.watermark for name, split in splits.items()} == {"a": 5, "b": 3}


@pytest.mark.parametrize("interval", [0, 200])
@pytest.mark.parametrize("is_punctuated", [True, False])
def test_watermarks_that_are_held_back_come_at_the_end_of_the_epoch(
    interval: int, is_punctuated: bool
) -> None:
    strategy = (
        WatermarkStrategy.for_generator(Marking)
        if is_punctuated
        else WatermarkStrategy.for_monotonous_timestamps()
    ).with_timestamp_assigner(lambda value, _: value)
    output, clock = CollectingOutput(), ManualClock()
    time = EventTime(strategy, interval, "held", output, clock, holds_back=True)
    time.begin_epoch()
    for block in ([50, 60], [7], list(range(10_000))):
        clock.advance(1_000)
        time.process(Block(block))
    assert [kind for kind, _ in output.log] == ["main"] * 3
    time.flush()
    expected = watermarks(9_999 if is_punctuated else 9_998)
    assert output.log[3:] == (expected if interval or is_punctuated else [])
    time.end_input()
    assert output.log[-1:] == watermarks(MAX_TIMESTAMP)


def test_generators_count_in_every_epoch() -> None:
    metrics = MetricGroup()
    on = Ready(WatermarkStrategy.for_generator(Counting), has_splits=True, metrics=metrics)
    on.process(1, 2, split="a")
    on.process(3, split="b")
    assert metrics.take() == {"events": 3}
    on.next_epoch()
    on.process(4, split="a")
    assert metrics.take() == {"events": 1}


def test_a_generator_that_cannot_get_ready_is_told_with_its_operator() -> None:
    class Refusing(Counting):
        def open(self, context: WatermarkGeneratorContext) -> None:
            raise OSError("closed")

    with pytest.raises(UserFunctionError, match=r"closed(.|\n)*'Mine'"):
        Ready(WatermarkStrategy.for_generator(Refusing))
