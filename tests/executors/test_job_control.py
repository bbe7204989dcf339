"""Restarts, savepoints, stops and listeners, of jobs that run in this process."""

from __future__ import annotations

import logging
import queue
import re
import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.executors.control import SECONDS, Gates, failing, holding, taking

from penstock.checkpoint.savepoint import read_savepoint
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Configuration, JobStatus, RestartStrategies, Time, WatermarkStrategy
from penstock.common.completable_future import CompletableFuture
from penstock.common.job_client import JobClient
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import (
    EpochCompleted,
    EpochListener,
    JobEnded,
    JobRestarting,
    JobStarted,
    StreamExecutionEnvironment,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import (
    CheckpointMismatchError,
    EpochListenerWarning,
    InvalidArgumentError,
    OtherJobError,
    SavepointError,
    UserFunctionError,
)
from penstock.executors.driver.recovery.restarts import is_worth_restarting
from penstock.executors.driver.savepoints import Savepoints
from penstock.testing import TestingSource, local_environment


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


def environment(location: Path | None = None) -> StreamExecutionEnvironment:
    env = local_environment()
    if location is not None:
        env.get_checkpoint_config().set_checkpoint_storage_dir(str(location))
    return env


def same(number: int) -> int:
    return number


def sums(
    name: str,
    env: StreamExecutionEnvironment,
    epochs: list[list[int]],
    function: Callable[[int], int] = same,
) -> list[int]:
    """Build a program that keeps a running sum, and return the list that its results go to."""
    found, take = taking(name)
    numbers = env.from_source(
        TestingSource(epochs), WatermarkStrategy.no_watermarks(), "numbers"
    ).uid("numbers")
    total = numbers.map(function).key_by(lambda number: 0).sum().uid("sum")
    total.add_sink(take).uid("sink")
    return found


class Held:
    """A job whose epochs have one record each, its number, and wait for the test."""

    def __init__(self, name: str, epochs: int, env: StreamExecutionEnvironment) -> None:
        self.gates, hold = holding(name)
        self.found = sums(name, env, [[number] for number in range(epochs)], hold)
        self.client = env.execute_async("held")


def wait_at_gate(client: JobClient) -> None:
    """Wait until someone waits for the end of the epoch that is running."""
    while not client._job._gate._guests:  # type: ignore[attr-defined]
        pass


class Ear(EpochListener):
    """Remembers what it hears."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.threads: set[str] = set()

    def _hear(self, event: Any) -> None:
        self.heard.append(event)
        self.threads.add(threading.current_thread().name)

    on_job_started = on_epoch_completed = on_job_restarting = on_job_ended = _hear


class Alarm(Ear):
    """Tells the test of a restart."""

    def __init__(self) -> None:
        super().__init__()
        self.restarting = threading.Event()

    def on_job_restarting(self, event: JobRestarting) -> None:
        self._hear(event)
        self.restarting.set()


EPOCHS = [[1], [2], [3]]


class TestRestarts:
    @pytest.mark.parametrize("durable", [True, False])
    def test_go_on_from_the_last_epoch(
        self, name: str, durable: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        env = environment(tmp_path if durable else None)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
        found = sums(name, env, EPOCHS, failing(name, 2))
        with caplog.at_level(logging.WARNING, "penstock"):
            client = env.execute_async("sums")
            result = client.get_job_execution_result().result()
        progress = client.progress()

        assert found == [1, 3, 6]
        assert (progress.status, progress.restarts, result.metrics["restarts"]) == (
            JobStatus.FINISHED,
            2,
            2,
        )
        assert isinstance(progress.last_error, UserFunctionError)
        first, second = caplog.messages
        assert first == f"sums: epoch 1 failed; restart 1 in 0 s:\n{progress.last_error}"
        assert re.fullmatch(
            r"sums: epoch 1 failed: ValueError: not yet \(operator 'Map', record 2, "
            r"\S+control\.py:\d+ in _fail\); restart 2 in 0 s",
            second,
        )

    def test_come_to_an_end_with_the_users_own_error(self, name: str) -> None:
        env = environment()
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, 0))
        found = sums(name, env, EPOCHS, failing(name, 100))
        client = env.execute_async()
        with pytest.raises(UserFunctionError, match="ValueError: not yet") as raised:
            client.wait()

        assert raised.value.__notes__ == [
            "The job was restarted 2 times before it failed with this."
        ]
        assert found == [1]
        progress = client.progress()
        assert (progress.status, progress.last_error) == (JobStatus.FAILED, raised.value)

    def test_are_none_without_checkpointing(self, name: str) -> None:
        env = environment()
        sums(name, env, EPOCHS, failing(name, 1))
        client = env.execute_async()
        with pytest.raises(UserFunctionError):
            client.wait()
        assert client.progress().restarts == 0

    def test_are_exponential_with_checkpointing_and_can_be_cancelled(self, name: str) -> None:
        ear = Alarm()
        env = environment().enable_checkpointing(10_000)
        env.add_epoch_listener(ear)
        sums(name, env, EPOCHS, failing(name, 100))
        client = env.execute_async()
        assert ear.restarting.wait(SECONDS)
        assert client.get_job_status().result() is JobStatus.RESTARTING
        client.cancel().result()

        assert client.get_job_status().result() is JobStatus.CANCELED
        restart = next(event for event in ear.heard if isinstance(event, JobRestarting))
        assert restart.restarts == 1
        assert 1_000 <= restart.delay <= 1_100


class TestListeners:
    def test_hear_of_all_in_order_and_from_one_thread(self, name: str) -> None:
        ear = Ear()
        env = environment()
        env.add_epoch_listener(ear)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
        sums(name, env, EPOCHS, failing(name, 1))
        client = env.execute_async("sums")
        client.wait()
        job_id = str(client.get_job_id())

        kinds = [type(event) for event in ear.heard]
        assert kinds[0] is JobStarted
        assert kinds[-1] is JobEnded
        assert sorted(kind.__name__ for kind in kinds[1:-1]) == [
            *["EpochCompleted"] * 3,
            "JobRestarting",
        ]
        assert ear.heard[0] == JobStarted(job_id, "sums")
        assert ear.heard[-1] == JobEnded(job_id, JobStatus.FINISHED, 3)
        epochs = [event for event in ear.heard if isinstance(event, EpochCompleted)]
        assert [(event.epoch, event.records_in) for event in epochs] == [(0, 1), (1, 1), (2, 1)]
        assert epochs[0].checkpoint_size == epochs[0].state_size > 0
        assert len(ear.threads) == 1

    def test_that_raise_are_warned_of_and_do_no_harm(self, name: str) -> None:
        class Deaf(EpochListener):
            def on_epoch_completed(self, event: EpochCompleted) -> None:
                raise ValueError("deaf")

        env = environment()
        env.add_epoch_listener(Deaf())
        found = sums(name, env, EPOCHS)
        with pytest.warns(EpochListenerWarning, match=r"Deaf raised ValueError\('deaf'\)"):
            env.execute()
        assert found == [1, 3, 6]

    @pytest.mark.parametrize("end", ["cancel", "stop", "get_job_execution_result"])
    def test_cannot_wait_for_the_end_of_their_job(self, name: str, end: str) -> None:
        class Waiting(EpochListener):
            def on_epoch_completed(self, event: EpochCompleted) -> None:
                getattr(clients.get(timeout=SECONDS), end)().result()

        clients: queue.Queue[JobClient] = queue.Queue()
        env = environment()
        env.add_epoch_listener(Waiting())
        sums(name, env, [[1]])
        client = env.execute_async("sums")
        clients.put(client)

        with pytest.warns(EpochListenerWarning, match="WaitInListenerError"):
            client.wait()

    def test_hear_of_restarts_and_epochs_in_the_order_of_events(
        self, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Slow(Ear):
            def on_job_started(self, event: JobStarted) -> None:
                assert over.wait(SECONDS)

        over = threading.Event()
        env = environment(tmp_path)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
        ear = Slow()
        env.add_epoch_listener(ear)
        sums(name, env, EPOCHS, failing(name, 1))
        client = env.execute_async("sums")
        assert client._job._ended.wait(SECONDS)  # type: ignore[attr-defined]
        over.set()
        with caplog.at_level(logging.WARNING, "penstock"):
            client.wait()

        assert [type(event) for event in ear.heard] == [
            EpochCompleted,
            JobRestarting,
            EpochCompleted,
            EpochCompleted,
            JobEnded,
        ]
        assert "epoch 1 failed" in caplog.text


class TestSavepoints:
    @pytest.mark.parametrize("directory", [5, Path("folder")])
    def test_need_a_place_that_is_a_text(self, name: str, directory: Any) -> None:
        held = Held(name, 1, environment())
        with pytest.raises(InvalidArgumentError, match="no folder for savepoints"):
            held.client.trigger_savepoint(directory).result()
        held.gates.let_through(0)
        held.client.wait()

    def test_hold_the_last_epoch_and_can_be_moved_and_started_from(
        self, name: str, tmp_path: Path
    ) -> None:
        held = Held(name, 4, environment(tmp_path / "job"))
        held.gates.reach(2)
        future = held.client.trigger_savepoint(str(tmp_path / "savepoints"))
        wait_at_gate(held.client)
        held.gates.let_through(2, 3)
        path = Path(future.result())
        held.client.wait()

        assert read_savepoint(LocalStorage(str(path))).number == 2
        assert path.parent == tmp_path / "savepoints"
        assert path.name.startswith(f"savepoint-{str(held.client.get_job_id())[:6]}-")
        assert held.found == [0, 1, 3, 6]

        moved = tmp_path / "elsewhere"
        shutil.move(path, moved)
        shutil.rmtree(tmp_path / "job")
        env = environment(tmp_path / "other")
        env._configuration.set_string("execution.state-recovery.path", str(moved))
        found = sums(name, env, [[0], [1], [2], [3]])
        env.execute()
        assert found == [6]

    def test_of_a_job_without_a_location_can_be_taken(self, name: str, tmp_path: Path) -> None:
        held = Held(name, 3, environment())
        held.gates.reach(1)
        future = held.client.savepoint(str(tmp_path / "mine"))
        wait_at_gate(held.client)
        held.gates.let_through(1, 2)

        assert future.result() == str(tmp_path / "mine")
        assert read_savepoint(LocalStorage(str(tmp_path / "mine"))).number == 1
        held.client.wait()

    @pytest.mark.parametrize("stops", ["stop", "with a savepoint", "drained", "ends"])
    def test_that_are_asked_for_before_a_stop_are_taken(
        self, name: str, stops: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Though the thread that writes them comes last."""
        asked = threading.Event()
        place = Savepoints.place

        def late(savepoints: Savepoints, path: str | None, directory: str | None) -> Any:
            assert path is None or asked.wait(SECONDS)
            return place(savepoints, path, directory)

        monkeypatch.setattr(Savepoints, "place", late)
        held = Held(name, 3, environment(tmp_path / "job"))
        held.gates.reach(1)
        future = held.client.savepoint(str(tmp_path / "mine"))
        ways: dict[str, Callable[[], CompletableFuture[Any]]] = {
            "stop": held.client.stop,
            "with a savepoint": partial(
                held.client.stop_with_savepoint,
                advance_to_end_of_event_time=False,
                savepoint_directory=str(tmp_path),
            ),
            "drained": partial(
                held.client.stop_with_savepoint,
                advance_to_end_of_event_time=True,
                savepoint_directory=str(tmp_path),
            ),
            "ends": held.client.get_job_execution_result,
        }
        end = ways[stops]()
        later = held.client.savepoint(str(tmp_path / "later"))
        held.gates.let_through(1, 2)
        asked.set()

        assert read_savepoint(LocalStorage(future.result())).number == 1
        end.result()
        if stops != "ends":
            with pytest.raises(SavepointError, match="has ended, or is about to"):
                later.result()
            assert held.found == [0, 1]
        else:
            assert read_savepoint(LocalStorage(later.result())).number == 1

    def test_that_are_asked_for_before_a_cancel_are_taken(self, name: str, tmp_path: Path) -> None:
        held = Held(name, 3, environment(tmp_path / "job"))
        held.gates.reach(1)
        future = held.client.savepoint(str(tmp_path / "mine"))
        end = held.client.cancel()
        held.gates.let_through(1, 2)

        assert read_savepoint(LocalStorage(future.result())).number == 1
        end.result()

    def test_need_a_place_that_is_not_empty(self, name: str) -> None:
        held = Held(name, 2, environment())
        held.gates.reach(1)
        with pytest.raises(InvalidArgumentError, match="'' is no place for checkpoints"):
            held.client.savepoint("").result()
        held.gates.let_through(1)
        held.client.wait()

    def test_of_a_bounded_job_cannot_be_taken(self, name: str, tmp_path: Path) -> None:
        held = Held(name, 1, environment())
        future = held.client.savepoint(str(tmp_path / "mine"))
        held.gates.let_through(0)
        with pytest.raises(SavepointError):
            future.result()
        held.client.wait()
        assert held.found == [0]

    def test_go_to_the_directory_that_is_configured(self, name: str, tmp_path: Path) -> None:
        env = environment().set_default_savepoint_directory(str(tmp_path / "configured"))
        held = Held(name, 3, env)
        held.gates.reach(1)
        future = held.client.stop_with_savepoint(advance_to_end_of_event_time=False)
        wait_at_gate(held.client)
        held.gates.let_through(1, 2)
        path = Path(future.result())

        assert path.parent == tmp_path / "configured"
        assert read_savepoint(LocalStorage(str(path))).number == 1
        assert held.client.get_job_status().result() is JobStatus.FINISHED
        assert held.found == [0, 1]

    def test_need_a_place(self, name: str) -> None:
        held = Held(name, 1, environment())
        with pytest.raises(SavepointError, match="nothing says where"):
            held.client.trigger_savepoint().result()
        held.gates.let_through(0)
        held.client.wait()

    def test_of_a_job_that_has_ended_cannot_be_taken(self, name: str, tmp_path: Path) -> None:
        env = environment(tmp_path / "job")
        sums(name, env, EPOCHS)
        client = env.execute_async()
        client.wait()
        for future in (
            client.trigger_savepoint(str(tmp_path)),
            client.stop_with_savepoint(
                advance_to_end_of_event_time=True, savepoint_directory=str(tmp_path)
            ),
        ):
            with pytest.raises(SavepointError, match="has ended") as caught:
                future.result()
            assert "nothing is left to go on from but a savepoint" in str(caught.value.hint)


def windowed(name: str, env: StreamExecutionEnvironment) -> tuple[list[int], Gates, JobClient]:
    """Start a job whose window closes at the end of event time only."""
    found, take = taking(name)
    gates, hold = holding(name)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
    numbers = env.from_source(TestingSource([[1], [2], [3]]), strategy, "numbers").uid("numbers")
    keyed = numbers.map(hold).key_by(lambda number: 0)
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    windows.reduce(lambda one, other: one + other).uid("windows").add_sink(take).uid("sink")
    return found, gates, env.execute_async("windows")


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int | None) -> int:
        return value


