from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream.connectors.file_system import (
    FileEnumeratorProvider,
    FileSource,
    FileSplitAssignerProvider,
    StreamFormat,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import (
    InvalidArgumentError,
    SourceNotReadableError,
    UnsupportedOperationError,
)
from penstock.testing import local_environment

TEXT = StreamFormat.text_line_format()
NONE = WatermarkStrategy.no_watermarks()


def read(source: FileSource, parallelism: int = 1) -> list[str]:
    env = local_environment(parallelism)
    return sorted(env.from_source(source, NONE, "files").execute_and_collect())


def test_reads_all_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a").write_bytes("grün\n\nb\r\n".encode("latin-1"))
    (tmp_path / "deep" / "c.gz").write_bytes(gzip.compress(b"c\nd"))
    (tmp_path / "_hidden").write_text("no")
    builder = FileSource.for_record_stream_format(
        StreamFormat.text_line_format("latin-1"), tmp_path / "a", str(tmp_path / "deep")
    )
    builder.set_file_enumerator(FileEnumeratorProvider.default_splittable_file_enumerator())
    builder.set_file_enumerator(FileEnumeratorProvider.default_non_splittable_file_enumerator())
    builder.set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
    source = builder.monitor_continuously(Duration.of_seconds(1)).process_static_file_set().build()

    assert source.is_bounded
    assert read(source, 3) == ["", "b", "c", "d", "grün"]


def test_a_path_may_begin_with_the_scheme_of_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("to be")
    assert read(FileSource.for_record_stream_format(TEXT, f"file:{tmp_path}").build()) == ["to be"]


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("grün".encode("latin-1"))
    with pytest.raises(SourceNotReadableError, match="is not in UTF-8"):
        read(FileSource.for_record_stream_format(TEXT, tmp_path).build())


@pytest.mark.parametrize("end", ["gz", "bz2", "xz", "zst", "deflate"])
def test_a_file_that_is_not_compressed_as_its_name_says(tmp_path: Path, end: str) -> None:
    (tmp_path / f"a.{end}").write_text("to be\n")
    with pytest.raises(SourceNotReadableError, match=rf"The file '.*a\.{end}' cannot be read: \w"):
        read(FileSource.for_record_stream_format(TEXT, tmp_path).build())


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"to be\n" * 1000)[:-9])
    with pytest.raises(SourceNotReadableError, match="It may not be whole"):
        read(FileSource.for_record_stream_format(TEXT, tmp_path).build())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceNotReadableError, match="none"):
        read(FileSource.for_record_stream_format(TEXT, tmp_path / "none").build())


def test_an_empty_folder(tmp_path: Path) -> None:
    assert read(FileSource.for_record_stream_format(TEXT, tmp_path).build(), 2) == []


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: str, record_timestamp: int | None) -> int:
        return int(value)


TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
ARRIVALS = [{"3": [31, 32], "1": [1, 2], "2": [11, 12]}, {}, {"0": [41, 35]}, {"00": [60]}]


@pytest.mark.parametrize("parallelism", [1, 2, 4])
def test_no_file_makes_others_that_came_with_it_late(parallelism: int, tmp_path: Path) -> None:
    """Each run reads what has come since the last one; the folder is spelled otherwise each time."""
    folder = tmp_path / "in"
    folder.mkdir()
    found: list[Any] = []
    for number, files in enumerate(ARRIVALS):
        for name, times in files.items():
            (folder / name).write_text("\n".join(map(str, times)))
        env = local_environment(parallelism)
        env.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path / "job"))
        last = number == len(ARRIVALS) - 1
        env._configuration.set_string("execution.epoch.available-now", "true")
        env._configuration.set_string("execution.epoch.end-of-input", str(last).lower())
        spelled = f"{tmp_path}{'/.' * number}/in"
        source = FileSource.for_record_stream_format(TEXT, spelled)
        lines = env.from_source(
            source.monitor_continuously(Duration.of_days(1)).build(), TIMES, "files"
        ).uid("files")
        windows = lines.map(lambda line: (0, int(line))).key_by(lambda pair: pair[0])
        sums = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).sum(1)
        found += sums.uid("sums").execute_and_collect()

    assert [total for _, total in found] == [3, 23, 63 + 35, 41, 60]


FILE_SOURCE: Any = FileSource
FORMAT: Any = StreamFormat
FILES = FILE_SOURCE.for_record_stream_format


@pytest.mark.parametrize(
    "build",
    [
        lambda: FILES("text", "/in"),
        lambda: FILE_SOURCE.for_bulk_file_format(TEXT, "/in"),
        lambda: FILES(TEXT),
        lambda: FILES(TEXT, ""),
        lambda: FILES(TEXT, 7),
        lambda: FILES(TEXT, "/in").monitor_continuously(10),
        lambda: FILES(TEXT, "/in").monitor_continuously(Duration.of_millis(0)),
        lambda: FILES(TEXT, "/in").set_file_enumerator(None),
        lambda: FILES(TEXT, "/in").set_split_assigner(None),
        lambda: StreamFormat.text_line_format("klingon"),
        lambda: FORMAT.text_line_format(8),
    ],
)
def test_what_cannot_be_is_refused(build: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="Hint: "):
        build()


def test_a_place_that_nobody_could_look_at_is_refused() -> None:
    with pytest.raises(
        UnsupportedOperationError, match=r"(?s)nothing is known of hdfs://.*readStream"
    ):
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/in", "hdfs://nn/in")
    for place in ("file:///in", "s3a://bucket/in", "/in/a:b"):
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), place).build()
