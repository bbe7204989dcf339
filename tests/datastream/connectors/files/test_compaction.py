from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.datastream.connectors.sink_job import SINK_ID, NewJob, SinkJob

from penstock.common import Configuration, Encoder, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.datastream.formats.avro import AvroBulkWriters, AvroSchema
from penstock.datastream.formats.csv import CsvBulkWriters, CsvSchema
from penstock.datastream.formats.orc import OrcBulkWriters
from penstock.datastream.formats.parquet import AvroParquetWriters, ParquetBulkWriters
from penstock.errors import InvalidArgumentError, UnsupportedOperationError
from penstock.testing import TestingSource

CONCAT = FileCompactor.concat_file_compactor()


def strategy(epochs: int | None = None, size: int | None = None) -> FileCompactStrategy:
    builder = FileCompactStrategy.builder()
    if epochs is not None:
        builder.enable_compaction_on_checkpoint(epochs)
    if size is not None:
        builder.set_size_threshold(size)
    return builder.build()


@pytest.fixture
def new_job(tmp_path: Path, new_job: NewJob) -> NewJob:
    """Makes jobs whose sink writes a file for each epoch below `out`."""

    def make(
        compacts: FileCompactStrategy | None, compactor: FileCompactor = CONCAT, **options: Any
    ) -> SinkJob:
        builder = (
            FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
            .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
            .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
            .with_output_file_config(OutputFileConfig("numbers", ".txt"))
        )
        if compacts is not None:
            builder.enable_compact(compacts, compactor)
        return new_job(builder.build(), **options)

    return make


def files(folder: Path) -> list[tuple[str, str]]:
    """Return the visible files: what their names begin with, and what they hold."""
    found = sorted(path for path in (folder / "out").glob("*") if path.is_file())
    assert all(path.suffix == ".txt" for path in found)
    return [(path.name.rpartition("-0000")[0], path.read_text()) for path in found]


def waiting(folder: Path) -> int:
    staged = (folder / "out").glob(f".penstock/{SINK_ID}-*/*")
    return len([path for path in staged if not path.name.startswith("published")])


def test_files_are_compacted_after_a_number_of_epochs(new_job: NewJob, tmp_path: Path) -> None:
    job = new_job(strategy(epochs=3))
    for number in range(5):
        job.run([[number]])
        assert len(files(tmp_path)) == (number >= 2)
    assert files(tmp_path) == [("compacted-numbers", "0\n1\n2\n")]
    assert waiting(tmp_path) > 0

    job.run([[5]], ends=True)
    assert files(tmp_path)[1:] == [("compacted-numbers", "3\n4\n5\n")]
    assert waiting(tmp_path) == 0


def test_files_are_compacted_from_a_size_on(new_job: NewJob, tmp_path: Path) -> None:
    job = new_job(strategy(size=6))
    for number in (1, 2, 3, 10_000, 5):
        job.run([[number]])
    assert files(tmp_path) == [
        ("compacted-numbers", "1\n2\n3\n"),
        ("compacted-numbers", "10000\n"),
    ]


def test_an_epoch_without_records_counts(new_job: NewJob, tmp_path: Path) -> None:
    job = new_job(strategy(epochs=2))
    job.run([[1]])
    job.run([[]])
    assert files(tmp_path) == [("compacted-numbers", "1\n")]


def test_something_may_stand_between_two_files(new_job: NewJob, tmp_path: Path) -> None:
    job = new_job(strategy(epochs=20), FileCompactor.concat_file_compactor(b"--\n"))
    # More than are kept apart: some are joined before the rest.
    for number in range(20):
        job.run([[number]])
    assert files(tmp_path) == [("compacted-numbers", "--\n".join(f"{n}\n" for n in range(20)))]


def test_no_more_files_wait_than_a_few(new_job: NewJob, tmp_path: Path) -> None:
    job = new_job(strategy(epochs=100))
    counts = []
    for number in range(40):
        job.run([[number]])
        counts.append(waiting(tmp_path))
    assert max(counts) <= 24


def test_files_may_stay_as_they_are(new_job: NewJob, tmp_path: Path) -> None:
    job = new_job(strategy(epochs=2), FileCompactor.identical_file_compactor())
    for number in range(2):
        job.run([[number]])
    assert sorted(files(tmp_path)) == [("compacted-numbers", "0\n"), ("compacted-numbers", "1\n")]


def test_each_subtask_compacts_its_own_files(new_job: NewJob, tmp_path: Path) -> None:
    job = new_job(strategy(epochs=2), parallelism=2)
    job.run([[1], [2]])
    job.run([[3], [4]])
    assert {text for _, text in files(tmp_path)} == {"1\n3\n", "2\n4\n"}


@pytest.mark.parametrize("parallelism", [1, 3])
def test_files_wait_for_other_numbers_of_subtasks(
    new_job: NewJob, tmp_path: Path, parallelism: int
) -> None:
    job = new_job(strategy(epochs=3), parallelism=2)
    job.run([[1], [2]])
    job.rescale(parallelism)
    job.run([[] for _ in range(parallelism)])
    assert files(tmp_path) == []
    job.run([[] for _ in range(parallelism)])
    assert "".join(text for _, text in files(tmp_path)).split() == ["1", "2"]


