from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.handles import StateHandle, write_state_file
from penstock.checkpoint.object_storage import ObjectStorage
from penstock.checkpoint.savepoint import write_savepoint
from penstock.checkpoint.storage import LocalStorage
from penstock.common import Configuration
from penstock.errors import (
    CheckpointsOpenToOthersWarning,
    DamagedStateError,
    InvalidConfigurationValueError,
    LocationInUseError,
    LostEpochError,
)
from penstock.executors.driver.checkpoints import Checkpoints
from penstock.inspection import verify_checkpoint

Open = Callable[..., Checkpoints]


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    """Open the location of a job, which is closed before it is opened again."""
    made: list[Checkpoints] = []

    def open_(place: str | None = "job", **settings: object) -> Checkpoints:
        while made:
            made.pop().close()
        configuration = Configuration()
        if place is not None:
            configuration.set_string("execution.checkpointing.dir", str(tmp_path / place))
        for key, value in settings.items():
            configuration.set_string(KEYS[key], str(value))
        made.append(Checkpoints(configuration, has_epochs=True))
        return made[-1]

    yield open_
    while made:
        made.pop().close()


KEYS = {
    "retained": "execution.checkpointing.num-retained",
    "interval": "execution.checkpointing.interval",
    "epoch": "execution.state-recovery.epoch",
    "savepoint": "execution.state-recovery.path",
}


def commit(
    checkpoints: Checkpoints, number: int, *files: StateHandle, **content: Any
) -> EpochRecord:
    record = EpochRecord(number, lineage="first", handles={(0, 0): files}, **content)
    checkpoints.commit(record)
    checkpoints.collect(record)
    return record


def written(checkpoints: Checkpoints, name: str) -> StateHandle:
    return write_state_file(
        checkpoints.storage, f"state/{name}", [name.encode()], is_snapshot=False
    )


class TestALocation:
    def test_is_gone_on_from(self, opened: Open) -> None:
        first = opened()
        assert first.last() is None
        record = commit(first, 0)
        again = opened()

        assert again.last() == record
        assert (first.generation, again.generation) == (1, 2)
        assert again.digest == first.digest

    def test_is_one_drivers(self, opened: Open, tmp_path: Path) -> None:
        configuration = Configuration()
        configuration.set_string("execution.checkpointing.dir", f"file://{tmp_path}/job")
        opened()

        with pytest.raises(LocationInUseError):
            Checkpoints(configuration, has_epochs=True)

    def test_that_others_can_write_to_is_warned_of(self, opened: Open, tmp_path: Path) -> None:
        folder = tmp_path / "job"
        folder.mkdir()
        folder.chmod(0o777)
        with pytest.warns(CheckpointsOpenToOthersWarning, match=r"every user[^$]*: chmod o-w, "):
            opened()
        folder.chmod(0o1777)
        with pytest.warns(CheckpointsOpenToOthersWarning, match="every user of the machine"):
            opened()
        folder.chmod(0o775)
        opened()

    def test_that_another_user_made_where_everybody_can_is_warned_of(
        self, opened: Open, tmp_path: Path
    ) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root can give files away")
        folder = tmp_path / "job"
        folder.mkdir(mode=0o755)
        os.chown(folder, 4711, -1)
        opened()
        tmp_path.chmod(0o1777)
        with pytest.warns(CheckpointsOpenToOthersWarning, match="the user 4711") as caught:
            opened()
        assert f": chown {os.geteuid()}, " in str(caught[0].message)
        assert "chmod" not in str(caught[0].message)

    def test_holds_as_many_epochs_as_asked_for(self, opened: Open) -> None:
        checkpoints = opened(retained=2)
        for number in range(5):
            commit(checkpoints, number)
        assert checkpoints.storage.names("epochs") == ["epochs/00000003", "epochs/00000004"]

        opened(retained=1).last()
        assert checkpoints.storage.names("epochs") == ["epochs/00000004"]

    def test_loses_what_was_never_committed(self, opened: Open) -> None:
        checkpoints = opened()
        kept = written(checkpoints, "kept")
        commit(checkpoints, 2, kept)
        orphan = written(checkpoints, "orphan")
        prepared = [f"prepared/0000000{epoch}-0-1-a" for epoch in (1, 2, 3)]
        for name in prepared:
            checkpoints.storage.write(name, [b""])

        draft = Path(checkpoints.storage.location, "state", ".0123456789abcdef0123456789abcdef")
        draft.touch()
        again = opened()
        assert orphan.name in again.storage.names("state")
        again.last()
        # What epoch 2 prepared is to be published.
        assert again.storage.names("state") == [kept.name]
        assert again.storage.names("prepared") == prepared[:2]

        # What appears from now on may be a later driver's.
        others = [draft.with_name(name) for name in (".3.crc", ".hidden", f".{'f' * 32}")]
        for path in others:
            path.touch()

        commit(again, 3, kept)
        assert again.storage.names("state") == [kept.name]
        assert again.storage.names("prepared") == []
        assert [path.exists() for path in (draft, *others)] == [False, True, True, True]

    def test_that_is_none_is_a_temporary_place(self, opened: Open) -> None:
        checkpoints = opened(None)
        assert checkpoints.location is not None
        folder = Path(checkpoints.location)
        commit(checkpoints, 0, written(checkpoints, "file"))
        assert folder.exists()

        checkpoints.close()

        assert not folder.exists()

    def test_of_a_job_with_one_epoch_is_left_as_it_was(self, tmp_path: Path) -> None:
        configuration = Configuration()
        configuration.set_string("execution.checkpointing.dir", str(tmp_path))
        checkpoints = Checkpoints(configuration, has_epochs=False, has_files=True)
        assert checkpoints.location is not None
        assert Path(checkpoints.location).is_relative_to(tmp_path)
        checkpoints.storage.write("prepared/00000000-file", [b""])
        checkpoints.close()

        assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


