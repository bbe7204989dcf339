"""Restarts, savepoints and stops of streaming jobs on Spark."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.executors.old_checkpoints import make_old

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.savepoint import read_savepoint
from penstock.checkpoint.storage import LocalStorage
from penstock.common import (
    Configuration,
    JobStatus,
    RestartStrategies,
    Row,
    Time,
    WatermarkStrategy,
)
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import EpochCompleted, EpochListener, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.executors.spark.runs.streaming import StreamingRun
from penstock.inspection import verify_checkpoint

pytestmark = pytest.mark.spark

SECONDS = 100


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        return int(value.number)


class Counter(EpochListener):
    """Tells when the job has read as many records as the test waits for."""

    def __init__(self, records: int) -> None:
        self._left = records
        self.done = threading.Event()

    def on_epoch_completed(self, event: EpochCompleted) -> None:
        self._left -= event.records_in
        if self._left <= 0:
            self.done.set()


class Inputs:
    """Files of numbers, which a stream reads one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "inputs"
        self.folder.mkdir()
        self._files = 0

    def add(self, *numbers: int) -> None:
        path = self.folder / f"{self._files:03d}.json"
        draft = self.folder.parent / "draft"
        draft.write_text("\n".join(json.dumps({"number": number}) for number in numbers))
        os.utime(draft, (self._files, self._files))
        draft.rename(path)
        self._files += 1

    def windows(
        self,
        spark: SparkSession,
        location: Path,
        *,
        available_now: bool = False,
        adds: bool = False,
        distinct: bool = False,
        several: bool = False,
        **settings: str,
    ) -> StreamExecutionEnvironment:
        """Build a program that sums the numbers in windows of 10, and prints the sums.

        With `adds` it has two bounded sources beside, of 21 and 22. With `distinct` Spark leaves out
        numbers that came before. With `several` the DataFrame reads a second folder, which is empty.
        """
        configuration = Configuration().set_string("execution.checkpointing.dir", str(location))
        configuration.set_boolean("execution.epoch.available-now", available_now)
        for key, value in settings.items():
            configuration.set_string(f"execution.state-recovery.{key}", value)
        env = StreamExecutionEnvironment.get_execution_environment(
            configuration, spark=spark
        ).set_parallelism(1)
        reader = spark.readStream.schema("number int").option("maxFilesPerTrigger", 1)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
        frame = reader.json(str(self.folder))
        frame = frame.dropDuplicates(["number"]) if distinct else frame
        if several:
            other = self.folder.parent / "other inputs"
            other.mkdir(exist_ok=True)
            frame = frame.union(reader.json(str(other)))
        rows = env.from_data_frame(frame, watermark_strategy=strategy).uid("rows")
        numbers = rows.map(lambda row: _checked(row.number, str(self.folder.parent / "trap")))
        if adds:
            frame = spark.createDataFrame([(21,)], "number int")
            rows = env.from_data_frame(frame, watermark_strategy=strategy).uid("frame")
            collection = env.from_collection([Row(number=22)]).uid("collection")
            timed = collection.assign_timestamps_and_watermarks(strategy)
            numbers = numbers.union(rows.union(timed).map(lambda row: int(row.number)))
        windows = numbers.key_by(lambda number: 0).window(
            TumblingEventTimeWindows.of(Time.milliseconds(10))
        )
        windows.reduce(lambda one, other: one + other).uid("windows").print().uid("print")
        return env


def _checked(number: int, trap: str) -> int:
    if number == 13 and os.path.exists(trap):
        os.unlink(trap)
        raise ValueError("trapped")
    return number


def stopped(
    env: StreamExecutionEnvironment, records: int, folder: Path, *, drains: bool = False
) -> str:
    """Stop a job with a savepoint once it has read so many records, and return where that is."""
    read = Counter(records)
    env.add_epoch_listener(read)
    client = env.execute_async()
    assert read.done.wait(SECONDS)
    path = client.stop_with_savepoint(
        advance_to_end_of_event_time=drains, savepoint_directory=str(folder)
    ).result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    return path


def printed(capsys: pytest.CaptureFixture[str]) -> list[int]:
    return [int(line) for line in capsys.readouterr().out.split()]


def test_a_failed_epoch_is_run_again_in_the_same_process(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = Inputs(tmp_path)
    inputs.add(1, 2)
    inputs.add(13, 14)
    (tmp_path / "trap").touch()
    env = inputs.windows(spark, tmp_path / "job", available_now=True)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    result = env.execute()

    assert printed(capsys) == [3, 27]
    assert result.metrics["restarts"] == 1
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize("several", [False, True])
def test_a_job_goes_on_from_a_savepoint_that_was_moved(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], several: bool
) -> None:
    inputs = Inputs(tmp_path)
    inputs.add(1, 2)
    env = inputs.windows(spark, tmp_path / "job", several=several)
    path = stopped(env, 2, tmp_path)
    assert printed(capsys) == []

    shutil.move(path, tmp_path / "moved")
    shutil.rmtree(tmp_path / "job")
    inputs.add(3, 13)
    env = inputs.windows(
        spark,
        tmp_path / "other",
        available_now=True,
        several=several,
        path=str(tmp_path / "moved"),
    )
    env.execute()
    assert printed(capsys) == [6, 13]


