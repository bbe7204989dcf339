"""A disk that lies: what it keeps, and that a job goes on from that."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.crash.killer import Trial
from tests.crash.lives import Kill
from tests.crash.surroundings.disk import Disk
from tests.crash.surroundings.surroundings import Surroundings
from tests.servers.zygote import Zygote

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.storage import LocalStorage
from penstock.datastream.connectors.files.staging import PublishedFile, StagedFile, Staging

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

NOTHING, ALL = 0.0, 1.0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


@pytest.fixture
def disk(place: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk(place.parent / "synced", [place])
    disk.take_all()
    monkeypatch.setattr(os, "fsync", disk.sync)
    return disk


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def cut(disk: Disk, share: float) -> None:
    disk.cut(random.Random(1), share)


def test_what_was_synced_is_kept(disk: Disk, place: Path) -> None:
    (place / "a").write_text("12345")
    sync(place / "a")
    sync(place)
    with (place / "a").open("a") as file:
        file.write("678")

    cut(disk, NOTHING)

    assert (place / "a").read_text() == "12345"


@pytest.mark.parametrize(
    "change",
    [
        lambda place: (place / "new").write_text("1"),
        lambda place: (place / "old").unlink(),
        lambda place: (place / "old").rename(place / "moved"),
        lambda place: os.link(place / "old", place / "second"),
        lambda place: (place / "folder").mkdir(),
        lambda place: (place / "old").rename(place / "other"),
    ],
    ids=["create", "delete", "rename", "link", "make a folder", "replace"],
)
def test_names_that_were_not_synced(
    disk: Disk, place: Path, change: Callable[[Path], object]
) -> None:
    (place / "old").write_text("old")
    (place / "other").write_text("other")
    disk.take_all()
    before = {path.name: path.read_text() for path in place.iterdir()}

    change(place)
    after = sorted(path.name for path in place.iterdir())
    cut(disk, ALL)
    assert sorted(path.name for path in place.iterdir()) == after

    cut(disk, NOTHING)
    assert sorted(path.name for path in place.iterdir()) == after, "the cut before made them last"

    for path in place.iterdir():
        path.rmdir() if path.is_dir() else path.unlink()
    for name, text in before.items():
        (place / name).write_text(text)
    disk.take_all()
    change(place)
    cut(disk, NOTHING)
    assert {path.name: path.read_text() for path in place.iterdir()} == before


@pytest.mark.parametrize("seed", range(20))
def test_a_rename_happened_or_did_not(disk: Disk, place: Path, seed: int) -> None:
    (place / "from").mkdir()
    (place / "to").mkdir()
    (place / "from" / "a").write_text("text")
    disk.take_all()
    (place / "from" / "a").rename(place / "to" / "a")

    disk.cut(random.Random(seed), 0.5)

    assert [path.read_text() for path in place.rglob("a")] == ["text"]


def test_a_file_of_a_storage_lasts_in_folders_that_are_new(disk: Disk, place: Path) -> None:
    storage = LocalStorage(str(place / "jobs" / "fares"))
    storage.write("state/7/a", [b"state"])
    storage.create("epochs/00000000", b"metadata")

    cut(disk, NOTHING)

    assert storage.read("state/7/a") == b"state"
    assert storage.read("epochs/00000000") == b"metadata"


def test_an_epoch_lasts_once_the_next_driver_goes_on_with_it(
    disk: Disk, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = LocalStorage(str(place / "job"))
    store = StoredEpochs(storage)
    store.commit(EpochRecord(0))
    with monkeypatch.context() as patch:
        # Killed when the name was there, and before it was synced.
        patch.setattr(storage, "_sync_folder", lambda folder: None)
        store.commit(EpochRecord(1))

    StoredEpochs(storage).take_over(2)
    cut(disk, NOTHING)

    assert StoredEpochs(storage).numbers() == [0, 1]


def test_what_was_published_lasts_in_a_folder_that_a_killed_driver_made(
    disk: Disk, place: Path
) -> None:
    staging = Staging(str(place / "output"), "sink", "lineage")
    publish(staging, "part-0")
    (place / "output" / "day=1").mkdir()

    publish(staging, "day=1/part-1")
    cut(disk, NOTHING)

    assert (place / "output" / "day=1" / "part-1").read_text() == "records"


def publish(staging: Staging, target: str) -> None:
    path, absolute = staging.new_path(0, 0)
    Path(absolute).write_text("records")
    sync(Path(absolute))
    staging.sync()
    staging.publish([PublishedFile(StagedFile(path, 7), target)], 0)


def test_what_a_file_sink_published_lasts(disk: Disk, place: Path) -> None:
    staging = Staging(str(place / "output"), "sink", "lineage")

    publish(staging, "day=1/part-0")
    cut(disk, NOTHING)

    assert (place / "output" / "day=1" / "part-0").read_text() == "records"
    assert staging.published_epoch() == 0


def test_a_job_whose_power_goes(tmp_path: Path, zygotes: Iterator[Zygote]) -> None:
    around = Surroundings(disk=Disk(tmp_path / "synced", [tmp_path / "disk"]))
    trial = Trial(tmp_path, 31, 10, 20, around=around, zygotes=zygotes)
    points = ("files.commit.after", "epochs.after", "publish.after", "delete.after")
    try:
        for point in points:
            assert trial.live("local", 2, Kill("power", point, ahead=1)).killed_at is not None
        assert trial.live("local", 2).code == 0
        trial.check()
    finally:
        trial.close()