class TestFolding:
    def test_is_allowed_in_any_epoch_without_an_interval(self, opened: Open) -> None:
        checkpoints = opened()

        assert checkpoints.may_fold(None)
        assert checkpoints.may_fold(EpochRecord(0))

    def test_waits_for_the_interval(self, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
        checkpoints = opened(interval="1 min")
        last = EpochRecord(0, folded_at=1_000)
        monkeypatch.setattr("time.time_ns", lambda: 60_999 * 1_000_000)
        early = checkpoints.may_fold(last)
        monkeypatch.setattr("time.time_ns", lambda: 61_000 * 1_000_000)

        assert (early, checkpoints.may_fold(last), checkpoints.may_fold(None)) == (
            False,
            True,
            True,
        )

    def test_does_not_wait_for_a_clock_that_was_set_back(
        self, opened: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkpoints = opened(interval="1 s")
        monkeypatch.setattr(
            "penstock.executors.driver.checkpoints.time.time_ns", lambda: 5_000_000_000
        )

        assert checkpoints.may_fold(EpochRecord(0, folded_at=5_001))
        assert not checkpoints.may_fold(EpochRecord(0, folded_at=4_999))


class TestDamage:
    def test_of_an_earlier_epoch_does_not_keep_the_last_from_being_gone_on_from(
        self, opened: Open, tmp_path: Path
    ) -> None:
        checkpoints = opened(retained=3)
        checkpoints.last()
        commit(checkpoints, 0, written(checkpoints, "0"))
        kept = written(checkpoints, "1")
        record = commit(checkpoints, 1, kept)
        (tmp_path / "job/epochs/00000000").write_bytes(b"x")

        again = opened()

        assert again.last() == record
        commit(again, 2, kept)
        assert again.storage.names("state") == [kept.name]

    def test_of_the_last_epoch_is_told(self, opened: Open, tmp_path: Path) -> None:
        checkpoints = opened()
        checkpoints.last()
        commit(checkpoints, 0)
        (tmp_path / "job/epochs/00000000").write_bytes(b"x")

        with pytest.raises(DamagedStateError):
            opened().last()


class TestADriverThatIsSuperseded:
    def test_in_the_middle_of_a_commit_takes_no_part(
        self, opened: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkpoints = opened()
        checkpoints.last()
        commit(checkpoints, 0)
        real = StoredEpochs.commit

        def late(epochs: StoredEpochs, record: EpochRecord) -> str:
            # Its number may be free because a newer driver has long forgotten it.
            checkpoints.storage.create("generations/00000002", b"")
            return real(epochs, record)

        monkeypatch.setattr(StoredEpochs, "commit", late)
        with pytest.raises(LocationInUseError, match="Driver 2 has taken over"):
            checkpoints.commit(EpochRecord(1))

    def test_leaves_alone_what_the_newer_one_copies_of_a_savepoint(
        self, opened: Open, tmp_path: Path
    ) -> None:
        savepoint = LocalStorage(str(tmp_path / "savepoint"))
        StoredEpochs(savepoint).commit(EpochRecord(7))
        checkpoints = opened(savepoint=savepoint.location)
        # What its job has prepared has the names that it has there.
        copies = ["prepared/00000007-00000001-a"]
        checkpoints.storage.write(copies[0], [b""])
        checkpoints.last()

        assert checkpoints.storage.names("prepared") == copies

    def test_says_so_when_the_newer_one_has_gone_on_from_the_savepoint(
        self, opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        savepoint = LocalStorage(str(tmp_path / "savepoint"))
        StoredEpochs(savepoint).commit(EpochRecord(7))
        checkpoints = opened(savepoint=savepoint.location)
        real = StoredEpochs.get

        def late(epochs: StoredEpochs, number: int) -> EpochRecord | None:
            if epochs is checkpoints._store:
                checkpoints.storage.create("generations/00000002", b"")
                checkpoints.storage.delete(["epochs/00000007"])
            return real(epochs, number)

        monkeypatch.setattr(StoredEpochs, "get", late)
        with pytest.raises(LocationInUseError, match="Driver 2 has taken over"):
            checkpoints.last()


class TestRestartsInADriver:
    def test_leave_nothing_behind_before_an_epoch_is_committed(self, opened: Open) -> None:
        checkpoints = opened()
        checkpoints.last()
        for _ in range(50):
            checkpoints.last()
            for name in ("a", "b", "c", "d"):
                written(checkpoints, f"{name}/00000000-00000001")
            checkpoints.storage.write("prepared/00000000-00000001-a", [b""])
        checkpoints.last()

        assert checkpoints.storage.names("state") == []
        assert checkpoints.storage.names("prepared") == []

    def test_leave_alone_what_may_be_committed(
        self, opened: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkpoints = opened()
        checkpoints.last()
        file = written(checkpoints, "a/00000000-00000001")
        folder = checkpoints.new_engine_folder()
        checkpoints.storage.write(f"{folder}/offsets/0", [b""])

        def lost(epochs: StoredEpochs, record: EpochRecord) -> str:
            raise ConnectionResetError

        with monkeypatch.context() as patch:
            patch.setattr(StoredEpochs, "commit", lost)
            with pytest.raises(ConnectionResetError):
                checkpoints.commit(EpochRecord(0, handles={(0, 0): (file,)}))
        checkpoints.last()
        checkpoints.drop_engine_folder(folder)
        assert checkpoints.storage.names("state") == [file.name]
        assert checkpoints.storage.folders("spark") == [folder]

        commit(checkpoints, 0)
        assert checkpoints.storage.names("state") == []
        assert checkpoints.storage.names(folder) == []


class TestFoldersOfSparks:
    def test_are_not_shared_where_an_earlier_driver_may_live(self, opened: Open) -> None:
        first = opened()
        old = first.new_engine_folder()
        checkpoints = opened()
        folders = ("spark", old, checkpoints.new_engine_folder())
        assert not any(map(checkpoints.may_share_engine_folder, folders))

        checkpoints.storage = ObjectStorage("s3://bucket", MemoryStore())
        shared = [checkpoints.may_share_engine_folder(folder) for folder in folders]
        assert shared == [True, True, False]


class TestStartsThatAreKilled:
    @pytest.mark.parametrize("committed", [0, 2])
    def test_before_they_commit_leave_what_the_last_of_them_left(
        self, opened: Open, committed: int
    ) -> None:
        checkpoints = opened()
        checkpoints.last()
        kept = written(checkpoints, "a/00000000-00000001")
        for number in range(committed):
            commit(checkpoints, number, kept)
        counts = []
        for _ in range(50):
            checkpoints = opened()
            last = checkpoints.last()
            assert (0 if last is None else last.number + 1) == committed
            start_of_name = f"{committed:08d}-{checkpoints.generation:08d}"
            folder = checkpoints.new_engine_folder()
            written(checkpoints, f"b/{start_of_name}")
            for place in ("prepared", "pieces", f"{folder}/offsets"):
                checkpoints.storage.write(f"{place}/{start_of_name}-a", [b""])
            Path(checkpoints.storage.location, "state", f".{uuid.uuid4().hex}").touch()
            counts.append(files_below(checkpoints))
        assert len(set(counts)) <= 2

        checkpoints = opened()
        checkpoints.last()
        commit(checkpoints, committed, kept if committed else written(checkpoints, "c"))
        assert verified(checkpoints) == [*range(committed), committed]
        # The lock, the claim, the era and the lineage.
        assert files_below(checkpoints) == committed + 1 + 1 + 4

    def test_from_a_savepoint_leave_one_copy(self, opened: Open, tmp_path: Path) -> None:
        old = opened("old")
        record = commit(old, 7, *(written(old, name) for name in "abc"))
        savepoint = tmp_path / "savepoint"
        write_savepoint(old.storage, record, LocalStorage(str(savepoint)))

        def killed(epochs: StoredEpochs, record: EpochRecord) -> str:
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(StoredEpochs, "commit", killed)
            for _ in range(10):
                checkpoints = opened("new", savepoint=savepoint)
                with pytest.raises(KeyboardInterrupt):
                    checkpoints.last()
        assert len(checkpoints.storage.names("state")) <= 6
        checkpoints = opened("new", savepoint=savepoint)
        last = checkpoints.last()
        assert last is not None
        assert checkpoints.storage.names("state") == sorted(last.files())

    def test_are_over_when_the_next_begins(self, opened: Open) -> None:
        """One that had looked who is the newest before, and commits now, commits nothing."""
        checkpoints = opened()
        checkpoints.last()
        before = commit(checkpoints, 0)
        stopped = StoredEpochs(checkpoints.storage)
        stopped.numbers()
        again = opened()
        again.last()
        stopped.commit(EpochRecord(1, lineage="first"))

        assert again.last() == before
        record = commit(again, 1, generation=2)
        assert opened().last() == record

    def test_and_begin_late_give_nothing_up_that_the_next_has_seen(self, opened: Open) -> None:
        checkpoints = opened()
        checkpoints.last()
        commit(checkpoints, 0)
        late = StoredEpochs(checkpoints.storage)
        late.numbers()
        real = late._counting()
        commit(checkpoints, 1)
        again = opened()
        again._claim.number = again.generation = 3  # type: ignore[union-attr]
        again.storage.create("generations/00000003", b"")
        again.last()
        record = commit(again, 2, generation=3)
        late._counting = lambda: real  # type: ignore[method-assign]
        late.take_over(2)

        assert StoredEpochs(again.storage).numbers() == [0, 1, 2]
        again.close()
        next_one = opened()
        assert next_one.last() == record
        assert next_one.storage.names("eras") == ["eras/00000004"]

    def test_have_numbers_of_their_own_though_claims_were_deleted(self, opened: Open) -> None:
        opened().last()
        opened().last()
        checkpoints = opened()
        checkpoints.last()
        commit(checkpoints, 0)
        checkpoints.close()
        checkpoints.storage.delete(checkpoints.storage.names("generations"))

        again = opened()
        assert again.generation == 4
        assert again.last() is not None


class TestMetadataThatWasDeleted:
    """A job that went back an epoch without a word would deliver other results under the same number."""

    def deleted(self, opened: Open, *numbers: int) -> Checkpoints:
        checkpoints = opened()
        checkpoints.last()
        for number in range(4):
            record = commit(checkpoints, number)
        checkpoints.note_published(record)
        checkpoints.close()
        store = StoredEpochs(checkpoints.storage)
        store.numbers()
        for number in numbers:
            store.forget(number)
        return checkpoints

    @pytest.mark.parametrize("numbers", [(3,), (2, 3), (1, 2, 3)])
    def test_is_named_after_a_run_that_ended_in_order(
        self, opened: Open, numbers: tuple[int, ...]
    ) -> None:
        self.deleted(opened, *numbers)
        for _ in range(2):
            with pytest.raises(LostEpochError, match="The metadata of epoch 3 is gone"):
                opened().last()

    def test_is_named_if_a_later_driver_had_found_it(self, opened: Open) -> None:
        checkpoints = self.deleted(opened)
        opened().last()
        checkpoints.storage.delete(["published", *checkpoints.storage.names("epochs")[-1:]])

        for _ in range(2):
            with pytest.raises(LostEpochError, match="the last one that is there is epoch 2"):
                opened().last()

    def test_may_be_gone_back_behind_by_name(self, opened: Open) -> None:
        self.deleted(opened, 3)
        record = opened(epoch=1).last()
        assert record is not None
        again = opened().last()
        assert again == record

    def test_of_earlier_epochs_is_no_loss(self, opened: Open) -> None:
        self.deleted(opened, 1, 2)
        last = opened().last()
        assert last is not None
        assert last.number == 3


def files_below(checkpoints: Checkpoints) -> int:
    return sum(path.is_file() for path in Path(checkpoints.storage.location).rglob("*"))


def verified(checkpoints: Checkpoints) -> list[int]:
    """Return the epochs that are there, and are whole."""
    numbers = StoredEpochs(checkpoints.storage).numbers()
    assert verify_checkpoint(checkpoints.storage.location).is_whole
    return numbers


class TestGoingBack:
    def test_leaves_the_files_that_another_driver_may_delete(self, opened: Open) -> None:
        checkpoints = opened(retained=5)
        files = [written(checkpoints, f"a/0000000{number}-00000001") for number in range(3)]
        for number, file in enumerate(files):
            commit(checkpoints, number, file)
        again = opened(retained=5, epoch=0)
        record = again.last()
        assert record is not None
        again.storage.delete([file.name for file in files])

        [name] = record.files()
        assert again.storage.read(name)
        commit(again, 1, *record.handles[0, 0])
        assert again.storage.names("state") == [name]

    def test_to_the_last_epoch_is_to_go_on(self, opened: Open) -> None:
        checkpoints = opened()
        checkpoints.last()
        commit(checkpoints, 0)
        record = commit(checkpoints, 1)

        assert opened(epoch=1).last() == record

    def test_gives_later_epochs_up_and_begins_another_history(self, opened: Open) -> None:
        checkpoints = opened(retained=5)
        for number in range(4):
            commit(checkpoints, number)
        record = opened(retained=5, epoch=1).last()

        assert record is not None
        assert (record.number, record.is_fork, record.origin) == (1, True, "first")
        assert record.lineage not in {"first", ""}
        assert StoredEpochs(checkpoints.storage).numbers() == [0, 1]

    def test_happens_once(self, opened: Open) -> None:
        checkpoints = opened(retained=5)
        commit(checkpoints, 0)
        commit(checkpoints, 1)
        again = opened(retained=5, epoch=0)
        first = again.last()
        assert again.is_fork
        commit(again, 1)
        second = again.last()

        assert (first and first.number, second and second.number) == (0, 1)
        assert not again.is_fork

    def test_is_not_forgotten_if_it_fails(
        self, opened: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkpoints = opened(retained=5)
        for number in range(3):
            commit(checkpoints, number, written(checkpoints, f"a/0000000{number}-00000001"))
        again = opened(retained=5, epoch=0)

        def fails(*_: object) -> None:
            raise ConnectionResetError

        with monkeypatch.context() as patch:
            patch.setattr("penstock.executors.driver.checkpoints.copied", fails)
            with pytest.raises(ConnectionResetError):
                again.last()
        record = again.last()

        assert record is not None
        assert record.number == 0

    def test_goes_no_further_than_what_is_kept(self, opened: Open) -> None:
        commit(opened(), 3)

        with pytest.raises(InvalidConfigurationValueError, match=r"epoch 1: .* are \[3\]"):
            opened(epoch=1).last()


class TestASavepoint:
    def test_is_where_a_new_location_begins(self, opened: Open, tmp_path: Path) -> None:
        old = opened("old")
        record = commit(old, 7, written(old, "file"))
        savepoint = tmp_path / "savepoint"
        write_savepoint(old.storage, record, LocalStorage(str(savepoint)))
        moved = savepoint.rename(tmp_path / "moved")

        new = opened("new", savepoint=moved)
        first = new.last()

        assert first is not None
        assert (first.number, first.is_fork) == (7, True)
        assert new.storage.names("state") == sorted(first.files())

    def test_counts_for_nothing_where_the_job_has_run(self, opened: Open, tmp_path: Path) -> None:
        old = opened("old")
        record = commit(old, 7)
        write_savepoint(old.storage, record, LocalStorage(str(tmp_path / "savepoint")))
        commit(opened("new"), 9)

        last = opened("new", savepoint=tmp_path / "savepoint").last()
        assert last is not None
        assert last.number == 9
