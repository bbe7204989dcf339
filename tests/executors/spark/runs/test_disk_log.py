"""What Spark writes is there as long as the metadata of the epoch that needs it."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
from tests.crash.surroundings.disk import Disk

from penstock.checkpoint.storage import LocalStorage
from penstock.executors.spark.runs.disk_log import DiskLog

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_what_spark_wrote_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    disk = Disk(tmp_path / "synced", [tmp_path / "disk"])
    disk.take_all()
    monkeypatch.setattr(os, "fsync", disk.sync)
    place = tmp_path / "disk"
    log = DiskLog(LocalStorage(str(place)))

    assert log.fetch("spark") == str(place / "spark")
    for number in range(3):
        for name in (f"offsets/{number}", f"commits/{number}", f"sources/0/{number}"):
            path = place / "spark" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        log.send()
    (place / "spark" / "offsets" / "3").write_text("never synced")
    disk.cut(random.Random(1), 0.0)

    found = sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
    kinds = ("offsets/{}", "sources/0/{}")
    assert found == [f"spark/{kind.format(number)}" for kind in kinds for number in range(3)]
    assert all((place / name).read_text() == name.removeprefix("spark/") for name in found)


def test_a_file_is_synced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append(os.readlink(f"/proc/self/fd/{file}"))
    )
    log = DiskLog(LocalStorage(str(tmp_path)))
    log.fetch("spark")
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "metadata").touch()

    log.send()
    log.send()

    assert synced.count(str(tmp_path / "spark" / "metadata")) == 1


def test_what_is_not_whole_is_dropped_if_no_epoch_needs_it(tmp_path: Path) -> None:
    whole = 'v1\n{"a": 1}\n{"logOffset": 1}'
    kept = {"offsets/0": "v1", "offsets/1": whole, "commits/0": 'v1\n{"n": 0}', "sources/0/1": "v"}
    dropped = {
        "offsets/2": 'v1\n{"a": 1}\n{"log',
        "offsets/3": 'v1\n{"a": 1}',
        "offsets/4": "",
        "commits/1": "v1",
        "commits/2": 'v1\n{"n',
        "sources/0/2": "",
    }
    for name, text in {**kept, **dropped, "offsets/.0.crc": "?", "offsets/5": whole}.items():
        path = tmp_path / "spark" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    DiskLog(LocalStorage(str(tmp_path))).drop_damaged("spark", 1)

    found = LocalStorage(str(tmp_path)).names("spark")
    assert found == sorted(f"spark/{name}" for name in [*kept, "offsets/5"])
    assert not (tmp_path / "spark" / "offsets" / ".0.crc").exists()