def test_state_of_sparks_own_goes_from_savepoint_to_savepoint(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = Inputs(tmp_path)
    start: dict[str, Any] = {}
    for place, expected in [("one", [3]), ("two", [3]), ("three", [4])]:
        inputs.add(1, 2, {"one": 1, "two": 3, "three": 4}[place])
        env = inputs.windows(spark, tmp_path / place, distinct=True, **start)
        records = 2 if place == "one" else 1
        start = {"path": stopped(env, records, tmp_path, drains=True)}
        assert printed(capsys) == expected

    inputs.add(1, 2, 3, 4, 5)
    inputs.windows(spark, tmp_path / "three", available_now=True, distinct=True).execute()
    assert printed(capsys) == [5]


def test_state_of_sparks_own_is_there_though_spark_never_heard_that_its_epoch_was_done(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = Inputs(tmp_path)
    for numbers, expected in [((1, 2), []), ((2, 3), []), ((1, 3, 11), [6])]:
        inputs.add(*numbers)
        env = inputs.windows(spark, tmp_path / "job", available_now=True, distinct=True)
        env.configure(Configuration().set_string("execution.epoch.end-of-input", "false"))
        env.execute()
        assert printed(capsys) == expected
        # As if the driver had been killed just before Spark wrote it.
        commits = sorted(
            tmp_path.glob("job/spark*/commits/[0-9]*"), key=lambda path: int(path.name)
        )
        commits[-1].unlink()
        commits[-1].with_name(f".{commits[-1].name}.crc").unlink(missing_ok=True)


def test_savepoints_are_taken_of_jobs_that_began_with_savepoints(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = Inputs(tmp_path)
    settings: dict[str, Any] = {}
    for number in range(1, 4):
        inputs.add(number)
        env = inputs.windows(spark, tmp_path / f"job-{number}", **settings)
        path = stopped(env, 1, tmp_path)
        settings = {"path": path}
        assert verify_checkpoint(path).is_whole
        assert verify_checkpoint(str(tmp_path / f"job-{number}")).is_whole
        # The record of the job before is deleted when nothing can go back to it.
        shutil.rmtree(tmp_path / f"job-{number}")
    inputs.add(14)
    inputs.windows(spark, tmp_path / "last", available_now=True, **settings).execute()

    assert printed(capsys) == [6, 14]


def test_a_savepoint_may_end_event_time(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = Inputs(tmp_path)
    inputs.add(1, 2)
    env = inputs.windows(spark, tmp_path / "job")
    path = stopped(env, 2, tmp_path, drains=True)
    assert printed(capsys) == [3]
    assert read_savepoint(LocalStorage(path)).is_drained


@pytest.mark.parametrize("is_old", [True, False], ids=["by the version before", "by this one"])
@pytest.mark.parametrize("moves", [True, False])
def test_a_job_goes_on_after_its_event_time_was_ended(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    moves: bool,
    is_old: bool,
) -> None:
    inputs = Inputs(tmp_path)
    inputs.add(1, 2)
    env = inputs.windows(spark, tmp_path / "job")
    path = stopped(env, 2, tmp_path, drains=True)
    assert printed(capsys) == [3]
    if is_old:
        make_old(Path(path) if moves else tmp_path / "job")

    inputs.add(3, 4)
    inputs.add(5, 13)
    start: dict[str, Any] = {"path": path} if moves else {}
    location = tmp_path / ("other" if moves else "job")
    env = inputs.windows(spark, location, available_now=True, **start)
    env.execute()
    # Event time begins anew: the window of 1 and 2 has fired.
    assert printed(capsys) == [12, 13]


def test_bounded_sources_may_be_added_where_nothing_else_is_new(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = Inputs(tmp_path)
    inputs.add(1, 2)
    for added, ends, expected in [(False, False, []), (True, False, []), (True, True, [3, 43])]:
        env = inputs.windows(spark, tmp_path / "job", available_now=True, adds=added)
        env._configuration.set_boolean("execution.epoch.end-of-input", ends)
        env.execute()
        assert printed(capsys) == expected


@pytest.mark.classic  # it reaches into the driver's side, which is in another process otherwise
def test_event_time_may_be_ended_before_the_first_epoch_of_a_start(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inputs = Inputs(tmp_path)
    inputs.add(1, 2)
    env = inputs.windows(spark, tmp_path / "job", available_now=True)
    env._configuration.set_string("execution.epoch.end-of-input", "false")
    env.execute()
    begin = StreamingRun._offsets_folder

    def asked(run: StreamingRun, last: EpochRecord | None) -> str:
        run._runner._feed.gate.close(wants_end=True)
        return begin(run, last)

    monkeypatch.setattr(StreamingRun, "_offsets_folder", asked)
    inputs.windows(spark, tmp_path / "job", available_now=True, adds=True).execute()
    assert printed(capsys) == [3]
    assert read_savepoint(LocalStorage(str(tmp_path / "job"))).is_drained

    monkeypatch.undo()
    inputs.add(13)
    inputs.windows(spark, tmp_path / "job", available_now=True, adds=True).execute()
    assert printed(capsys) == [13, 43]