@pytest.mark.parametrize("later", [[], [[2], [3]], [[], []]])
@pytest.mark.parametrize("epochs", [3, 6])
def test_what_waits_is_in_the_files_of_each_history(
    new_job: NewJob, tmp_path: Path, later: list[list[int]], epochs: int
) -> None:
    job = new_job(strategy(epochs=epochs))
    job.run([[1]])
    known = job.record, list(job._snapshots)
    for numbers in later:
        job.run([numbers])
    job.kill([0])
    job.record, job._snapshots = known
    job.lineage = "after going back"
    job.start_driver()
    # Of the earlier history nothing is kept then.
    for number in range(2, epochs + 1):
        job.run([[number]])
    expected = "".join(f"{number}\n" for number in range(1, epochs + 1))
    assert ("compacted-numbers", expected) in files(tmp_path)


def test_what_waits_is_published_when_nothing_is_compacted_any_more(
    new_job: NewJob, tmp_path: Path
) -> None:
    job = new_job(strategy(epochs=100))
    for number in range(2):
        job.run([[number]])
    job.kill([0])
    job.sink = new_job(None).sink
    job.start_driver()
    job.run([[2]])
    assert sorted(files(tmp_path)) == [("numbers", f"{number}\n") for number in range(3)]


def test_an_epoch_is_due_while_files_wait(new_job: NewJob) -> None:
    job = new_job(strategy(epochs=3))
    job.run([[1]])
    [task] = job._tasks
    assert task is not None
    assert task.harness.operator.wants_wake_ups
    assert task.harness.operator.next_wake_up() == job.now + 60_000


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda builder: builder.build(), "needs a condition"),
        (lambda builder: builder.enable_compaction_on_checkpoint(0), "0 is no number of epochs"),
        (lambda builder: builder.set_size_threshold(-1), "-1 is no size"),
        (lambda builder: builder.set_num_compact_threads(0), "0 is no number of threads"),
    ],
)
def test_a_strategy_that_cannot_be_is_named_at_once(
    build: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        build(FileCompactStrategy.builder())


def test_a_builder_takes_strategies_and_compactors(tmp_path: Path) -> None:
    builder: Any = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    for arguments in ((CONCAT, CONCAT), (strategy(1), strategy(1))):
        with pytest.raises(InvalidArgumentError, match="enable_compact"):
            builder.enable_compact(*arguments)
    sink = builder.enable_compact(strategy(1), CONCAT).disable_compact().build()
    assert sink._settings.strategy is sink._settings.compactor is None


def test_files_that_cannot_be_put_together_are_left_alone(tmp_path: Path) -> None:
    place, row = str(tmp_path), Types.ROW_NAMED(["id"], [Types.INT()])
    field = '{"name": "id", "type": "int"}'
    avro = AvroSchema.parse_string(f'{{"type": "record", "name": "R", "fields": [{field}]}}')
    lines = CsvSchema.builder().add_number_column("id")
    with_header = CsvSchema.builder().add_number_column("id").set_use_header().build()
    for builder in (
        FileSink.for_row_format(place, Encoder.csv(["id"], header=True)),
        FileSink.for_bulk_format(place, ParquetBulkWriters.for_row_type(row)),
        FileSink.for_bulk_format(place, OrcBulkWriters.for_row_type(row)),
        FileSink.for_bulk_format(place, AvroBulkWriters.for_generic_record(avro)),
        FileSink.for_bulk_format(place, AvroParquetWriters.for_generic_record(avro)),
        FileSink.for_bulk_format(place, CsvBulkWriters.for_schema(with_header)),
    ):
        with pytest.raises(UnsupportedOperationError, match="cannot be put one behind the other"):
            builder.enable_compact(strategy(1), CONCAT).build()
        builder.enable_compact(strategy(1), FileCompactor.identical_file_compactor()).build()
    csv = FileSink.for_bulk_format(place, CsvBulkWriters.for_schema(lines.build()))
    csv.enable_compact(strategy(1), CONCAT).build()


def test_what_stands_between_files_is_bytes() -> None:
    text: Any = "|"
    with pytest.raises(InvalidArgumentError, match="cannot stand between files"):
        FileCompactor.concat_file_compactor(text)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_program_compacts(tmp_path: Path, parallelism: int) -> None:
    configuration = Configuration().set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    sink = (
        FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .enable_compact(strategy(epochs=3), CONCAT)
        .build()
    )
    numbers = TestingSource([[2 * epoch, 2 * epoch + 1] for epoch in range(5)])
    stream = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers").rebalance()
    stream.sink_to(sink).set_parallelism(parallelism)
    env.execute()

    found = [path.read_text().split() for path in tmp_path.glob("compacted-part-*")]
    assert sorted(map(len, found)) == sorted([6 // parallelism, 4 // parallelism] * parallelism)
    assert sorted(int(text) for texts in found for text in texts) == [*range(10)]
    assert len([path for path in tmp_path.glob("*") if path.is_file()]) == len(found)
