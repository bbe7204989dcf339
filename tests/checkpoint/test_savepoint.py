from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.handles import read_state_file, write_state_file
from penstock.checkpoint.savepoint import (
    check_place,
    copy_into,
    dispose_savepoint,
    read_savepoint,
    write_savepoint,
)
from penstock.checkpoint.storage import LocalStorage
from penstock.errors import DamagedStateError, SavepointError


class Location:
    """A job's location with the state of two subtasks, and what Spark keeps beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.storage = LocalStorage(str(folder / "job"))
        handles = {
            (1, subtask): (
                write_state_file(
                    self.storage, f"state/v-{subtask}/12", [b"%d" % subtask], is_snapshot=True
                ),
            )
            for subtask in range(2)
        }
        write_state_file(self.storage, "state/v-0/13", [b"later"], is_snapshot=True)
        self.record = EpochRecord(
            12,
            previous="digest",
            handles=handles,
            prepared=[("sink", {"file": "prepared/00000012-0"})],
            engine={"folder": "spark-2", "sources": ["a"]},
        )
        self.put("prepared/00000012-0")
        for folder_name in ("spark", "spark-2"):
            for number in range(15):
                self.put(f"{folder_name}/offsets/{number}", f"{folder_name} {number}")
                self.put(f"{folder_name}/commits/{number}")
            self.put(f"{folder_name}/metadata")
            self.put(f"{folder_name}/sources/0/3")

    def put(self, name: str, text: str = "x") -> None:
        self.storage.write(name, [text.encode()])

    def target(self, name: str) -> LocalStorage:
        return LocalStorage(str(self.folder / name))


@pytest.fixture
def location(tmp_path: Path) -> Location:
    return Location(tmp_path)


def contents(storage: LocalStorage, record: EpochRecord) -> list[list[bytes]]:
    return [
        list(read_state_file(storage, handle))
        for handles in record.handles.values()
        for handle in handles
    ]


def test_holds_what_the_epoch_needs_and_no_more(location: Location) -> None:
    target = location.target("savepoint")
    write_savepoint(location.storage, location.record, target)

    numbers = [str(number) for number in range(3, 13)]
    record = read_savepoint(target)
    assert contents(target, record) == contents(location.storage, location.record)
    assert set(target.names()) == {
        "epochs/00000012",
        *record.files(),
        *[f"spark-2/{log}/{number}" for log in ("offsets", "commits") for number in numbers],
        "spark-2/metadata",
        "spark-2/sources/0/3",
    }
    assert target.read("spark-2/offsets/12") == b"spark-2 12"


def test_is_read_where_it_was_moved_to(location: Location) -> None:
    write_savepoint(location.storage, location.record, location.target("savepoint"))
    (location.folder / "savepoint").rename(location.folder / "moved")
    moved = location.target("moved")
    record = read_savepoint(moved)

    assert (record.number, record.previous, record.prepared) == (12, "", [])
    assert contents(moved, record) == contents(location.storage, location.record)


def test_is_none_until_it_is_complete(location: Location) -> None:
    class Breaking(LocalStorage):
        """Fails at the last thing that is written."""

        def create(self, name: str, data: bytes) -> None:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_savepoint(
            location.storage, location.record, Breaking(str(location.folder / "savepoint"))
        )
    with pytest.raises(SavepointError, match="no complete savepoint"):
        read_savepoint(location.target("savepoint"))
    with pytest.raises(SavepointError, match="there is something already"):
        write_savepoint(location.storage, location.record, location.target("savepoint"))


def test_is_not_written_of_damaged_state(location: Location) -> None:
    name = min(location.record.files())
    location.put(name, "not what was written")
    with pytest.raises(DamagedStateError, match="is damaged") as damaged:
        write_savepoint(location.storage, location.record, location.target("savepoint"))
    assert "execution.state-recovery.epoch" in str(damaged.value.hint)
    assert "start from another savepoint" in str(damaged.value.hint)
    with pytest.raises(SavepointError):
        read_savepoint(location.target("savepoint"))


def test_there_is_none_where_there_is_nothing(location: Location) -> None:
    with pytest.raises(SavepointError, match="no complete savepoint"):
        read_savepoint(location.target("nothing"))


def test_is_copied_to_a_job_without_its_metadata(location: Location) -> None:
    savepoint, job = location.target("savepoint"), location.target("new")
    write_savepoint(location.storage, location.record, savepoint)
    record = copy_into(savepoint, job)

    folder = record.engine["folder"]
    assert record.number == 12
    assert contents(job, record) == contents(location.storage, location.record)
    assert {name.replace(folder, "spark-2") for name in job.names()} - record.files() == (
        set(savepoint.names()) - {"epochs/00000012"} - read_savepoint(savepoint).files()
    )


def test_of_another_jobs_location_what_was_prepared_is_copied_too(location: Location) -> None:
    StoredEpochs(location.storage).commit(location.record)
    location.storage.delete({"spark-2/commits/12"})
    # In the epoch that runs.
    location.put("prepared/00000013-0")
    location.put("sinks/sink")
    record = copy_into(location.storage, location.target("new"))

    assert contents(location.target("new"), record) == contents(location.storage, location.record)
    assert record.prepared == location.record.prepared
    assert location.target("new").names("prepared") == ["prepared/00000012-0"]
    assert location.target("new").names("sinks") == ["sinks/sink"]


def test_of_another_jobs_location_the_next_epoch_is_read_when_one_is_gone(
    location: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = StoredEpochs(location.storage)
    job.commit(location.record)
    later = dataclasses.replace(location.record, number=13)
    real = StoredEpochs.get

    def late(epochs: StoredEpochs, number: int) -> EpochRecord | None:
        if number == 12:
            job.commit(later)
            job.forget(12)
        return real(epochs, number)

    monkeypatch.setattr(StoredEpochs, "get", late)
    assert read_savepoint(location.storage) == later


@pytest.mark.parametrize("by", ["the job", "Spark"])
def test_of_another_jobs_location_what_was_delivered_is_left(location: Location, by: str) -> None:
    digest = StoredEpochs(location.storage).commit(location.record)
    if by == "the job":
        location.storage.delete({"spark-2/commits/12"})
        location.put("published", f"{digest} 12 lineage")
    record = copy_into(location.storage, location.target("new"))

    assert record.prepared == []
    assert "prepared/00000012-0" not in location.target("new").names()


def test_is_refused_where_nothing_can_be_written(location: Location) -> None:
    location.put("file")
    target = location.target("job/file")

    with pytest.raises(
        SavepointError, match=r"No savepoint can be written to .*: .Errno"
    ) as caught:
        check_place(target, location.storage)
    assert "checkpoint location" not in str(caught.value)
    with pytest.raises(SavepointError, match=r"No savepoint can be written to .*: .Errno"):
        write_savepoint(location.storage, location.record, target)


@pytest.mark.parametrize("folder", ["state", "state/v-0", "prepared/x", "pieces/x", "epochs/x"])
def test_is_refused_where_the_job_deletes_what_it_does_not_need(
    location: Location, folder: str
) -> None:
    with pytest.raises(SavepointError, match="the job keeps its own files there"):
        write_savepoint(location.storage, location.record, location.target(f"job/{folder}"))

    write_savepoint(location.storage, location.record, location.target("job/statements"))


def test_a_place_that_is_checked_stays_empty(location: Location) -> None:
    target = location.target("savepoint")

    check_place(target, location.storage)

    assert target.names() == []


def test_a_job_that_has_ended_is_none(location: Location) -> None:
    StoredEpochs(location.storage).commit(dataclasses.replace(location.record, is_last=True))

    with pytest.raises(SavepointError, match="has ended"):
        copy_into(location.storage, location.target("next"))


def test_is_deleted_with_its_folder(location: Location) -> None:
    target = location.target("savepoint")
    write_savepoint(location.storage, location.record, target)
    dispose_savepoint(target)

    assert not (location.folder / "savepoint").exists()
    with pytest.raises(SavepointError, match="no complete savepoint"):
        dispose_savepoint(target)


def test_what_others_put_into_its_folder_is_not_deleted(location: Location) -> None:
    target = location.target("savepoint")
    write_savepoint(location.storage, location.record, target)
    target.write("mine/notes", [b"keep"])
    dispose_savepoint(target)

    assert target.names() == ["mine/notes"]


def test_of_a_job_that_may_go_on_nothing_is_deleted(location: Location) -> None:
    StoredEpochs(location.storage).commit(location.record)
    location.put("generations/00000001")
    before = location.storage.names()
    with pytest.raises(SavepointError, match="checkpoint location of a job"):
        dispose_savepoint(location.storage)

    assert location.storage.names() == before
