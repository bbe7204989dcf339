from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.checkpoint.storage import LocalStorage
from penstock.executors.spark.runs.log_mirror import LogMirror
from penstock.runtime.private_folder import is_private


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path / "store"))


@pytest.fixture
def mirror(storage: LocalStorage) -> Iterator[LogMirror]:
    made = LogMirror(storage)
    yield made
    made.close()


def test_what_was_copied_comes_back_on_another_disk(
    storage: LocalStorage, mirror: LogMirror
) -> None:
    folder = Path(mirror.fetch("spark"))
    (folder / "offsets").mkdir(parents=True)
    (folder / "offsets" / "0").write_text("v1")
    (folder / ".metadata.crc").write_text("of this disk")
    mirror.send()
    mirror.close()

    other = LogMirror(storage)
    found = Path(other.fetch("spark"))
    files = {str(path.relative_to(found)) for path in found.rglob("*") if path.is_file()}
    other.close()

    assert storage.names() == ["spark/offsets/0"]
    assert files == {"offsets/0"}


def test_only_what_is_new_is_copied(storage: LocalStorage, mirror: LogMirror) -> None:
    folder = Path(mirror.fetch("spark"))
    folder.mkdir(parents=True)
    (folder / "a").write_text("first")
    mirror.send()
    storage.write("spark/a", [b"left alone"])
    (folder / "b").write_text("second")
    mirror.send()

    assert storage.read("spark/a") == b"left alone"
    assert storage.read("spark/b") == b"second"


def test_what_spark_deletes_goes(storage: LocalStorage, mirror: LogMirror) -> None:
    storage.write("spark/old", [b"x"])
    storage.write("other", [b"x"])
    folder = Path(mirror.fetch("spark"))
    (folder / "old").unlink()
    mirror.send()

    assert storage.names() == ["other"]


def test_leaves_nothing_on_the_disk(mirror: LogMirror, storage: LocalStorage) -> None:
    storage.write("spark/a", [b"x"])
    folder = Path(mirror.fetch("spark"))
    mirror.close()

    assert not folder.parent.exists()


def test_the_copy_stays_where_nobody_else_can_write_while_it_is_fetched(
    mirror: LogMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[str] = []
    monkeypatch.setattr(shutil, "rmtree", lambda path, **_: removed.append(path))

    place = Path(mirror.fetch("spark"))

    (of_fetch,) = removed
    assert is_private(os.path.dirname(of_fetch))
    assert stat.S_IMODE(os.lstat(os.path.dirname(of_fetch)).st_mode) == 0o700
    assert place.is_relative_to(of_fetch)
    monkeypatch.undo()
