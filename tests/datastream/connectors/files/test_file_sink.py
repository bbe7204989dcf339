from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.datastream.connectors.sink_job import SinkJob

from penstock.common import (
    BulkWriter,
    BulkWriterFactory,
    Configuration,
    Encoder,
    Row,
    TimestampAssigner,
    WatermarkStrategy,
)
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.connectors.files import writer
from penstock.datastream.connectors.files.policies import (
    BucketAssigner,
    BucketContext,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.datastream.formats.parquet import ParquetBulkWriters
from penstock.errors import (
    InvalidArgumentError,
    SinkNotWritableError,
    UnsupportedOperationError,
    UserFunctionError,
)
from penstock.testing import TestingSource

STRINGS = Encoder.simple_string_encoder()
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])


def flat(folder: Path, encoder: Encoder = STRINGS) -> FileSink.RowFormatBuilder:
    return FileSink.for_row_format(str(folder), encoder).with_bucket_assigner(
        BucketAssigner.base_path_bucket_assigner()
    )


class Five(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        return 5


def run(sink: FileSink, epochs: list[list[Any]], parallelism: int = 1, **settings: Any) -> None:
    configuration = Configuration().set_string("execution.target", "local")
    for key, value in settings.items():
        configuration.set_string(key.replace("_", "."), str(value))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    stream = env.from_source(
        TestingSource(epochs),
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Five()),
        "values",
    )
    stream.rebalance().sink_to(sink).set_parallelism(parallelism).name("files")
    env.execute()


def texts(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.read_text() for path in files if ".penstock" not in path.parts)


