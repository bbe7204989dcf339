from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.executors.control import SECONDS, failing, taking
from tests.executors.scripted import Script, ScriptedSource

from penstock.common import JobStatus, RestartStrategies, Time, WatermarkStrategy
from penstock.common.job_client import JobClient
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import (
    CheckpointMismatchError,
    SourceNotReadableError,
    UnclaimedStateError,
    UserFunctionError,
)
from penstock.runtime.timestamp import MIN_TIMESTAMP
from penstock.testing import TestingSource, local_environment


@pytest.fixture(autouse=True)
def _short_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.executors.driver.epoch_loop._POLL_SECONDS", 0.001)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int | None) -> int:
        return value


TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
NONE = WatermarkStrategy.no_watermarks()


def environment(
    location: Path | None = None, parallelism: int = 1, **settings: str
) -> StreamExecutionEnvironment:
    env = local_environment(parallelism)
    if location is not None:
        env.get_checkpoint_config().set_checkpoint_storage_dir(str(location))
    for key, value in settings.items():
        env._configuration.set_string(f"execution.epoch.{key.replace('_', '-')}", value)
    return env


def scripted(
    env: StreamExecutionEnvironment,
    name: str,
    script: Script,
    strategy: WatermarkStrategy = NONE,
    kind: str = "a script",
) -> DataStream:
    source = ScriptedSource(name, script, kind)
    return env.from_source(source, strategy, "scripted").uid("scripted")


def totals(name: str, numbers: DataStream) -> list[int]:
    """Add a running sum, and return the list that its results go to."""
    found, take = taking(name)
    numbers.key_by(lambda number: 0).sum().uid("sum").add_sink(take).set_parallelism(1).uid("sink")
    return found


def sums(numbers: list[int], start: int = 0) -> list[int]:
    return list(itertools.accumulate(numbers, initial=start))[1:]


def until(client: JobClient, done: Callable[[], bool]) -> None:
    """Wait until something holds, or the job has ended."""
    for _ in range(SECONDS * 1000):
        if done() or client._job._done.wait(0.001):  # type: ignore[attr-defined]
            return
    raise AssertionError("It never held.")


@pytest.mark.parametrize("parallelism", [1, 3])
def test_each_piece_is_read_once(name: str, parallelism: int) -> None:
    env = environment(parallelism=parallelism)
    found, take = taking(name)
    script = Script([[1], [2, 3], [4], [5]], [], [[6]])
    scripted(env, name, script).add_sink(take)

    client = env.execute_async()
    client.wait()

    assert (sorted(found), client.progress().epochs) == ([1, 2, 3, 4, 5, 6], 2)
    assert script.states[0] is None
    assert script.is_closed


def test_what_a_source_notes_is_committed_though_there_is_nothing_to_read(name: str) -> None:
    env = environment()
    script = Script(None, [], [[1]])
    scripted(env, name, script).print()

    env.execute()

    assert script.committed == [{"epochs": 1}, {"epochs": 2}]


def test_an_epoch_that_fails_is_run_again_with_the_plan_that_it_had(name: str) -> None:
    env = environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(5, 0))
    script = Script([[1]], [[2], [3]], [[4]])
    found = totals(name, scripted(env, name, script).map(failing(name, 3)))

    env.execute()

    # The script gives each epoch but once.
    assert found == sums([1, 2, 3, 4])
    assert script.states == [None, {"epochs": 1}, {"epochs": 2}]


def test_another_driver_goes_on_from_the_plans_of_committed_epochs(
    name: str, tmp_path: Path
) -> None:
    env = environment(tmp_path)
    first = totals(f"{name} 1", scripted(env, name, Script([[1]], [[2]])).map(failing(name, 1)))
    with pytest.raises(UserFunctionError):
        env.execute()
    env = environment(tmp_path)
    script = Script([[2]], [[3]])
    second = totals(f"{name} 2", scripted(env, name, script).map(failing(name, 0)))

    env.execute()

    assert (first, second) == ([1], [3, 6])
    assert script.states[0] == {"epochs": 1}


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_stream_waits_until_there_is_something_new(
    name: str, tmp_path: Path, parallelism: int
) -> None:
    script = Script(ends=False)
    env = environment(tmp_path, parallelism)
    found = totals(name, scripted(env, name, script))
    client = env.execute_async()

    until(client, lambda: len(script.states) > 3)
    assert client.progress().epochs == 0
    script.epochs += [[[1], [2]]]
    until(client, lambda: len(found) == 2)
    script.epochs += [[[3]]]
    until(client, lambda: len(found) == 3)
    client.stop().result()

    assert found == sums([1, 2, 3])
    assert client.progress().epochs == 2
    assert script.is_closed


def test_a_source_that_cannot_tell_what_is_new_fails_the_job(name: str) -> None:
    script = Script(ends=False)
    script.error = SourceNotReadableError("It is gone.", hint="Look for it.")
    env = environment()
    scripted(env, name, script).print()

    with pytest.raises(SourceNotReadableError, match=r"It is gone\."):
        env.execute()


class TestEventTime:
    def test_ends_with_a_source_beside_one_that_has_more(self, name: str) -> None:
        env = environment()
        found, take = taking(name)
        ended = scripted(env, f"{name} 1", Script([[1, 12]], ends=True), TIMES)
        script = Script([[3, 25]], ends=False)
        source = ScriptedSource(f"{name} 2", script)
        goes_on = env.from_source(source, TIMES, "other").uid("other")
        windows = ended.union(goes_on).key_by(lambda number: 0)
        windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).sum().add_sink(take)
        client = env.execute_async()

        until(client, lambda: len(found) == 2)
        client.cancel().result()

        assert found == [4, 12]

    def test_is_ended_by_a_drain_and_begins_anew_after_it(self, name: str, tmp_path: Path) -> None:
        found, take = taking(name)

        def start(script: Script) -> JobClient:
            env = environment(tmp_path / "job")
            windows = scripted(env, name, script, TIMES).key_by(lambda number: 0)
            sums = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).sum()
            sums.uid("sums").add_sink(take).uid("sink")
            return env.execute_async()

        script = Script([[21, 22]], ends=False)
        client = start(script)
        until(client, lambda: client.progress().epochs == 1)
        client.stop_with_savepoint(
            advance_to_end_of_event_time=True, savepoint_directory=str(tmp_path / "savepoints")
        ).result()
        assert found == [43]
        again = Script([[3]], ends=True)
        start(again).wait()
        assert found == [43, 3]
        assert again.states[0] == {"epochs": 1}

    @pytest.mark.parametrize("parallelism", [1, 2])
    def test_is_that_of_the_split_that_is_farthest_behind(
        self, name: str, parallelism: int
    ) -> None:
        env = environment(parallelism=parallelism)
        found, take = taking(name)
        script = Script([[7, 1], [8, 2]], [[7, 25]], [[8, 3]], [[7, 31], [8, 26]], ends=True)
        source = ScriptedSource(name, script, has_splits=True)
        keyed = env.from_source(source, TIMES, "splits").key_by(lambda number: 0)
        windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        windows.sum().add_sink(take).set_parallelism(1)

        env.execute()

        assert found == [1 + 2 + 3, 25 + 26, 31]

    @pytest.mark.parametrize("parallelism", [1, 2])
    def test_waits_for_a_split_that_has_no_records_yet(self, name: str, parallelism: int) -> None:
        env = environment(parallelism=parallelism)
        found, take = taking(name)
        script = Script([[7, 1, 25], [8]], [[7, 35]], [[8, 3]], [[7, 45], [8, 26]], ends=True)
        source = ScriptedSource(name, script, has_splits=True)
        keyed = env.from_source(source, TIMES, "splits").key_by(lambda number: 0)
        windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        windows.sum().add_sink(take).set_parallelism(1)

        env.execute()

        assert found == [1 + 3, 25 + 26, 35, 45]
        assert script.committed == [{"epochs": epochs} for epochs in (1, 2, 3, 4)]

    def test_its_watermark_is_shown_as_operators_behind_it_know_it(self, name: str) -> None:
        env = environment(parallelism=2)
        script = Script([[7, 1], [8, 2]], [[7, 25], [8, 26]], ends=False)
        source = ScriptedSource(name, script, has_splits=True)
        numbers = env.from_source(source, TIMES, "splits").map(lambda number: number).name("map")
        numbers.key_by(lambda number: 0).sum().name("sum").print()
        client = env.execute_async()
        until(client, lambda: client.progress().epochs == 2)
        client.cancel().result()

        shown = {
            report["name"]: (report["input_watermark"], report["output_watermark"])
            for report in client.progress().operators.values()
        }
        assert shown["Source: splits"] == (MIN_TIMESTAMP, 24)
        assert shown["map"] == shown["sum"] == (24, 24)

    def test_timers_need_no_records(self, name: str) -> None:
        class Later(KeyedProcessFunction):
            def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
                timers = ctx.timer_service()
                timers.register_processing_time_timer(timers.current_processing_time() + 5)

            def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
                yield -ctx.get_current_key()

        env = environment()
        found, take = taking(name)
        numbers = scripted(env, name, Script([[1]], ends=False))
        numbers.key_by(lambda number: number).process(Later()).add_sink(take)
        client = env.execute_async()

        until(client, lambda: bool(found))
        client.cancel().result()

        assert found == [-1]


