from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from penstock.runtime import private_folder as module
from penstock.runtime.private_folder import is_private, private_folder, stranger_of


@pytest.fixture(autouse=True)
def _none_yet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_OF_PROCESS", {})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture(params=[0o000, 0o022, 0o077])
def _umask(request: pytest.FixtureRequest) -> object:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_umask")
def test_it_is_one_users_alone_and_the_same_each_time() -> None:
    folder = private_folder()
    assert stat.S_IMODE(os.lstat(folder).st_mode) == 0o700
    assert os.lstat(folder).st_uid == os.geteuid()
    assert private_folder() == folder


def replaced_by_nothing(folder: Path, other: Path) -> None:
    folder.rmdir()


def replaced_by_a_link(folder: Path, other: Path) -> None:
    folder.rmdir()
    other.mkdir()
    folder.symlink_to(other)


def opened_to_others(folder: Path, other: Path) -> None:
    folder.chmod(0o777)


@pytest.mark.parametrize("change", [replaced_by_nothing, replaced_by_a_link, opened_to_others])
def test_what_is_no_longer_private_is_not_used(change: object, tmp_path: Path) -> None:
    folder = private_folder()
    change(Path(folder), tmp_path / "other")  # type: ignore[operator]
    another = private_folder()
    assert another != folder
    assert is_private(another)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_is_not_private(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch(mode=0o600)
    assert is_private(str(file))
    os.chown(file, 4711, -1)
    assert not is_private(str(file))


def test_a_link_and_what_a_group_can_write_are_not_private(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch(mode=0o600)
    link.symlink_to(file)
    assert not is_private(str(link))
    assert not is_private(str(tmp_path / "none"))
    file.chmod(0o660)
    assert not is_private(str(file))


def test_a_place_that_is_not_there_has_no_strangers(tmp_path: Path) -> None:
    assert stranger_of(str(tmp_path / "none")) is None


def test_it_goes_with_the_process_that_made_it_and_not_with_its_children(tmp_path: Path) -> None:
    program = """
import os, sys
from penstock.runtime.private_folder import private_folder
folder = private_folder()
child = os.fork()
if child == 0:
    assert private_folder() != folder
    sys.exit(0)  # as a child that runs what is registered for the end of its parent
os.waitpid(child, 0)
assert os.path.isdir(folder)
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []
