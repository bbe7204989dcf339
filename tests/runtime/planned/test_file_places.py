from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.checkpoint.storage import open_storage
from penstock.errors import ObjectStoreError, SourceNotReadableError
from penstock.runtime.planned.file_places import absolute, decompressed, files_below, opened

if TYPE_CHECKING:
    from tests.servers.s3_server import S3Server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files that are to be found, and others."""
    for name in ("b", "a", "deep/er/c", "_no/d", ".no/e", "deep/_f", "deep/.g"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "in"


def test_places_mean_the_same_in_any_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    places = ["in", "file:/in", "file:///in", "s3://bucket/in", "hdfs://in"]
    found = [f"{tmp_path}/in", "/in", "/in", "s3://bucket/in", "hdfs://in"]
    assert list(map(absolute, places)) == found


def test_all_files_are_found_but_hidden_ones(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "gone").symlink_to(folder / "nowhere")

    assert files_below(str(folder)) == [str(folder / name) for name in ("a", "b", "deep/er/c")]


def test_a_file_is_found_however_it_is_spelled(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    spellings = [
        f"{folder}/",
        f"{folder}/../in",
        f"{folder.parent}//in",
        f"file://{folder}",
        f"file:{folder}/",
        f"{folder.parent}/link",
    ]

    assert [files_below(place) for place in spellings] == [files_below(str(folder))] * 6
    assert files_below(f"file://{folder}/deep/../a") == [str(folder / "a")]


def test_a_file_that_is_named_may_be_hidden(folder: Path) -> None:
    assert files_below(str(folder / "deep/_f")) == [str(folder / "deep/_f")]


def test_a_place_that_is_not_there(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files_below(str(folder / "none"))


def test_a_file_that_is_gone(folder: Path) -> None:
    with pytest.raises(SourceNotReadableError, match="none' was found, and cannot be read"):
        opened(str(folder / "none"))


def _zstandard(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


@pytest.mark.parametrize(
    ("end", "compress"),
    [
        (".gz", gzip.compress),
        (".gzip", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", _zstandard),
        (".deflate", zlib.compress),
        (".txt", bytes),
    ],
)
def test_a_compressed_file_is_known_by_its_end(
    end: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = str(tmp_path / f"file{end}")
    Path(path).write_bytes(compress(b"one\ntwo\n" * 20_000))

    with opened(path) as file, decompressed(file, path) as content:
        assert content.read() == b"one\ntwo\n" * 20_000


def test_objects_are_found_and_read(s3: tuple[S3Server, str]) -> None:
    _, location = s3
    storage = open_storage(location)
    storage.write("in/b.gz", [gzip.compress(b"b\n" * 3_000_000)])
    for name in ("in/deep/a", "in/_no/c", "in/.d", "other/e"):
        storage.write(name, [name.encode()])
    url = f"s3://{location.partition('://')[2]}/in"

    found = files_below(f"{url}//")

    assert found == files_below(url.replace("s3:", "s3a:")) == [f"{url}/b.gz", f"{url}/deep/a"]
    assert files_below(f"{url}/deep/a") == [f"{url}/deep/a"]
    with opened(found[0]) as file, decompressed(file, found[0]) as content:
        assert content.read() == b"b\n" * 3_000_000
    with opened(found[1]) as file:
        assert (file.seek(-1, 2), file.read(), file.seek(3), file.read(4)) == (8, b"a", 3, b"deep")
    for place in (f"{url}/none", "s3://bucket-that-is-not-there"):
        with pytest.raises((FileNotFoundError, ObjectStoreError)):
            files_below(place)
    with pytest.raises(SourceNotReadableError, match="was found, and cannot be read"):
        opened(f"{url}/none").read()


def test_parquet_is_read_from_an_object_store(s3: tuple[S3Server, str]) -> None:
    _, location = s3
    file = io.BytesIO()
    pq.write_table(pa.table({"id": range(10_000)}), file)
    open_storage(location).write("a.parquet", [file.getvalue()])

    with opened(f"{location}/a.parquet") as stored:
        assert pq.ParquetFile(stored).read().num_rows == 10_000
