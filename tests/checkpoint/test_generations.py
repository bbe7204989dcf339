from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from penstock.checkpoint.generations import Generation
from penstock.checkpoint.storage import LocalStorage
from penstock.errors import CheckpointNotWritableError, LocationInUseError


@pytest.fixture
def unlocked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.checkpoint.generations._lock", lambda storage: None)


def test_each_driver_has_the_next_number(tmp_path: Path) -> None:
    numbers = []
    for _ in range(3):
        with Generation(LocalStorage(str(tmp_path))) as generation:
            numbers.append(generation.number)

    assert numbers == [1, 2, 3]
    assert [path.name for path in (tmp_path / "generations").iterdir()] == ["00000003"]


@pytest.mark.parametrize("begins_anew", [False, True])
def test_a_location_that_was_deleted_is_no_longer_its_own(
    tmp_path: Path, begins_anew: bool
) -> None:
    storage = LocalStorage(str(tmp_path / "job"))
    with Generation(storage) as first:
        shutil.rmtree(storage.location)
        if begins_anew:
            other = Generation(storage)
            other.check()
            assert other.number == first.number
            other.release()

        with pytest.raises(LocationInUseError, match="deleted or replaced while driver 1 ran"):
            first.check()


def test_a_second_driver_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    with Generation(storage) as first:
        with pytest.raises(LocationInUseError, match=f"by process {os.getpid()} on") as failure:
            Generation(storage)
        first.check()

    assert failure.value.hint is not None
    assert Generation(storage).number == 2


def test_a_driver_that_died_holds_nothing_up(tmp_path: Path) -> None:
    code = (
        "import os, sys; from penstock.checkpoint.generations import Generation; "
        "from penstock.checkpoint.storage import LocalStorage; "
        "claim = Generation(LocalStorage(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)

    assert Generation(LocalStorage(str(tmp_path))).number == 2


@pytest.mark.usefixtures("unlocked")
def test_where_there_are_no_locks_the_newer_driver_takes_over(tmp_path: Path) -> None:
    first = Generation(LocalStorage(str(tmp_path)))
    first.check()
    second = Generation(LocalStorage(str(tmp_path)))

    second.check()
    with pytest.raises(LocationInUseError, match="Driver 2 has taken over"):
        first.check()


@pytest.mark.usefixtures("unlocked")
def test_of_two_drivers_that_start_at_once_each_has_a_number_of_its_own(tmp_path: Path) -> None:
    class Slow(LocalStorage):
        """Another driver comes between the look and the claim."""

        hurried = False

        def create(self, name: str, data: bytes) -> None:
            if not self.hurried:
                self.hurried = True
                others.append(Generation(LocalStorage(str(tmp_path))).number)
            super().create(name, data)

    others: list[int] = []

    assert (Generation(Slow(str(tmp_path))).number, others) == (2, [1])


def test_a_process_that_was_forked_meanwhile_holds_nothing_up(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    with Generation(storage) as first:
        # A fork shares the open file, as this descriptor does.
        assert first._lock is not None
        shared = os.dup(first._lock.descriptor)
    try:
        with Generation(storage) as second:
            assert second.number == 2
    finally:
        os.close(shared)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EIO])
def test_a_disk_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(descriptor: int, operation: int) -> NoReturn:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(CheckpointNotWritableError, match="gives no lock") as raised:
        Generation(LocalStorage(str(tmp_path)))
    assert "object store" in str(raised.value.hint)


def test_a_file_is_no_location(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(CheckpointNotWritableError, match="file"):
        Generation(LocalStorage(str(tmp_path / "file")))
