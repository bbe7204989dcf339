"""Sinks that deliver once, on Spark: what dies in between changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from tests.executors.spark.conftest import StreamOf
from tests.semantics.faults import Once, lose_a_buffer

from penstock.common import Configuration, Encoder, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.files.committer import FileCommitter
from penstock.datastream.connectors.files.compaction import FileCompactor, FileCompactStrategy
from penstock.datastream.connectors.files.policies import BucketAssigner, RollingPolicy
from penstock.datastream.connectors.spark import SparkSink
from penstock.datastream.formats.parquet import ParquetBulkWriters
from penstock.errors import UserFunctionError
from penstock.runtime.sinks import CommitContext

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

FLAT = BucketAssigner.base_path_bucket_assigner()
NUMBER = Types.ROW_NAMED(["number"], [Types.LONG()])


def run(spark: SparkSession, rows: DataFrame, folder: Path, *added: int) -> None:
    """Write numbers, early and late in the program, until what is there is read.

    Args:
        spark: The session.
        rows: The numbers.
        folder: Where all is written.
        *added: Numbers of a bounded source beside.
    """
    configuration = Configuration().set_string("execution.epoch.available-now", "true")
    configuration.set_string("execution.checkpointing.dir", str(folder / "job"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    numbers = env.set_parallelism(2).from_data_frame(rows).uid("rows").map(lambda row: row.number)
    if added:
        numbers = numbers.union(env.from_collection(added).uid("added"))
    # The first attempt at the second epoch has prepared these before it fails.
    numbers.map(lambda number: (number,)).sink_to(
        FileSink.for_bulk_format(str(folder / "early"), ParquetBulkWriters.for_row_type(NUMBER))
        .with_bucket_assigner(FLAT)
        .build()
    ).uid("early")
    late = numbers.rebalance().map(Once(lose_a_buffer, folder / "lost", lambda number: number == 4))
    late.map(lambda number: {"number": number}).sink_to(
        FileSink.for_row_format(str(folder / "late"), Encoder.json_lines())
        .with_bucket_assigner(FLAT)
        .with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=40))
        .build()
    ).uid("late")
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
    late.sink_to(
        FileSink.for_row_format(str(folder / "compacted"), Encoder.simple_string_encoder())
        .with_bucket_assigner(FLAT)
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .enable_compact(strategy, FileCompactor.concat_file_compactor())
        .build()
    ).uid("compacted")
    env.execute()


def early(folder: Path) -> list[int]:
    files = (folder / "early").glob("part-*")
    return sorted(number for path in files for number in pq.read_table(path)["number"].to_pylist())


def late(folder: Path) -> list[int]:
    files = (folder / "late").glob("part-*")
    lines = [line for path in files for line in path.read_text().splitlines()]
    return sorted(json.loads(line)["number"] for line in lines)


def compacted(folder: Path) -> list[int]:
    files = (folder / "compacted").glob("compacted-part-*")
    return sorted(int(line) for path in files for line in path.read_text().splitlines())


@pytest.mark.classic  # it reaches into the driver's side, which is in another process otherwise
@pytest.mark.parametrize("added", [[], [7, 8]])
def test_files_have_each_record_once(
    spark: SparkSession,
    stream_of: StreamOf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    added: list[int],
) -> None:
    epochs = [[{"number": number}] * 3 for number in range(3, 7)]
    frame = stream_of("number int", *epochs)
    commit = FileCommitter.commit
    expected = [number for number in range(3, 7) for _ in range(3)]

    def die(self: FileCommitter, committables: list[Any], context: CommitContext) -> None:
        if context.epoch == 2:
            raise InterruptedError("the driver dies")
        commit(self, committables, context)

    monkeypatch.setattr(FileCommitter, "commit", die)
    with pytest.raises(UserFunctionError, match="the driver dies"):
        run(spark, frame, tmp_path)
    assert early(tmp_path) == expected[:6]
    assert (tmp_path / "lost").exists()
    monkeypatch.undo()

    expected += added
    run(spark, frame, tmp_path, *added)
    assert early(tmp_path) == late(tmp_path) == compacted(tmp_path) == expected
    # Spark takes no notice of the hidden folder.
    found = spark.read.parquet(str(tmp_path / "early")).collect()
    assert sorted(row.number for row in found) == expected


def test_delta_is_told_of_the_epoch() -> None:
    from penstock.executors.spark.sinks import SparkCommitter

    context = CommitContext(name="sink", sink_id="id", epoch=7, lineage="line")
    spark: Any = None
    sink = SparkSink("delta", schema="a int", path="p", options={"mergeSchema": "true"})
    assert SparkCommitter(spark, sink)._options(context) == {
        "mergeSchema": "true",
        "txnAppId": "line-id",
        "txnVersion": "7",
    }
    assert SparkCommitter(spark, SparkSink("csv", schema="a int", path="p"))._options(context) == {}