class TestARunThatEnds:
    def test_reads_what_is_there_and_the_next_goes_on(self, name: str, tmp_path: Path) -> None:
        found: list[int] = []
        for number, epochs in enumerate([[[1], [2]], [[3]]]):
            env = environment(tmp_path, available_now="true", end_of_input="false")
            script = Script(*[[piece] for piece in epochs], ends=False)
            taken = totals(f"{name} {number}", scripted(env, name, script))
            env.execute()
            found += taken
        assert found == sums([1, 2, 3])

    def test_ends_the_input_by_default(
        self, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        found, take = taking(name)
        for epochs in ([[[1], [2]]], [[[3]]]):
            env = environment(tmp_path, available_now="true")
            windows = scripted(env, name, Script(*epochs, ends=False), TIMES).key_by(lambda n: 0)
            sums = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).sum()
            sums.uid("sums").add_sink(take).uid("sink")
            with caplog.at_level(logging.WARNING, "penstock"):
                env.execute()
        assert found == [3]
        assert "there is nothing left to do" in caplog.text


class TestAChangedProgram:
    @pytest.fixture
    def location(self, name: str, tmp_path: Path) -> Path:
        env = environment(tmp_path / "job")
        totals(name, scripted(env, name, Script([[1], [2]], ends=False)))
        client = env.execute_async()
        until(client, lambda: client.progress().epochs == 1)
        client.stop().result()
        return tmp_path / "job"

    def test_may_have_another_parallelism_and_another_source(
        self, name: str, location: Path
    ) -> None:
        env = environment(location, 3)
        script = Script([[3], [4], [5]])
        numbers = scripted(env, name, script)
        other = env.from_source(TestingSource([[10], [20]]), NONE, "new").uid("new")
        found = totals(name, numbers.union(other))

        env.execute()

        assert (len(found), max(found)) == (5, 3 + 3 + 4 + 5 + 30)
        assert script.states[0] == {"epochs": 1}

    def test_may_not_lose_the_source(self, name: str, location: Path) -> None:
        env = environment(location)
        totals(name, env.from_source(TestingSource([[1]]), NONE, "new").uid("new"))

        with pytest.raises(UnclaimedStateError, match=r"\(uid 'scripted'\)"):
            env.execute()

    @pytest.mark.parametrize("planned", [True, False])
    def test_may_not_read_it_as_something_else(
        self, name: str, location: Path, *, planned: bool
    ) -> None:
        env = environment(location)
        if planned:
            numbers = scripted(env, name, Script([[1]]), kind="a book")
        else:
            numbers = env.from_source(TestingSource([[1]]), NONE, "it").uid("scripted")
        totals(name, numbers)

        now = "a book" if planned else "bounded"
        with pytest.raises(CheckpointMismatchError, match=f"is {now}, and was a script"):
            env.execute()


def test_a_cancelled_job_gives_up_its_epoch_and_the_next_start_reads_it(
    name: str, tmp_path: Path
) -> None:
    env = environment(tmp_path)
    numbers = scripted(env, name, Script([[1]], [[2]], ends=False)).map(failing(name, 9))
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(9, 60_000))
    totals(name, numbers)
    client = env.execute_async()
    until(client, lambda: client.get_job_status().result() is JobStatus.RESTARTING)
    client.cancel().result()

    env = environment(tmp_path)
    found = totals(name, scripted(env, name, Script([[2]])).map(failing(name, 0)))
    env.execute()

    assert found == [3]
