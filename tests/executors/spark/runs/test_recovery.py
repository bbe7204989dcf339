"""Streaming jobs that are started again on their checkpoint location."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.servers.s3_server import S3Server

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import open_storage
from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import (
    CheckpointMismatchError,
    LocationInUseError,
    NoCheckpointLocationWarning,
    PenstockError,
    UserFunctionError,
)
from penstock.executors.driver.checkpoints import Checkpoints
from penstock.testing import TestingSource

pytestmark = pytest.mark.spark

KEYS = 5
RECORDS = 20
"""How many records a file has."""


class Count(KeyedProcessFunction):
    """Counts the records of each key.

    Args:
        fails_at: The number of the record on which it fails, as long as the file `trap` is there.
    """

    def __init__(self, fails_at: int | None = None, trap: Path | None = None) -> None:
        self._fails_at = fails_at
        self._trap = trap

    def open(self, context: RuntimeContext) -> None:
        self._count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(
        self, value: Row, ctx: KeyedProcessFunction.Context
    ) -> Iterable[tuple[int, int]]:
        if value.number == self._fails_at and self._trap is not None and self._trap.exists():
            self._trap.unlink()
            raise ValueError("trapped")
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield value.key, count


class Job:
    """A program over files, each an epoch, with a checkpoint location of its own."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self.location = str(folder / "checkpoints")
        self._inputs = folder / "inputs"
        self.trap = folder / "trap"
        self.found: list[tuple[int, int]] = []
        self._inputs.mkdir()

    def frame(self, name: str, files: int = 0) -> DataFrame:
        """Return a stream of files, to which some are added."""
        folder = self.folder(name)
        folder.mkdir(exist_ok=True)
        known = len(list(folder.iterdir()))
        for file in range(known, known + files):
            rows = ({"key": n % KEYS, "number": n} for n in numbers_of(file))
            path = folder / f"{file:03d}.json"
            path.write_text("\n".join(map(json.dumps, rows)))
            # Spark reads them in the order of their times.
            os.utime(path, (file, file))
        reader = self._spark.readStream.schema("key int, number int").option(
            "maxFilesPerTrigger", 1
        )
        return reader.json(str(folder))

    def folder(self, name: str) -> Path:
        """Return the folder of the files of a stream."""
        return self._inputs / name

    def run(
        self,
        *frames: DataFrame,
        fails_at: int | None = None,
        names: Sequence[str] = "abc",
        **settings: Any,
    ) -> list[tuple[int, int]]:
        """Run the program until what is there is read; return the counts it gives, sorted.

        If it fails, the error has them as `counts`.
        """
        configuration = Configuration()
        configuration.set_string("execution.epoch.available-now", "true")
        configuration.set_string("execution.checkpointing.dir", self.location)
        for key, value in settings.items():
            configuration.set_string(SETTINGS[key], str(value))
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        first, *rest = [
            env.from_data_frame(frame).uid(name) for name, frame in zip(names, frames, strict=False)
        ]
        rows = first.union(*rest) if rest else first
        counts = rows.key_by(lambda row: row.key).process(Count(fails_at, self.trap)).uid("count")
        found: list[tuple[int, int]] = []
        try:
            found.extend(counts.execute_and_collect())
        except PenstockError:
            self.found = sorted(found)
            raise
        return sorted(found)

    def committed(self) -> dict[int, EpochRecord]:
        store = StoredEpochs(open_storage(self.location))
        records = {number: store.get(number) for number in store.numbers()}
        return {number: record for number, record in records.items() if record is not None}


SETTINGS = {
    "parallelism": "parallelism.default",
    "backend": "state.backend.type",
    "restarts": "restart-strategy.fixed-delay.attempts",
    "strategy": "restart-strategy.type",
    "delay": "restart-strategy.fixed-delay.delay",
    "epoch": "execution.state-recovery.epoch",
    "ends": "execution.epoch.end-of-input",
    "retained": "execution.checkpointing.num-retained",
    "ignores": "execution.state-recovery.ignore-unclaimed-state",
}


def numbers_of(file: int) -> range:
    return range(file * RECORDS, (file + 1) * RECORDS)