class Spoiling:
    """Changes the records it was asked about before."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def spoil(self, record: dict[str, Any]) -> None:
        for before in self.seen:
            before["id"] = -1
        self.seen.append(record)


class SpoilingAssigner(Spoiling, BucketAssigner):
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        self.spoil(element)
        element["name"] = "assigned"
        return ""


class SpoilingPolicy(Spoiling, OnCheckpointRollingPolicy):
    def should_roll_on_event(self, part_file: Any, element: Any) -> bool:
        self.spoil(element)
        return False


class Bytes(BulkWriterFactory):
    def create(self, file: BinaryIO) -> BulkWriter:
        return _BytesWriter(file)


class _BytesWriter(BulkWriter):
    def __init__(self, file: BinaryIO) -> None:
        self.file, self.held = file, list[Any]()

    def add_element(self, element: Any) -> None:
        self.held.append(element)

    def finish(self) -> None:
        self.file.write("".join(f"{record}\n" for record in self.held).encode())


@pytest.mark.parametrize("kind", ["parquet", "own", "row"])
def test_who_chooses_files_changes_no_record_that_was_given_before(
    tmp_path: Path, kind: str
) -> None:
    builder: Any
    if kind == "row":
        builder = FileSink.for_row_format(str(tmp_path), Encoder.json_lines())
    else:
        factory = ParquetBulkWriters.for_row_type(SCHEMA) if kind == "parquet" else Bytes()
        builder = FileSink.for_bulk_format(str(tmp_path), factory)
    builder = builder.with_bucket_assigner(SpoilingAssigner())
    records = [{"id": number, "name": "x"} for number in range(3)]

    run(builder.with_rolling_policy(SpoilingPolicy()).build(), [records])

    expected = [{"id": number, "name": "assigned"} for number in range(3)]
    [path] = (path for path in tmp_path.rglob("part-*") if ".penstock" not in path.parts)
    if kind == "parquet":
        assert pq.read_table(path).to_pylist() == expected
    else:
        lines = path.read_text().splitlines()
        assert [ast.literal_eval(line) for line in lines] == expected


class TestFiles:
    def test_of_a_bounded_job_are_complete_at_its_end(self, tmp_path: Path) -> None:
        run(flat(tmp_path / "out").build(), [[1, 2], [], [3]])

        assert texts(tmp_path / "out") == ["1\n2\n3\n"]

    def test_are_one_for_each_subtask(self, tmp_path: Path) -> None:
        run(flat(tmp_path / "out").build(), [[1, 2], [3, 4]], parallelism=2)

        assert "".join(texts(tmp_path / "out")).split() in (
            ["1", "3", "2", "4"],
            ["1", "4", "2", "3"],
        )
        assert len(texts(tmp_path / "out")) == 2

    def test_are_named_as_configured(self, tmp_path: Path) -> None:
        names = OutputFileConfig("rows", ".txt")
        run(flat(tmp_path).with_output_file_config(names).build(), [[1]])

        [path] = [path for path in tmp_path.iterdir() if path.is_file()]
        assert path.name.startswith("rows-00000000-0-")
        assert path.suffix == ".txt"

    def test_go_where_the_assigner_says(self, tmp_path: Path) -> None:
        class ByTime(BucketAssigner):
            def get_bucket_id(self, element: Any, context: BucketContext) -> str:
                assert context.current_processing_time() > 10**12
                return f"key={element}/at={context.timestamp()}/{context.current_watermark() < 0}"

        run(flat(tmp_path).with_bucket_assigner(ByTime()).build(), [["a", "b"]])

        assert sorted(
            str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("part-*")
        ) == [
            "key=a/at=5/True",
            "key=b/at=5/True",
        ]

    @pytest.mark.parametrize("bucket", ["..", "/tmp", "a//b", "a/", ".penstock", None])
    def test_stay_below_the_base_path(self, tmp_path: Path, bucket: Any) -> None:
        class Escaping(BucketAssigner):
            def get_bucket_id(self, element: Any, context: BucketContext) -> str:
                return bucket  # type: ignore[no-any-return]

        with pytest.raises(InvalidArgumentError, match="'Sink: files' cannot go into the folder"):
            run(flat(tmp_path).with_bucket_assigner(Escaping()).build(), [[1]])

    def test_may_be_of_any_size(self, tmp_path: Path) -> None:
        policy = RollingPolicy.default_rolling_policy(part_size=4)
        run(flat(tmp_path).with_rolling_policy(policy).build(), [[1, 2, 3], [4, 5]])

        assert texts(tmp_path) == ["1\n2\n", "3\n4\n", "5\n"]

    def test_of_a_job_that_is_started_again_go_on(self, tmp_path: Path) -> None:
        class Failing(Encoder):
            def encode(self, value: Any) -> bytes:
                return f"{1 // value}\n".encode()

        settings: dict[str, Any] = {"execution_checkpointing_dir": tmp_path / "job"}
        out = tmp_path / "out"
        with pytest.raises(UserFunctionError, match="ZeroDivisionError") as caught:
            run(flat(out, Failing()).build(), [[1], [1], [0]], **settings)
        assert "'Sink: files' failed on the record 0" in str(caught.value)
        assert not out.exists() or texts(out) == []

        run(flat(out).build(), [[1], [1], [5]], **settings)
        assert texts(out) == ["1\n1\n5\n"]

    def test_are_taken_up_by_other_numbers_of_subtasks(self, tmp_path: Path) -> None:
        class Trapped(Encoder):
            def __init__(self, trap: int) -> None:
                self._trap = trap

            def encode(self, value: Any) -> bytes:
                if value == self._trap:
                    raise ValueError("trapped")
                return f"{value}\n".encode()

        settings: dict[str, Any] = {"execution_checkpointing_dir": tmp_path / "job"}
        epochs: list[list[Any]] = [[1, 2], [3, 4], [5, 6], [7, 8]]
        for trap, parallelism in ((4, 2), (6, 5)):
            with pytest.raises(UserFunctionError, match="trapped"):
                run(flat(tmp_path / "out", Trapped(trap)).build(), epochs, parallelism, **settings)
            assert texts(tmp_path / "out") == []
        run(flat(tmp_path / "out").build(), epochs, **settings)

        assert sorted("".join(texts(tmp_path / "out")).split()) == list("12345678")


class TestBulkFormats:
    def test_may_be_ones_own(self, tmp_path: Path) -> None:
        class Sorted(BulkWriter):
            def __init__(self, file: BinaryIO) -> None:
                self._file = file
                self._values: list[Any] = []

            def add_element(self, element: Any) -> None:
                self._values.append(element)

            def finish(self) -> None:
                self._file.write(f"{sorted(self._values)}".encode())

        class SortedFiles(BulkWriterFactory):
            def create(self, file: BinaryIO) -> BulkWriter:
                return Sorted(file)

        sink = FileSink.for_bulk_format(str(tmp_path), SortedFiles())
        sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        run(sink.build(), [[3, 1], [2]])

        assert texts(tmp_path) == ["[1, 3]", "[2]"]

    def test_parquet(self, tmp_path: Path) -> None:
        writers = ParquetBulkWriters.for_row_type(SCHEMA, compression="zstd", row_group_size=2)
        rows = [(1, "a"), Row(name="b", id=2), {"id": 3, "name": None}]
        run(FileSink.for_bulk_format(str(tmp_path), writers).build(), [rows])

        [path] = tmp_path.rglob("part-*")
        assert pq.read_table(path).to_pylist() == [
            {"id": 1, "name": "a"},
            {"id": 2, "name": "b"},
            {"id": 3, "name": None},
        ]
        assert pq.ParquetFile(path).num_row_groups == 2

    def test_parquet_names_rows_that_do_not_fit(self, tmp_path: Path) -> None:
        writers = ParquetBulkWriters.for_row_type(SCHEMA)
        with pytest.raises(InvalidArgumentError, match="rows that are not of its schema"):
            run(FileSink.for_bulk_format(str(tmp_path), writers).build(), [[("a", 1)]])

    @pytest.mark.parametrize("options", [{"row_type": "id int"}, {"row_group_size": 0}])
    def test_parquet_refuses_what_cannot_be(self, options: dict[str, Any]) -> None:
        with pytest.raises(InvalidArgumentError):
            ParquetBulkWriters.for_row_type(**{"row_type": SCHEMA, **options})


class TestAPlaceThatCannotBeWritten:
    def test_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "out").write_text("no folder")

        with pytest.raises(SinkNotWritableError, match=f"below {tmp_path / 'out'} cannot write"):
            run(flat(tmp_path / "out").build(), [[1]])

    @pytest.mark.parametrize("values", [[1], list(range(100_000))])
    def test_is_full(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: list[int]
    ) -> None:
        def full(path: str, mode: str) -> BinaryIO:
            return open("/dev/full", "wb")

        monkeypatch.setattr(writer, "open", full, raising=False)

        with pytest.raises(SinkNotWritableError, match="No space left"):
            run(flat(tmp_path / "out").build(), [values])
        monkeypatch.undo()
        run(flat(tmp_path / "out").build(), [[1]])
        assert texts(tmp_path / "out") == ["1\n"]

    def test_leaves_errors_of_encoders_alone(self, tmp_path: Path) -> None:
        class Reading(Encoder):
            def encode(self, value: Any) -> bytes:
                return Path("/nowhere/at/all").read_bytes()

        with pytest.raises(UserFunctionError, match="FileNotFoundError"):
            run(flat(tmp_path, Reading()).build(), [[1]])


def test_wakes_up_to_ask_for_the_time(tmp_path: Path) -> None:
    sink = flat(tmp_path / "out").with_bucket_check_interval(500).build()
    assert sink.has_writer_state
    job = SinkJob(sink, tmp_path / "job")
    job.run([[1]])
    operator = job._tasks[0].harness.operator  # type: ignore[union-attr]
    assert operator.wants_wake_ups
    assert operator.next_wake_up() == job.now + 500

    job.now += 60_000
    job.run([[]])
    assert texts(tmp_path / "out") == ["1\n"]
    assert operator.next_wake_up() is None
    job.close()


def test_files_of_one_epoch_need_no_subtask_of_their_own(tmp_path: Path) -> None:
    sink = flat(tmp_path).with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()
    assert not sink.create_operator().needs_its_subtask
    assert not sink.create_operator().wants_wake_ups


class TestWhatCannotBe:
    def test_an_object_store(self) -> None:
        with pytest.raises(UnsupportedOperationError, match="cannot write to 's3://bucket/out'"):
            FileSink.for_row_format("s3://bucket/out", STRINGS)
        for nowhere in ("", " ", "~/out", "file://"):
            with pytest.raises(InvalidArgumentError, match="is no folder"):
                FileSink.for_row_format(nowhere, STRINGS)

    def test_other_things_than_asked_for(self, tmp_path: Path) -> None:
        anything: Any = "anything"
        writers = ParquetBulkWriters.for_row_type(SCHEMA)
        bulk = FileSink.for_bulk_format(str(tmp_path), writers)
        for call in (
            lambda: FileSink.for_row_format(str(tmp_path), anything),
            lambda: FileSink.for_bulk_format(str(tmp_path), anything),
            lambda: flat(tmp_path).with_bucket_assigner(anything),
            lambda: flat(tmp_path).with_rolling_policy(anything),
            lambda: flat(tmp_path).with_output_file_config(anything),
            lambda: flat(tmp_path).with_bucket_check_interval(0),
            lambda: bulk.with_rolling_policy(RollingPolicy.default_rolling_policy()),  # type: ignore[arg-type]
        ):
            with pytest.raises(InvalidArgumentError):
                call()

    def test_a_url_of_a_folder_can(self, tmp_path: Path) -> None:
        run(FileSink.for_row_format(f"file://{tmp_path}/out", STRINGS).build(), [[1]])
        assert texts(tmp_path / "out") == ["1\n"]
