from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.checkpoint.epoch_record import EpochRecord, digest_of_record
from penstock.checkpoint.epoch_store import EpochStore, MemoryEpochStore, StoredEpochs
from penstock.checkpoint.handles import StateHandle
from penstock.checkpoint.lasting import make_lasting_folder
from penstock.checkpoint.storage import LocalStorage
from penstock.errors import DamagedStateError, EpochTakenError

RECORD = EpochRecord(
    3,
    lineage="history",
    handles={(1, 0): (StateHandle("a", 1, 2, is_snapshot=True),)},
    finished=frozenset({1}),
    prepared=[("sink", "path")],
    operators={"id": {"records_in": 1}},
    duration=12,
)


def stored(folder: Path) -> StoredEpochs:
    return StoredEpochs(LocalStorage(str(folder)))


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> EpochStore:
    return MemoryEpochStore() if request.param == "memory" else stored(tmp_path)


def test_gives_back_what_was_committed(store: EpochStore) -> None:
    store.commit(EpochRecord(2))
    digest = store.commit(RECORD)

    assert store.get(3) == RECORD
    assert store.get(2) == EpochRecord(2)
    assert digest == digest_of_record(RECORD)


def test_knows_nothing_of_other_epochs(store: EpochStore) -> None:
    assert store.get(3) is None
    assert store.numbers() == []
    store.commit(RECORD)
    store.commit(EpochRecord(12))

    assert [number for number in range(-1, 40) if store.get(number) is not None] == [3, 12]
    assert store.numbers() == [3, 12]


def test_an_epoch_is_committed_once(store: EpochStore) -> None:
    store.commit(RECORD)

    with pytest.raises(EpochTakenError, match="Epoch 3 was committed before by driver 1"):
        store.commit(EpochRecord(3, generation=2))
    assert store.get(3) == RECORD


class TestEras:
    def test_give_up_what_came_after_the_epoch_that_they_begin_with(self, tmp_path: Path) -> None:
        earlier, later = (StoredEpochs(LocalStorage(str(tmp_path))) for _ in range(2))
        for number in range(5):
            earlier.commit(EpochRecord(number))
        assert later.numbers() == [0, 1, 2, 3, 4]
        fork = EpochRecord(2, generation=7, lineage="another")
        later.begin_era(fork)
        later.commit(EpochRecord(3, generation=7, lineage="another"))

        found = StoredEpochs(LocalStorage(str(tmp_path)))
        assert found.numbers() == [0, 1, 2, 3]
        assert [record.generation for record in map(found.get, range(4)) if record] == [1, 1, 7, 7]
        assert found.get(4) is None
        assert found.name_of(3) == "epochs/00000003-00000007-00000002"

    def test_are_out_of_reach_of_who_works_in_an_earlier_one(self, tmp_path: Path) -> None:
        earlier, later, last = (StoredEpochs(LocalStorage(str(tmp_path))) for _ in range(3))
        for number in range(5):
            earlier.commit(EpochRecord(number))
        later.numbers()
        later.begin_era(EpochRecord(2, generation=7))
        earlier.commit(EpochRecord(5))
        for number in range(5):
            earlier.forget(number)
        earlier.forget_given_up()
        for number in range(3, 9):
            later.commit(EpochRecord(number, generation=7))
        later.forget(2)

        # Not even now, that the era has gone further.
        assert last.numbers() == [3, 4, 5, 6, 7, 8]
        last.begin_era(EpochRecord(4, generation=8))
        last.forget_given_up()
        assert last.numbers() == [3, 4]
        assert len(LocalStorage(str(tmp_path)).names("epochs")) == 2


def test_forgets_one_epoch(store: EpochStore) -> None:
    store.commit(EpochRecord(2))
    store.commit(RECORD)

    store.forget(3)

    assert (store.get(2), store.get(3)) == (EpochRecord(2), None)


def test_forgets_what_it_does_not_know(store: EpochStore) -> None:
    store.forget(7)
    store.commit(RECORD)
    store.forget(3)
    store.forget(3)

    assert store.get(3) is None


class TestInAStorage:
    def test_is_read_by_another_process(self, tmp_path: Path) -> None:
        stored(tmp_path).commit(RECORD)

        assert stored(tmp_path).get(3) == RECORD

    def test_is_one_file_for_each_epoch_and_no_drafts(self, tmp_path: Path) -> None:
        store = stored(tmp_path)
        store.commit(RECORD)
        with pytest.raises(EpochTakenError):
            store.commit(RECORD)

        assert [path.name for path in (tmp_path / "epochs").iterdir()] == ["00000003"]

    def test_a_damaged_record_is_named(self, tmp_path: Path) -> None:
        stored(tmp_path).commit(RECORD)
        path = tmp_path / "epochs" / "00000003"
        path.write_bytes(path.read_bytes().replace(b'"duration":12', b'"duration":13'))

        with pytest.raises(DamagedStateError, match=r"epochs.00000003 is damaged"):
            stored(tmp_path).get(3)

    @pytest.mark.parametrize("step", ["fsync", "link"])
    def test_an_epoch_is_committed_whole_or_not_at_all(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        store = stored(tmp_path)

        def fail(*arguments: object) -> None:
            assert store.get(3) is None
            raise OSError("disk full")

        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(OSError, match="disk full"):
                store.commit(RECORD)
        assert store.get(3) is None

        store.commit(RECORD)
        assert store.get(3) == RECORD

    def test_the_record_is_on_disk_before_it_is_seen(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        steps: list[str] = []

        def watched(step: str) -> Callable[..., None]:
            real = getattr(os, step)

            def call(*arguments: object) -> None:
                steps.append(step)
                real(*arguments)

            return call

        make_lasting_folder(str(tmp_path))
        for step in ("fsync", "link"):
            monkeypatch.setattr(os, step, watched(step))

        stored(tmp_path).commit(RECORD)

        # The name of the new folder, the content, then the name, then the folder that holds the name.
        assert steps == ["fsync", "fsync", "link", "fsync"]
