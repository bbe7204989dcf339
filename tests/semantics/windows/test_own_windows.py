"""Windows of a class of the user's, which a serializer of the user's writes: assigned, merged and fired by the user's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from tests.semantics.conftest import NewEnvironment
from tests.semantics.running import epochs

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.common.serializer import TypeSerializer
from penstock.datastream import (
    DataStream,
    ProcessWindowFunction,
    ReducingStateDescriptor,
)
from penstock.datastream.window import (
    EventTimeSessionWindows,
    MergingWindowAssigner,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    Window,
    WindowAssigner,
)
from penstock.errors import InvalidWindowError
from penstock.testing import local_environment

Record = tuple[str, str, int, int]
"""A key, the name of a shift, an event time and a number."""

GAP = 10
SEEN = ReducingStateDescriptor("seen", lambda one, other: one + other, Types.LONG())
RECORDS: list[Record] = [
    *[("k", "early", 0, 1), ("k", "late", 0, 2), ("l", "early", 3, 3), ("k", "early", 18, 4)],
    *[("k", "late", 30, 5), ("k", "early", 9, 6), ("k", "early", 21, 7), ("l", "early", 40, 8)],
    *[("k", "late", 39, 9), ("l", "early", 33, 10), ("k", "late", 75, 11), ("l", "early", 90, 12)],
    *[("l", "early", 99, 13), ("k", "late", 90, 14), ("k", "early", 200, 15)],
]


class Shift(Window):
    """Has a name beside its bounds, and notes that make no difference and could not be a key."""

    def __init__(self, name: str, start: int, end: int) -> None:
        self.name, self.start, self.end = name, start, end
        self.notes: list[str] = []

    def max_timestamp(self) -> int:
        return self.end - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shift) and self.written() == other.written()

    def __hash__(self) -> int:
        return hash(self.written())

    def written(self) -> tuple[Any, ...]:
        return self.name, self.start, self.end


class ShiftSerializer(TypeSerializer[Shift]):
    def serialize(self, element: Shift, stream: IO[bytes]) -> None:
        stream.write(json.dumps(element.written()).encode())

    def deserialize(self, stream: IO[bytes]) -> Shift:
        return Shift(*json.loads(stream.read()))


class Shifts(MergingWindowAssigner[Record, Shift]):
    """Makes one shift of those of a name between which is no gap."""

    def assign_windows(self, element: Record, timestamp: int | None, context: Any) -> list[Shift]:
        assert timestamp is not None
        return [Shift(element[1], timestamp, timestamp + GAP)]

    def merge_windows(self, windows: Iterable[Shift], callback: Any) -> None:
        class Named(MergingWindowAssigner.MergeCallback[Any]):
            def merge(self, to_be_merged: Any, merge_result: Any) -> None:
                parts = [shift for shift in known if (shift.start, shift.end) in to_be_merged]
                callback.merge(parts, Shift(known[0].name, *merge_result))

        shifts = list(windows)
        for name in {shift.name for shift in shifts}:
            known = [shift for shift in shifts if shift.name == name]
            for shift in known:
                shift.notes.append("looked at")
            TimeWindow.merge_windows([TimeWindow(one.start, one.end) for one in known], Named())

    def get_default_trigger(self, env: Any) -> Trigger[Record, Shift]:
        return AtThreeAndAtTheEnd()

    def get_window_serializer(self) -> TypeSerializer[Shift]:
        return ShiftSerializer()

    def is_event_time(self) -> bool:
        return True


class AtThreeAndAtTheEnd(Trigger[Any, Any]):
    """Fires for the third record of a window, and when the window ends."""

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        seen = ctx.get_partitioned_state(SEEN)
        seen.add(1)
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE if seen.get() == 3 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        is_end = time == window.max_timestamp()
        return TriggerResult.FIRE if is_end else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(SEEN)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(SEEN).clear()
        ctx.delete_event_time_timer(window.max_timestamp())


class Listed(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Record]) -> Iterator[Any]:
        window = context.window()
        numbers = sorted(element[3] for element in elements)
        yield key[0], getattr(window, "name", key[1:]), window.start, window.end, str(numbers)


class FailsOnce:
    """Fails at a number, the first time."""

    def __init__(self, number: int, marker: Path) -> None:
        self._number, self._marker = number, marker

    def __call__(self, record: Record) -> Record:
        if record[3] == self._number and not self._marker.exists():
            self._marker.touch()
            raise RuntimeError("once")
        return record


def timed(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(25))
    strategy = strategy.with_timestamp_assigner(lambda record, _: record[2])
    return stream.set_parallelism(1).assign_timestamps_and_watermarks(strategy).set_parallelism(1)


def found_with(stream: DataStream) -> list[Any]:
    keyed = timed(stream).key_by(lambda record: record[0])
    with keyed.window(Shifts()).process(Listed()).execute_and_collect() as results:
        return sorted(results)


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    """What sessions give, whose keys have the names."""
    keyed = timed(local_environment().from_collection(RECORDS)).key_by(lambda one: one[:2])
    sessions = keyed.window(EventTimeSessionWindows(GAP)).trigger(AtThreeAndAtTheEnd())
    with sessions.process(Listed()).execute_and_collect() as results:
        return sorted((key, *name, *rest) for key, name, *rest in results)


def test_merge_and_fire_as_sessions_whose_keys_have_the_names(
    executor: str, new_environment: NewEnvironment, expected: list[Any], tmp_path: Path
) -> None:
    """Also where the job fails and goes on, and windows of several epochs merge."""
    cuts = [RECORDS[:3], RECORDS[3:6], RECORDS[6:9], RECORDS[9:]]
    for backend in ["rocksdb", "hashmap"] if executor == "local" else ["rocksdb"]:
        env = new_environment(
            2,
            state__backend__type=backend,
            restart_strategy__type="fixed-delay",
            restart_strategy__fixed_delay__delay="1 ms",
        )
        marker = tmp_path / backend
        assert found_with(epochs(env, *cuts).map(FailsOnce(10, marker))) == expected
        assert marker.exists()


class Nameless(ShiftSerializer):
    def deserialize(self, stream: IO[bytes]) -> Shift:
        return Shift("", *json.loads(stream.read())[1:])


@pytest.mark.parametrize(
    ("serializer", "message"),
    [
        (Nameless(), r"Nameless\(\), the window serializer of operator 'Shifts'.*is not equal"),
        (None, "None, which is no TypeSerializer"),
    ],
)
def test_a_serializer_that_does_not_give_windows_back_is_refused(
    serializer: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shifts, "get_window_serializer", lambda self: serializer)
    with pytest.raises(InvalidWindowError, match=f"(?s){message}.*Hint: "):
        found_with(local_environment().from_collection(RECORDS))


class Ten(Window):
    """Ten milliseconds, which nothing but another window may be compared with."""

    def __init__(self, start: int) -> None:
        self.start = start

    def max_timestamp(self) -> int:
        return self.start + 9

    def __eq__(self, other: Any) -> bool:
        return bool(self.start == other.start)

    def __hash__(self) -> int:
        return hash(self.start)


class Tens(WindowAssigner[Record, Ten]):
    def assign_windows(self, element: Record, timestamp: int | None, context: Any) -> list[Ten]:
        assert timestamp is not None
        return [Ten(timestamp // 10 * 10)]

    def get_default_trigger(self, env: Any) -> Trigger[Record, Ten]:
        return AtThreeAndAtTheEnd()

    def is_event_time(self) -> bool:
        return True


class Numbers(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Record]) -> Iterator[Any]:
        yield key, context.window().start, sorted(element[3] for element in elements)


def test_are_compared_with_windows_alone() -> None:
    found = set()
    for assigner in (TumblingEventTimeWindows.of(Time.milliseconds(10)), Tens()):
        for backend in ("hashmap", "rocksdb"):
            env = local_environment()
            env._configuration.set_string("state.backend.type", backend)
            keyed = timed(epochs(env, RECORDS[:6], RECORDS[6:])).key_by(lambda record: record[0])
            windows = keyed.window(assigner).trigger(AtThreeAndAtTheEnd())
            found.add(repr(sorted(windows.process(Numbers()).execute_and_collect())))
    assert len(found) == 1
