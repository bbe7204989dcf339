"""The code that workers load is what the driver has, whoever else can write temporary files."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from penstock.executors.spark import shipping
from penstock.executors.spark.shipping import ship_code
from penstock.runtime import private_folder as module


class Session:
    """Takes note of what is added to it."""

    def __init__(self) -> None:
        self.added: list[str] = []

    def addArtifacts(self, path: str, *, pyfile: bool) -> None:  # noqa: N802 - Spark's name
        assert pyfile
        self.added.append(path)

    @property
    def sparkContext(self) -> Session:  # noqa: N802
        """What Spark 3.5 is given files by."""
        return self

    def addPyFile(self, path: str) -> None:  # noqa: N802
        self.added.append(path)


@pytest.fixture(autouse=True)
def _only_the_users_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(module, "_OF_PROCESS", {})
    monkeypatch.setattr(shipping, "is_local", lambda _: True)
    monkeypatch.setattr(shipping, "_worker_python", lambda _: shipping._real(sys.executable))
    code = tmp_path / "helpers.py"
    code.write_text("ANSWER = 42\n")
    monkeypatch.setattr(shipping, "users_files", lambda: {"helpers.py": code})


def shipped(session: Any = None) -> str:
    session = session or Session()
    ship_code(session)
    (path,) = session.added
    return str(path)


def test_an_archive_lies_where_nobody_else_can_write(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = shipped()
    finally:
        os.umask(before)
    folder = os.lstat(os.path.dirname(path))
    assert stat.S_IMODE(folder.st_mode) == 0o700
    assert folder.st_uid == os.geteuid()
    assert zipfile.ZipFile(path).read("helpers.py") == b"ANSWER = 42\n"


def test_what_another_user_has_put_under_its_name_is_never_loaded(tmp_path: Path) -> None:
    name = os.path.basename(shipped())
    module._OF_PROCESS.clear()  # as a process that begins
    with zipfile.ZipFile(Path(tempfile.gettempdir(), name), "w") as planted:
        planted.writestr("helpers.py", "ANSWER = 'planted'\n")

    path = shipped()

    assert os.path.basename(path) == name
    assert zipfile.ZipFile(path).read("helpers.py") == b"ANSWER = 42\n"


def test_equal_files_are_sent_once_and_make_equal_archives() -> None:
    session: Any = Session()
    ship_code(session)
    ship_code(session)
    (path,) = session.added
    module._OF_PROCESS.clear()
    assert Path(path).read_bytes() == Path(shipped()).read_bytes()


def test_a_folder_that_was_tidied_away_is_made_again() -> None:
    first = Path(shipped())
    first.unlink()
    first.parent.rmdir()
    os.mkdir(first.parent, 0o777)
    os.chmod(first.parent, 0o777)
    again = Path(shipped())
    assert again.parent != first.parent
    assert again.exists()
