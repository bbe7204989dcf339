from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from penstock.common.lasting import make_lasting_folder


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_every_folder_above_one_that_was_made_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(os.readlink(f"/proc/self/fd/{file}"))
    )

    make_lasting_folder(str(tmp_path / "a" / "b"))

    assert (tmp_path / "a" / "b").is_dir()
    assert synced == [str(tmp_path), str(tmp_path / "a")]

    make_lasting_folder(str(tmp_path / "a" / "b"))
    assert len(synced) == 2
