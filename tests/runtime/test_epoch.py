from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.runtime.epoch import Epoch


def test_attempts_of_an_epoch_prepare_files_in_folders_of_their_own(tmp_path: Path) -> None:
    paths = [
        Path(Epoch("job", number, attempt=attempt, folder=str(tmp_path)).prepared_file("a.parquet"))
        for number, attempt in [(7, 0), (7, 1), (8, 0)]
    ]

    assert [path.parent for path in paths] == [
        tmp_path / "prepared" / "00000007-0",
        tmp_path / "prepared" / "00000007-1",
        tmp_path / "prepared" / "00000008-0",
    ]
    for path in paths:
        path.write_bytes(b"content")


def test_processes_prepare_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = Epoch("job", folder=str(tmp_path))
    here = epoch.prepared_file("a")
    monkeypatch.setattr(os, "getpid", lambda: -1)

    assert epoch.prepared_file("a") != here


def test_files_need_a_folder() -> None:
    with pytest.raises(ValueError, match="The job has no folder"):
        Epoch("job").prepared_file("a")
