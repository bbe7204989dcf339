from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.checkpoint.epoch_store import (
    EpochRecord,
    EpochStore,
    FolderEpochStore,
    MemoryEpochStore,
)
from penstock.checkpoint.handles import StateHandle

RECORD = EpochRecord(
    3,
    handles={(1, 0): (StateHandle("a", 1, 2, is_snapshot=True),)},
    finished=frozenset({1}),
    printed=["line"],
    collected=[("id", [1, 2])],
    prepared=[("sink", "path")],
    operators={"id": {"records_in": 1}},
    duration=12,
)


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> EpochStore:
    return MemoryEpochStore() if request.param == "memory" else FolderEpochStore(str(tmp_path))


def test_gives_back_what_was_committed(store: EpochStore) -> None:
    store.commit(EpochRecord(2))
    store.commit(RECORD)

    assert store.get(3) == RECORD
    assert store.get(2) == EpochRecord(2)


def test_knows_nothing_of_other_epochs(store: EpochStore) -> None:
    assert store.get(3) is None
    store.commit(RECORD)

    assert [number for number in range(-1, 40) if store.get(number) is not None] == [3]


def test_an_epoch_is_committed_once(store: EpochStore) -> None:
    store.commit(RECORD)

    with pytest.raises(FileExistsError):
        store.commit(EpochRecord(3, printed=["something else"]))
    assert store.get(3) == RECORD


def test_forgets_one_epoch(store: EpochStore) -> None:
    store.commit(EpochRecord(2))
    store.commit(RECORD)

    store.forget(3)

    assert (store.get(2), store.get(3)) == (EpochRecord(2), None)


def test_forgets_what_it_does_not_know(store: EpochStore) -> None:
    store.forget(7)
    store.forget(-2)
    store.commit(RECORD)
    store.forget(3)
    store.forget(3)

    assert store.get(3) is None


class TestFolder:
    def test_is_read_by_another_process(self, tmp_path: Path) -> None:
        FolderEpochStore(str(tmp_path)).commit(RECORD)

        assert FolderEpochStore(str(tmp_path)).get(3) == RECORD

    def test_holds_one_file_for_each_epoch_and_no_drafts(self, tmp_path: Path) -> None:
        store = FolderEpochStore(str(tmp_path))
        store.commit(RECORD)
        with pytest.raises(FileExistsError):
            store.commit(RECORD)

        assert [path.name for path in (tmp_path / "epochs").iterdir()] == ["00000003"]

    @pytest.mark.parametrize("step", ["fsync", "link"])
    def test_an_epoch_is_committed_whole_or_not_at_all(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        store = FolderEpochStore(str(tmp_path))

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

        for step in ("fsync", "link"):
            monkeypatch.setattr(os, step, watched(step))

        FolderEpochStore(str(tmp_path)).commit(RECORD)

        assert steps == ["fsync", "link"]