class TestStops:
    def test_are_told_whether_to_end_event_time(self, name: str) -> None:
        held = Held(name, 1, environment())
        with pytest.raises(InvalidArgumentError, match="'/savepoints'"):
            held.client.stop_with_savepoint("/savepoints")  # type: ignore[arg-type]
        held.gates.let_through(0)
        held.client.wait()

    def test_do_not_end_event_time_for_a_savepoint_that_cannot_be_written(
        self, name: str, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_bytes(b"")
        held = Held(name, 3, environment())
        held.gates.reach(1)
        future = held.client.stop_with_savepoint(
            advance_to_end_of_event_time=True, savepoint_directory=str(tmp_path / "file")
        )
        wait_at_gate(held.client)
        held.gates.let_through(1, 2)

        with pytest.raises(SavepointError, match="No savepoint can be written"):
            future.result()
        held.client.wait()
        assert held.found == [0, 1, 3]

    def test_do_not_wait_for_a_restart(self, name: str, tmp_path: Path) -> None:
        env = environment(tmp_path / "job")
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 3_600_000))
        alarm = Alarm()
        env.add_epoch_listener(alarm)
        sums(name, env, EPOCHS, failing(name, 1))
        client = env.execute_async("sums")
        assert alarm.restarting.wait(SECONDS)

        path = client.stop_with_savepoint(
            advance_to_end_of_event_time=True, savepoint_directory=str(tmp_path)
        ).result()

        assert read_savepoint(LocalStorage(path)).is_drained

    def test_come_after_the_epoch_that_is_running(self, name: str, tmp_path: Path) -> None:
        held = Held(name, 4, environment(tmp_path))
        held.gates.reach(1)
        future = held.client.stop()
        wait_at_gate(held.client)
        held.gates.let_through(1, 2, 3)
        future.result()

        assert held.client.get_job_status().result() is JobStatus.FINISHED
        assert held.found == [0, 1]
        env = environment(tmp_path)
        found = sums(name, env, [[0], [1], [2], [3]])
        env.execute("held")
        assert found == [3, 6]

    @pytest.mark.parametrize("ends", [True, False])
    def test_with_a_savepoint_end_event_time_if_they_are_told_to(
        self, name: str, ends: bool, tmp_path: Path
    ) -> None:
        found, gates, client = windowed(name, environment(tmp_path / "job"))
        gates.reach(2)
        future = client.stop_with_savepoint(ends, str(tmp_path))
        wait_at_gate(client)
        gates.let_through(2, 3)
        record = read_savepoint(LocalStorage(future.result()))

        assert client.get_job_status().result() is JobStatus.FINISHED
        assert found == ([3] if ends else [])
        assert record.number == (2 if ends else 1)
        assert record.is_drained is ends
        assert record.finished == set()


