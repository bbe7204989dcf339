from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from penstock.checkpoint.lasting import make_lasting_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders below the temporary one that are synced."""
    found: list[str] = []

    def sync(file: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{file}"))
        if path.is_relative_to(tmp_path):
            found.append(str(path.relative_to(tmp_path)))

    monkeypatch.setattr(os, "fsync", sync)
    return found


def test_every_folder_above_one_that_was_made_is_synced(tmp_path: Path, synced: list[str]) -> None:
    make_lasting_folder(str(tmp_path / "a" / "b"))

    assert (tmp_path / "a" / "b").is_dir()
    assert synced == [".", "a"]

    make_lasting_folder(str(tmp_path / "a" / "b"))
    assert synced == [".", "a"]
    make_lasting_folder(str(tmp_path / "a" / "c"))
    assert synced == [".", "a", "a"]


def test_a_folder_that_somebody_made_is_made_to_last_once(
    tmp_path: Path, synced: list[str]
) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)

    make_lasting_folder(str(tmp_path / "a" / "b"))
    make_lasting_folder(str(tmp_path / "a" / "b"))

    assert synced == [".", "a"]


def test_a_folder_that_was_deleted_is_made_to_last_again(tmp_path: Path, synced: list[str]) -> None:
    make_lasting_folder(str(tmp_path / "a" / "b"))
    (tmp_path / "a" / "b").rmdir()
    synced.clear()

    make_lasting_folder(str(tmp_path / "a" / "b"))

    assert synced == ["a"]


def test_folders_above_that_must_not_be_read_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()

    def refuse(folder: str) -> None:
        if folder == str(tmp_path):
            raise PermissionError(folder)

    monkeypatch.setattr("penstock.checkpoint.lasting.sync_folder", refuse)

    make_lasting_folder(str(tmp_path / "mine" / "a"))
    with pytest.raises(PermissionError):
        make_lasting_folder(str(tmp_path / "new"))
