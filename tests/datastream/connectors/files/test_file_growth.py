"""What a file that stays open costs, and what is kept of it for those who go back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.datastream.connectors.files.test_file_exactly_once import LATER, hidden, sink_of, visible
from tests.datastream.connectors.sink_job import SinkJob
from tests.executors.control import holding

from penstock.checkpoint.epoch_record import EpochRecord, encode
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Configuration, Encoder, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.files.committer import FileCommitter
from penstock.datastream.connectors.files.policies import BucketAssigner, RollingPolicy
from penstock.errors import LostEpochError, UserFunctionError
from penstock.executors.driver.checkpoints import Checkpoints
from penstock.inspection import verify_checkpoint
from penstock.testing import TestingSource


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def test_a_file_that_stays_open_does_not_let_metadata_grow(tmp_path: Path) -> None:
    job = SinkJob(sink_of(tmp_path / "out", LATER), tmp_path / "job")
    sizes = []
    files = []
    for number in range(1200):
        job.run([[2 * number]])
        assert job.record is not None
        assert job._snapshots[0] is not None
        sizes.append(len(encode(job.record)) + len(job._snapshots[0]))
        if number % 7 == 0:  # Files are not joined in sevens.
            files.append(len(hidden(tmp_path / "out")))
    job.now += 60_000
    job.run([[]], ends=True)
    job.close()

    assert max(sizes) < 12_000
    assert max(files) < 80
    assert visible(tmp_path / "out") == list(range(0, 2400, 2))
    [file] = (tmp_path / "out").rglob("part-*")
    assert file.read_text().splitlines()[1:] == [str(2 * number) for number in range(1200)]


def test_starts_that_are_killed_before_they_commit_leave_nothing(tmp_path: Path) -> None:
    job = SinkJob(sink_of(tmp_path / "out", LATER), tmp_path / "job")
    for _ in range(20):
        job.begin([[1, 2]])
        job.kill([0])
    assert len(hidden(tmp_path / "out")) >= 20
    job.run([[1, 2]], ends=True)
    job.close()

    assert hidden(tmp_path / "out") == []
    assert visible(tmp_path / "out") == [1, 2]


class KilledError(BaseException):
    """The driver and its tasks are gone."""


@pytest.mark.parametrize("number", [0, 3])
def test_starts_that_are_killed_one_after_the_other_leave_what_the_last_of_them_left(
    tmp_path: Path, number: int
) -> None:
    counts = []
    for _ in range(20):
        with pytest.MonkeyPatch.context() as patch:
            kill_at(patch, number)
            env = environment(tmp_path, "job")
            program(env, tmp_path / "out", lambda found: found)
            with pytest.raises(KilledError):
                env.execute()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        counts.append(len(files))

    assert max(counts[2:]) == min(counts[2:])
    env = environment(tmp_path, "job")
    program(env, tmp_path / "out")
    env.execute()
    assert contents(tmp_path / "out") == [FIRST, [15, 16, 17]]


def kill_at(patch: pytest.MonkeyPatch, number: int) -> None:
    """Kill the driver before it commits an epoch, when its tasks have prepared all that is in it."""
    real = Checkpoints.commit

    def commit(checkpoints: Checkpoints, record: EpochRecord) -> None:
        if record.number == number:
            raise KilledError
        real(checkpoints, record)

    patch.setattr(Checkpoints, "commit", commit)


class TestAJobWithoutACheckpointLocation:
    def test_leaves_nothing_hidden_when_it_ends(self, tmp_path: Path) -> None:
        run_once(tmp_path / "out", None)
        assert contents(tmp_path / "out") == [FIRST, [15, 16, 17]]
        assert staged(tmp_path / "out") == []

    def test_leaves_nothing_hidden_when_it_fails(self, tmp_path: Path) -> None:
        with pytest.raises(UserFunctionError):
            run_once(tmp_path / "out", failing_at(3))
        assert staged(tmp_path / "out") == []

    def test_has_folders_that_can_be_told_from_others(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(FileCommitter, "drop", lambda *_: None)
        run_once(tmp_path / "out", None)
        env = environment(tmp_path, "job")
        program(env, tmp_path / "out")
        env.execute()

        folders = staged(tmp_path / "out")
        assert sorted("-once-" in folder for folder in folders) == [False, True]


def test_an_epoch_that_is_published_and_not_known_any_more_is_named(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, 5)
        env = environment(tmp_path, "job")
        program(env, tmp_path / "out", lambda found: found)
        with pytest.raises(KilledError):
            env.execute()
    assert contents(tmp_path / "out") == [FIRST]
    for name in ("epochs/00000004", "published"):
        (tmp_path / "job" / name).unlink()

    env = environment(tmp_path, "job")
    program(env, tmp_path / "out", lambda found: found)
    with pytest.raises(LostEpochError, match=r"epoch 4 is gone.*FileSink has published"):
        env.execute()


def run_once(out: Path, held: Any) -> None:
    configuration = Configuration().set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    program(env, out, held)
    env.execute()


def staged(out: Path) -> list[str]:
    """Return the names of the folders in which output stands until it is published."""
    return [path.name for path in (out / ".penstock").iterdir()]


def environment(folder: Path, job: str, **settings: Any) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.target", "local")
    configuration.set_string("execution.checkpointing.dir", str(folder / job))
    for key, value in settings.items():
        configuration.set_string(f"execution.state-recovery.{key}", str(value))
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)


def program(env: StreamExecutionEnvironment, out: Path, held: Any = None) -> None:
    """One number in each epoch, of two digits, into files of five lines."""
    numbers = env.from_source(
        TestingSource([[10 + number] for number in range(8)]),
        WatermarkStrategy.no_watermarks(),
        "numbers",
    ).uid("numbers")
    if held is not None:
        numbers = numbers.map(lambda number: held(number - 10) + 10)
    sink = (
        FileSink.for_row_format(str(out), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(
            RollingPolicy.default_rolling_policy(
                part_size=15, rollover_interval=10**9, inactivity_interval=10**9
            )
        )
        .build()
    )
    numbers.sink_to(sink).uid("files")


def contents(out: Path) -> list[list[int]]:
    files = [path.read_text().split() for path in out.glob("part-*")]
    return sorted([int(line) for line in file] for file in files)


FIRST = [10, 11, 12, 13, 14]


class TestGoingBack:
    @pytest.mark.parametrize("back", [5, 6])
    def test_to_an_epoch_whose_file_was_completed_since(self, tmp_path: Path, back: int) -> None:
        out = tmp_path / "out"
        env = environment(tmp_path, "job")
        program(env, out)
        env.execute()
        assert contents(out) == [FIRST, [15, 16, 17]]

        for _ in range(2):
            env = environment(tmp_path, "job", epoch=back)
            program(env, out)
            env.execute()
        # What is published stays, and what came after is published again.
        assert contents(out) == [FIRST, *[[15, 16, 17]] * 3]
        assert verify_checkpoint(str(tmp_path / "job")).is_whole

    def test_to_a_savepoint_from_another_place(self, tmp_path: Path) -> None:
        gates, hold = holding("savepoint")
        out = tmp_path / "out"
        env = environment(tmp_path, "job")
        program(env, out, hold)
        client = env.execute_async()
        gates.reach(3)
        future = client.savepoint(str(tmp_path / "savepoint"))
        while not client._job._gate._guests:  # type: ignore[attr-defined]
            pass
        gates.let_through(*range(8))
        path = future.result()
        client.wait()
        assert contents(out) == [FIRST, [15, 16, 17]]
        assert verify_checkpoint(path).is_whole
        for file in (tmp_path / "out/.penstock").rglob("*-*-*"):
            if file.is_file():
                file.unlink()

        for job in ("second", "third"):
            env = environment(tmp_path, job, path=path)
            program(env, tmp_path / f"out of {job}")
            env.execute()
            assert contents(tmp_path / f"out of {job}") == [FIRST, [15, 16, 17]]


def failing_at(number: int) -> Any:
    def hold(found: int) -> int:
        if found == number:
            raise ValueError("not yet")
        return found

    return hold


@pytest.mark.parametrize("number", [0, 3])
def test_starts_that_fail_leave_no_staged_output(tmp_path: Path, number: int) -> None:
    def files(name: str) -> int:
        env = environment(tmp_path, f"job of {name}")
        program(env, tmp_path / name, lambda found: found)
        env.execute()
        hidden_files = [
            path for path in (tmp_path / name / ".penstock").rglob("*") if path.is_file()
        ]
        return len(hidden_files) + len(
            LocalStorage(str(tmp_path / f"job of {name}")).names("state")
        )

    for _ in range(10):
        env = environment(tmp_path, "job of failing")
        program(env, tmp_path / "failing", failing_at(number))
        with pytest.raises(UserFunctionError):
            env.execute()
    assert files("failing") == files("other")
    assert contents(tmp_path / "failing") == [FIRST, [15, 16, 17]]
    assert len(list((tmp_path / "failing" / ".penstock").iterdir())) == 1