def test_the_client_tells_what_operators_and_checkpoints_came_to(name: str, tmp_path: Path) -> None:
    env = environment(tmp_path)
    sums(name, env, [*EPOCHS, []])
    client = env.execute_async()
    client.wait()
    progress = client.progress()

    by_name = {report["name"]: report for report in progress.operators.values()}
    assert progress.last_epoch == 3
    assert progress.state_size > 0
    assert [report["state_size"] > 0 for report in by_name.values()].count(True) == 1
    assert {report["late_records"] for report in by_name.values()} == {0}
    assert {report["timers"] for report in by_name.values()} == {0}
    assert {report["timers_fired"] for report in by_name.values()} == {0}
    assert client.get_accumulators().result() == {}


class TestALocationWhereAJobHasEnded:
    def test_has_nothing_more_to_do_for_it(self, name: str, tmp_path: Path) -> None:
        for epochs, expected in (([[1], [2]], [1, 3]), ([[1], [2], [3]], [])):
            env = environment(tmp_path)
            found = sums(name, env, epochs)
            env.execute("sums")
            assert found == expected

    def test_is_refused_to_another_job(self, name: str, tmp_path: Path) -> None:
        env = environment(tmp_path)
        sums(name, env, [[1], [2]])
        env.execute("sums")
        env = environment(tmp_path)
        _, take = taking(name)
        source = TestingSource([[1], [2]])
        env.from_source(source, WatermarkStrategy.no_watermarks(), "other").add_sink(take)

        with pytest.raises(CheckpointMismatchError, match="'sums' has ended"):
            env.execute("sums")


