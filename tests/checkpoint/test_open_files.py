from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from penstock.checkpoint.handles import read_copy
from penstock.checkpoint.open_files import OpenFile, copy_open_file
from penstock.checkpoint.storage import LocalStorage
from penstock.errors import DamagedStateError, LostOutputError

CONTENT = b"line\n" * 500_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "part"
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path / "job"))


def test_a_copy_is_what_was_copied(path: Path, storage: LocalStorage) -> None:
    handle = copy_open_file(OpenFile(str(path), len(CONTENT)), storage, "pieces/one")
    path.unlink()

    assert b"".join(read_copy(storage, handle)) == CONTENT


def test_a_copy_that_is_damaged_is_refused(path: Path, storage: LocalStorage) -> None:
    handle = copy_open_file(OpenFile(str(path), len(CONTENT)), storage, "pieces/one")
    storage.write("pieces/one", [CONTENT[:-1], b"?"])

    with pytest.raises(DamagedStateError):
        b"".join(read_copy(storage, handle))


@pytest.mark.parametrize("length", [len(CONTENT) - 1, len(CONTENT) + 1])
def test_nothing_is_copied_of_a_file_that_is_not_what_was_written(
    path: Path, storage: LocalStorage, length: int
) -> None:
    with pytest.raises(LostOutputError, match=f"has 2500000 bytes, not {length}"):
        copy_open_file(OpenFile(str(path), length), storage, "pieces/one")

    assert storage.names("pieces") == []


def test_nothing_is_copied_of_a_file_with_other_bytes(path: Path, storage: LocalStorage) -> None:
    file = OpenFile(str(path), len(CONTENT), zlib.crc32(CONTENT))
    copy_open_file(file, storage, "pieces/one")
    path.write_bytes(CONTENT[:-2] + b"?\n")

    with pytest.raises(LostOutputError, match="has bytes with the checksum"):
        copy_open_file(file, storage, "pieces/two")
    assert storage.names("pieces") == ["pieces/one"]


def test_a_file_that_is_gone_is_named(path: Path, storage: LocalStorage) -> None:
    path.unlink()
    with pytest.raises(LostOutputError, match=r"part, whose records .* cannot be read"):
        copy_open_file(OpenFile(str(path), 1), storage, "pieces/one")
