from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.checkpoint.epoch_store import StoredEpochs
from penstock.checkpoint.handles import StateHandle, write_state_file
from penstock.checkpoint.storage import open_storage
from penstock.errors import CheckpointNotFoundError
from penstock.inspection import verify_checkpoint


@pytest.fixture
def handles(tmp_path: Path) -> list[StateHandle]:
    """Three epochs: each has the files of the ones before, and one more."""
    storage = open_storage(str(tmp_path))
    epochs = StoredEpochs(storage)
    found: list[StateHandle] = []
    digest = ""
    for number in (4, 5, 6):
        name = f"state/one-0/{number:08d}"
        found.append(
            write_state_file(storage, name, [b"content"] * number, is_snapshot=number == 4)
        )
        digest = epochs.commit(
            EpochRecord(number, lineage="x", previous=digest, handles={(1, 0): tuple(found)})
        )
    return found


def test_a_whole_checkpoint(tmp_path: Path, handles: list[StateHandle]) -> None:
    found = verify_checkpoint(str(tmp_path))

    assert found.problems == {4: [], 5: [], 6: []}
    assert found.is_whole
    assert found.newest_complete == 6
    assert (found.files, found.bytes) == (3, sum(handle.length for handle in handles))


@pytest.mark.parametrize("damage", ["flipped", "truncated", "missing", "longer"])
def test_names_what_is_damaged(tmp_path: Path, handles: list[StateHandle], damage: str) -> None:
    file = tmp_path / handles[1].name
    content = file.read_bytes()
    match damage:
        case "flipped":
            file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
        case "truncated":
            file.write_bytes(content[:-1])
        case "longer":
            file.write_bytes(content + b"\0")
        case "missing":
            file.unlink()

    found = verify_checkpoint(str(tmp_path))

    assert found.problems[4] == []
    assert found.newest_complete == 4
    for number in (5, 6):
        (problem,) = found.problems[number]
        assert str(file) in problem
        assert re.search("cannot be read" if damage == "missing" else "is damaged", problem)


def test_names_damaged_metadata(tmp_path: Path, handles: list[StateHandle]) -> None:
    file = tmp_path / "epochs" / "00000006"
    file.write_bytes(file.read_bytes()[:-1])

    found = verify_checkpoint(str(tmp_path))

    assert [bool(problems) for problems in found.problems.values()] == [False, False, True]
    assert str(file) in found.problems[6][0]
    assert found.newest_complete == 5


def test_one_epoch_alone(tmp_path: Path, handles: list[StateHandle]) -> None:
    (tmp_path / handles[2].name).unlink()

    assert verify_checkpoint(str(tmp_path), epoch=5).is_whole
    assert verify_checkpoint(str(tmp_path), epoch=6).newest_complete is None


def test_an_epoch_of_another_history(tmp_path: Path, handles: list[StateHandle]) -> None:
    StoredEpochs(open_storage(str(tmp_path))).commit(
        EpochRecord(7, lineage="x", previous="the digest of something else")
    )

    found = verify_checkpoint(str(tmp_path))

    (problem,) = found.problems[7]
    assert "00000007 does not follow" in problem
    assert found.newest_complete == 6


def test_another_lineage_follows_nothing(tmp_path: Path, handles: list[StateHandle]) -> None:
    StoredEpochs(open_storage(str(tmp_path))).commit(
        EpochRecord(7, lineage="y", previous="the digest of something else")
    )

    assert verify_checkpoint(str(tmp_path)).is_whole


@pytest.mark.parametrize("shows", ["the end of a run", "a later driver"])
def test_the_metadata_of_the_last_epoch_is_gone(
    tmp_path: Path, handles: list[StateHandle], shows: str
) -> None:
    epochs = StoredEpochs(open_storage(str(tmp_path)))
    if shows == "a later driver":
        epochs.take_over(2)
    else:
        (tmp_path / "published").write_text("digest 6 x")
    assert verify_checkpoint(str(tmp_path)).is_whole
    (tmp_path / "epochs" / "00000006").unlink()

    found = verify_checkpoint(str(tmp_path))

    assert not found.is_whole
    assert found.lost is not None
    (problem,) = found.problems.pop(6)
    assert problem.startswith("The metadata of epoch 6 is gone, and the last one that is there is")
    assert found.problems == {4: [], 5: []}
    assert verify_checkpoint(str(tmp_path), epoch=5).is_whole


def test_the_metadata_of_every_epoch_is_gone(tmp_path: Path, handles: list[StateHandle]) -> None:
    (tmp_path / "published").write_text("digest 6 x")
    for file in (tmp_path / "epochs").iterdir():
        file.unlink()

    found = verify_checkpoint(str(tmp_path))

    assert list(found.problems) == [6]
    assert not found.is_whole


@pytest.mark.parametrize("noted", ["digest", "digest 6 of-a-history-that-was-given-up"])
def test_what_was_noted_of_another_history_shows_nothing(
    tmp_path: Path, handles: list[StateHandle], noted: str
) -> None:
    (tmp_path / "published").write_text(noted)
    (tmp_path / "epochs" / "00000006").unlink()

    assert verify_checkpoint(str(tmp_path)).is_whole


def test_the_last_epoch_is_there_and_damaged(tmp_path: Path, handles: list[StateHandle]) -> None:
    (tmp_path / "published").write_text("digest 6 x")
    (tmp_path / "epochs" / "00000006").write_bytes(b"x")

    found = verify_checkpoint(str(tmp_path))

    assert "is damaged" in found.problems[6][0]
    assert found.lost is None


def test_there_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(CheckpointNotFoundError):
        verify_checkpoint(str(tmp_path))


def test_there_is_no_such_epoch(tmp_path: Path, handles: list[StateHandle]) -> None:
    with pytest.raises(CheckpointNotFoundError, match=r"Epoch 9 .*\[4, 5, 6\]"):
        verify_checkpoint(str(tmp_path), epoch=9)


def test_epochs_that_a_job_deletes_meanwhile_are_left_out(
    tmp_path: Path, handles: list[StateHandle], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = StoredEpochs.get

    def get(epochs: StoredEpochs, number: int) -> EpochRecord | None:
        if number == 4:
            epochs.numbers()
            epochs.forget(4)
        return real(epochs, number)

    monkeypatch.setattr(StoredEpochs, "get", get)

    assert verify_checkpoint(str(tmp_path)).problems == {5: [], 6: []}
