from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import (
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    TimeDomain,
    ValueStateDescriptor,
)
from penstock.errors import (
    InvalidFunctionError,
    ProcessingTimeServiceShutDownError,
    UnsupportedOperationError,
    UserFunctionError,
)
from penstock.testing import (
    KeyedProcessFunctionHarness,
    ProcessFunctionHarness,
    StreamRecord,
    Watermark,
)

LATE = OutputTag("late")
BACKENDS = ["hashmap", "rocksdb"]


class Counted(KeyedProcessFunction):
    """Counts records of a key, and reports at both times when it is asked to."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context
        self.is_closed = False
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def close(self) -> None:
        self.is_closed = True

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        _, event_time, processing_time = value
        if (
            ctx.timestamp() is not None
            and ctx.timestamp() <= ctx.timer_service().current_watermark()
        ):
            yield LATE, value
            return
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(event_time)
        ctx.timer_service().register_processing_time_timer(processing_time)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        now = ctx.timer_service().current_processing_time()
        yield ctx.time_domain(), ctx.get_current_key(), self.count.value(), now


def counted(**options: Any) -> KeyedProcessFunctionHarness:
    return KeyedProcessFunctionHarness(Counted(), lambda value: value[0], **options)


@pytest.mark.parametrize("backend", BACKENDS)
def test_records_watermarks_and_the_clock_drive_a_function(backend: str) -> None:
    with counted(state_backend=backend, processing_time=5) as harness:
        harness.process_element(("a", 10, 30), timestamp=1)
        harness.process_element(("b", 20, 20), timestamp=2)
        harness.process_element(("a", 10, 20), timestamp=3)
        harness.process_watermark(9)
        assert harness.extract_output_values() == []
        assert [timer.timestamp for timer in harness.event_time_timers()] == [10, 20]
        assert [timer.timestamp for timer in harness.processing_time_timers()] == [20, 20, 30]

        harness.process_watermark(10)
        harness.set_processing_time(19)
        harness.set_processing_time(25)
        harness.process_element(("b", 0, 0), timestamp=4)
        event, clock = TimeDomain.EVENT_TIME, TimeDomain.PROCESSING_TIME
        first, *others = harness.extract_output_values()
        assert first == (event, "a", 2, 5)
        assert sorted(others, key=lambda found: found[1]) == [
            (clock, "a", 2, 25),
            (clock, "b", 1, 25),
        ]
        assert harness.get_output()[:3] == [Watermark(9), StreamRecord(first, 10), Watermark(10)]
        assert harness.get_side_output(LATE) == [StreamRecord(("b", 0, 0), 4)]
        assert harness.num_event_time_timers() == harness.num_processing_time_timers() == 1
        harness.clear_output()
        assert harness.get_side_output(LATE) == []


@pytest.mark.parametrize("before", BACKENDS)
@pytest.mark.parametrize("after", BACKENDS)
def test_timers_and_watermarks_are_restored(before: str, after: str) -> None:
    with counted(state_backend=before) as harness:
        harness.process_element(("a", 10, 100), timestamp=1)
        harness.process_element(("b", 90, 80), timestamp=2)
        harness.process_watermark(50)
        harness.set_processing_time(60)
        snapshot = harness.snapshot()

    with counted(state_backend=after) as restored:
        restored.restore(snapshot)
        assert restored.get_processing_time() == 60
        assert [timer[:2] for timer in restored.event_time_timers()] == [(90, "b")]
        times = [timer[:2] for timer in restored.processing_time_timers()]
        assert times == [(80, "b"), (100, "a")]
        restored.process_element(("a", 0, 0), timestamp=50)
        assert len(restored.get_side_output(LATE)) == 1
        restored.set_processing_time(100)
        restored.process_watermark(90)
        keys = [(value[0], value[1]) for value in restored.extract_output_values()]
        assert keys == [
            (TimeDomain.PROCESSING_TIME, "b"),
            (TimeDomain.PROCESSING_TIME, "a"),
            (TimeDomain.EVENT_TIME, "b"),
        ]


def test_timers_that_are_due_fire_when_they_are_restored() -> None:
    harness = counted()
    harness.process_element(("a", 10, 100), timestamp=1)
    snapshot = harness.snapshot()
    with counted(processing_time=500) as restored:
        restored.restore(snapshot)
        assert restored.extract_output_values() == [(TimeDomain.PROCESSING_TIME, "a", 1, 500)]


def test_at_the_end_event_time_timers_fire_and_no_others() -> None:
    harness = counted()
    harness.process_element(("a", 10, 100), timestamp=1)
    harness.end_input()
    harness.set_processing_time(1000)
    assert harness.extract_output_values() == [(TimeDomain.EVENT_TIME, "a", 1, 0)]


def test_the_copy_that_runs_is_opened_and_closed() -> None:
    function = Counted()
    with KeyedProcessFunctionHarness(
        function, 0, parallelism=3, subtask=1, job_parameters={"limit": "7"}
    ) as harness:
        running = harness.function
        assert running is not function
        assert running.context.get_index_of_this_subtask() == 1
        assert running.context.get_job_parameter("limit", "0") == "7"
        harness.restore(harness.snapshot())
        assert running.is_closed
        assert not harness.function.is_closed


def test_errors_are_those_of_a_job() -> None:
    class Failing(KeyedProcessFunction):
        def process_element(self, value: int, ctx: Any) -> list[Any]:
            ctx.timer_service().register_event_time_timer(value)
            return [1 // value]

        def on_timer(self, timestamp: int, ctx: Any) -> list[Any]:
            raise ValueError("no time")

    harness = KeyedProcessFunctionHarness(Failing(), lambda value: value)
    harness.process_element(1)
    with pytest.raises(UserFunctionError, match="the record 0"):
        harness.process_element(0)
    with pytest.raises(UserFunctionError, match="the timer for 0 of the key 0"):
        harness.process_watermark(1)


def test_a_function_that_does_not_open_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Shut(Counted):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            raise OSError(f"no connection, and {len(list(tmp_path.iterdir()))} folder")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(UserFunctionError, match="no connection, and 1 folder"):
        KeyedProcessFunctionHarness(Shut(), 0, state_backend="rocksdb")
    assert not list(tmp_path.iterdir())


def test_after_the_end_there_are_no_timers() -> None:
    class Belated(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            self.timers = ctx.timer_service()

        def close(self) -> None:
            self.timers.register_processing_time_timer(1)

    harness = KeyedProcessFunctionHarness(Belated(), 0)
    harness.process_element("a")
    with pytest.raises(ProcessingTimeServiceShutDownError, match="after the task had ended"):
        harness.close()


def test_a_function_without_keys_has_time_and_no_timers() -> None:
    class Watch(ProcessFunction):
        def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
            service = ctx.timer_service()
            if value == "set":
                service.register_event_time_timer(1)
            yield (
                value,
                ctx.timestamp(),
                service.current_watermark(),
                service.current_processing_time(),
            )

    harness = ProcessFunctionHarness(Watch(), processing_time=3)
    harness.process_watermark(4)
    harness.process_element("look", timestamp=5)
    assert harness.extract_output_values() == [("look", 5, 4, 3)]
    with pytest.raises(UnsupportedOperationError, match="only supported on a keyed stream"):
        harness.process_element("set")


@pytest.mark.parametrize("wrong", [Counted, None, lambda value: []])
def test_what_is_no_process_function_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidFunctionError):
        KeyedProcessFunctionHarness(wrong, 0)
    with pytest.raises(InvalidFunctionError):
        ProcessFunctionHarness(wrong)