def counted(first_file: int, files: int) -> list[tuple[int, int]]:
    """What counting gives for some files, after others."""
    each = RECORDS // KEYS
    return [
        (key, count)
        for key in range(KEYS)
        for count in range(first_file * each + 1, (first_file + files) * each + 1)
    ]


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Job:
    return Job(spark, tmp_path)


class Died(PenstockError):
    """Ends a driver at a named point."""


def dying(monkeypatch: pytest.MonkeyPatch, epoch: int, *, commits: bool) -> None:
    """Have the driver die in an epoch: before it commits it, or before it tells Spark of it."""
    commit = Checkpoints.commit

    def die(self: Checkpoints, record: EpochRecord) -> None:
        if record.number == epoch and not commits:
            raise Died("before the commit")
        commit(self, record)
        if record.number == epoch:
            raise Died("after the commit")

    monkeypatch.setattr(Checkpoints, "commit", die)


@pytest.mark.classic  # it reaches into the driver's side, which is in another process otherwise
@pytest.mark.parametrize("commits", [False, True])
def test_goes_on_after_the_last_epoch_that_was_committed(
    job: Job, monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    frame = job.frame("a", files=4)
    with monkeypatch.context() as patch:
        dying(patch, 1, commits=commits)
        with pytest.raises(Died):
            job.run(frame)
    assert max(job.committed()) == (1 if commits else 0)
    before = job.found

    after = job.run(frame)

    # What a client that died was not told of is no longer told.
    told = 2 if commits else 1
    assert before == counted(0, 1)
    assert after == counted(told, 4 - told)
    assert job.committed()[4].is_last
    assert job.committed()[4].generation == 2


@pytest.mark.classic  # it reaches into the driver's side, which is in another process otherwise
def test_a_table_is_replayed(
    spark: SparkSession, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.frame("a", files=3)
    folder = job.folder("a")
    spark.sql(f"create table replayed (key int, number int) using json location '{folder}'")
    try:
        frame = spark.readStream.option("maxFilesPerTrigger", 1).table("replayed")
        with monkeypatch.context() as patch:
            dying(patch, 1, commits=False)
            with pytest.raises(Died):
                job.run(frame)
        assert sorted(job.found + job.run(frame)) == counted(0, 3)
    finally:
        spark.sql("drop table replayed")


def test_goes_on_from_an_object_store(s3: tuple[S3Server, str], tmp_path: Path) -> None:
    _, location = s3
    command = [
        sys.executable,
        "-m",
        "tests.executors.spark.runs.object_store_job",
        location,
        str(tmp_path),
    ]
    driver = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)

    assert driver.stdout == "went on\n", driver.stderr


def test_a_failure_of_the_program_can_be_mended(job: Job) -> None:
    frame = job.frame("a", files=3)
    job.trap.touch()
    with pytest.raises(UserFunctionError, match="trapped"):
        job.run(frame, fails_at=RECORDS + 3)

    assert job.found == counted(0, 1)
    assert job.run(frame) == counted(1, 2)


def test_a_job_that_has_finished_does_nothing_more(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    assert job.run(job.frame("a", files=1)) == counted(0, 1)

    assert job.run(job.frame("a", files=1)) == []
    assert "nothing left to do" in caplog.text


def test_a_job_whose_input_goes_on_reads_what_has_come_since(job: Job) -> None:
    assert job.run(job.frame("a", files=2), ends="false") == counted(0, 2)
    assert job.run(job.frame("a"), ends="false") == []

    assert job.run(job.frame("a", files=1), ends="false") == counted(2, 1)


def test_goes_back_to_an_earlier_epoch(job: Job) -> None:
    frame = job.frame("a", files=4)
    job.trap.touch()
    with pytest.raises(UserFunctionError, match="trapped"):
        job.run(frame, fails_at=3 * RECORDS)
    lineage = job.committed()[2].lineage

    assert job.run(frame, epoch=0) == counted(1, 3)
    assert job.committed()[max(job.committed())].lineage != lineage


def test_the_first_epoch_after_going_back_can_be_run_again(job: Job) -> None:
    frame = job.frame("a", files=4)
    job.trap.touch()
    with pytest.raises(UserFunctionError, match="trapped"):
        job.run(frame, fails_at=3 * RECORDS)
    job.trap.touch()

    again = job.run(
        frame, fails_at=RECORDS + 3, epoch=0, strategy="fixed-delay", restarts=1, delay="0 ms"
    )

    assert again == counted(1, 3)
    assert not job.trap.exists()
    # What was written for the attempt that failed is gone, and what epochs can go back to is there. The files
    # that were read before are read one by one again, in epochs 1 to 3.
    committed = job.committed()
    assert max(committed) == 4
    folders = {record.engine["folder"] for record in committed.values()}
    assert {path.name for path in Path(job.location).glob("spark-*")} == folders


def test_sources_come_and_change_places(job: Job) -> None:
    first = job.frame("first", files=3)
    job.trap.touch()
    with pytest.raises(UserFunctionError, match="trapped"):
        job.run(first, fails_at=RECORDS, names="b")
    second = job.frame("second", files=1)

    found = job.run(second, job.frame("first"), names="ab")

    # Two files of the first source, which come after one, and one of the second.
    assert found == counted(1, 3)


@pytest.mark.parametrize("others", [0, 1])
def test_a_file_that_spark_saw_and_did_not_plan_is_read_alone(job: Job, others: int) -> None:
    frame = job.frame("a", files=1)
    for _ in range(others):
        frame = frame.union(job.frame("none"))  # two of Spark's sources in one DataFrame
    assert job.run(frame, ends="false") == counted(0, 1)
    job.frame("a", files=3)
    known = max(job.committed())
    folder = Path(job.location) / job.committed()[known].engine["folder"]
    seen = folder / "sources/0/0"
    version, entry = seen.read_text().splitlines()
    path = json.loads(entry)["path"].replace("000.json", "001.json")
    ahead = {**json.loads(entry), "path": path, "batchId": 1}
    (folder / "sources/0/1").write_text(f"{version}\n{json.dumps(ahead)}")

    assert job.run(frame, ends="false") == counted(1, 3)

    # Three files, each in an epoch.
    assert max(job.committed()) == known + 3


def interrupted(job: Job, *, execution_target: str) -> None:
    """Let a program with a bounded source count the first file at the location, and fail after it."""
    configuration = Configuration().set_string("execution.checkpointing.dir", job.location)
    configuration.set_string("execution.target", execution_target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    rows = [Row(key=number % KEYS, number=number) for number in range(RECORDS + 1)]
    source = TestingSource([rows[:RECORDS], rows[RECORDS:]])
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    job.trap.touch()
    counts = numbers.key_by(lambda row: row.key).process(Count(RECORDS, job.trap)).uid("count")
    with pytest.raises(UserFunctionError, match="trapped"):
        list(counts.execute_and_collect())


@pytest.mark.parametrize("target", ["local", "spark"])
def test_goes_on_where_spark_has_planned_nothing_yet(job: Job, target: str) -> None:
    interrupted(job, execution_target=target)
    frame = job.frame("a", files=4)
    job.trap.touch()
    with pytest.raises(UserFunctionError, match="trapped"):
        job.run(frame, fails_at=3 * RECORDS, ignores="true")

    assert job.found == counted(1, 3)
    assert job.run(frame) == counted(4, 1)


def test_a_source_that_was_bounded_is_no_stream(job: Job) -> None:
    interrupted(job, execution_target="local")

    with pytest.raises(
        CheckpointMismatchError, match=r"uid 'numbers'.* is a stream, and was bounded"
    ):
        job.run(job.frame("a", files=1), names=["numbers"])


def test_a_second_driver_is_refused(job: Job) -> None:
    frame = job.frame("a", files=1)
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", job.location)
    first = Checkpoints(configuration, has_epochs=True)
    try:
        with pytest.raises(LocationInUseError, match="runs already"):
            job.run(frame)
    finally:
        first.close()


def test_state_without_a_location_is_warned_of(spark: SparkSession, job: Job) -> None:
    configuration = Configuration()
    configuration.set_string("execution.epoch.available-now", "true")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    counts = (
        env.from_data_frame(job.frame("a", files=1)).key_by(lambda row: row.key).process(Count())
    )

    with pytest.warns(NoCheckpointLocationWarning, match="no checkpoint location"):
        assert sorted(counts.execute_and_collect()) == counted(0, 1)