class TestALocationOfAnotherJob:
    """Is refused, also to a job that looks the same."""

    def test_with_both_names(self, name: str, tmp_path: Path) -> None:
        env = environment(tmp_path)
        sums(name, env, [[1], [2]])
        env.execute("sums")
        env = environment(tmp_path)
        sums(name, env, [[1], [2], [3]])
        with pytest.raises(OtherJobError, match=r"'sums'.*'totals'") as raised:
            env.execute("totals")
        assert "renamed-from to 'sums'" in str(raised.value.hint)
        assert not is_worth_restarting(raised.value)

    def test_but_not_to_one_that_was_renamed(self, name: str, tmp_path: Path) -> None:
        held = Held(name, 4, environment(tmp_path))
        held.gates.reach(1)
        future = held.client.stop()
        held.gates.let_through(*range(4))
        future.result()
        for job_name, former in (("totals", "held"), ("totals", "held"), ("totals", None)):
            env = environment(tmp_path)
            if former is not None:
                env.configure(
                    Configuration().set_string("execution.state-recovery.renamed-from", former)
                )
            sums(name, env, [[0], [1], [2], [3]])
            env.execute(job_name)

    def test_nor_to_one_that_begins_from_a_copy(self, name: str, tmp_path: Path) -> None:
        held = Held(name, 4, environment(tmp_path / "held"))
        held.gates.reach(1)
        future = held.client.stop()
        held.gates.let_through(*range(4))
        future.result()
        for _ in range(2):
            env = environment(tmp_path / "totals")
            env.configure(
                Configuration().set_string("execution.state-recovery.path", str(tmp_path / "held"))
            )
            sums(name, env, [[0], [1], [2], [3]])
            env.execute("totals")

    def test_even_if_it_is_a_query_of_sparks(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "offsets").mkdir()
        (tmp_path / "offsets" / "0").write_text("v1")
        (tmp_path / "metadata").write_text("{}")
        env = environment(tmp_path)
        sums(name, env, [[1], [2]])
        with pytest.raises(OtherJobError, match="streaming query of Spark's"):
            env.execute("sums")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["metadata", "offsets"]
