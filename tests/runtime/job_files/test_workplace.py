from __future__ import annotations

import importlib
import os
import re
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from penstock.errors import ArchiveNotReadableError
from penstock.runtime.job_files import workplace
from penstock.runtime.job_files.job_files import Archive, CachedFile, JobFiles, Requirements
from penstock.runtime.job_files.workplace import at_work, path_of, prepare


def archive(path: Path, **files: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in files.items():
            file.writestr(f"{name}.txt", content)


def test_archives_lie_in_the_working_folder_while_functions_run(tmp_path: Path) -> None:
    archive(tmp_path / "one", text="first")
    archive(tmp_path / "other", text="second")
    home = os.getcwd()
    one = JobFiles(archives=(Archive("one", "data"), Archive("other", "deep/data.zip")))
    with at_work(one, str(tmp_path)):
        assert Path("data/text.txt").read_text() == "first"
        assert Path("deep/data.zip/text.txt").read_text() == "second"
    assert os.getcwd() == home


def test_of_jobs_that_run_at_once_the_last_that_began_has_the_working_folder(
    tmp_path: Path,
) -> None:
    archive(tmp_path / "one", text="first")
    archive(tmp_path / "other", text="second")
    home = os.getcwd()
    first, second = ExitStack(), ExitStack()
    first.enter_context(at_work(JobFiles((Archive("one", "data"),)), str(tmp_path)))
    second.enter_context(at_work(JobFiles((Archive("other", "data"),)), str(tmp_path)))
    first.close()
    assert Path("data/text.txt").read_text() == "second"
    second.close()
    assert os.getcwd() == home


def test_modules_are_found_that_are_told_relative_to_the_folder_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive(tmp_path / "one", text="first")
    with zipfile.ZipFile(tmp_path / "modules.zip", "w") as modules:
        for name in ("__init__", "before", "after"):
            modules.writestr(f"penstock_relative/{name}.py", f"NAME = '{name}'\n")
    (tmp_path / "penstock_beside.py").write_text("NAME = 'beside'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["./modules.zip", ".", *sys.path])
    importlib.import_module("penstock_relative.before")
    with at_work(JobFiles((Archive("one", "data"),)), "."):
        for name in ("penstock_relative.after", "penstock_beside"):
            assert re.split("[._]", name)[-1] == importlib.import_module(name).NAME


def test_what_is_shared_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(tmp_path / "one", text="first")
    made = []
    usual = workplace._make

    def make(files: JobFiles, folder: str, place: str) -> None:
        made.append(place)
        usual(files, folder, place)

    monkeypatch.setattr(workplace, "_make", make)
    files = JobFiles((Archive("one", "data"),))
    with ThreadPoolExecutor(4) as threads:
        places = set(threads.map(lambda _: prepare(files, str(tmp_path)), range(8)))
    assert list(places) == made


def test_files_are_found_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("#!/bin/sh\n")
    archive(tmp_path / "b", inner="deep")
    cached = (
        CachedFile("a", "tool", "tool.sh", is_executable=True),
        CachedFile("a", "text", "tool.sh"),
        CachedFile("b", "folder", "b", is_folder=True),
    )
    files = JobFiles(cached=cached)
    prepare(files, str(tmp_path))
    tool, text, folder = (path_of(files, file) for file in cached)
    assert os.path.basename(tool) == os.path.basename(text) == "tool.sh"
    assert os.access(tool, os.X_OK)
    assert not os.access(text, os.X_OK)
    assert Path(folder, "inner.txt").read_text() == "deep"


def test_requirements_may_be_of_another_version_in_the_next_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(requirements: Requirements, folder: str, draft: str) -> None:
        target = Path(draft, "requirements")
        target.mkdir()
        version = Path(folder, requirements.file).read_text()
        (target / "penstock_tried.py").write_text(f"VERSION = '{version}'\n")

    monkeypatch.setattr(workplace, "_install", install)
    answers = []
    for version in ("1.0", "2.0"):
        (tmp_path / version).write_text(version)
        before = list(sys.path)
        with at_work(JobFiles(requirements=Requirements(version)), str(tmp_path)):
            answers.append(importlib.import_module("penstock_tried").VERSION)
        assert sys.path == before
    assert answers == ["1.0", "2.0"]


def test_modules_of_the_program_itself_stay_loaded(tmp_path: Path) -> None:
    own, brought = tmp_path / "own", tmp_path / "work" / "brought"
    for folder in (own, brought):
        folder.mkdir(parents=True)
        (folder / f"penstock_{folder.name}.py").touch()
    with at_work(JobFiles(), str(tmp_path / "work"), [str(own), str(brought)]):
        import penstock_brought  # type: ignore[import-not-found]
        import penstock_own  # type: ignore[import-not-found]
    with at_work(JobFiles(), str(tmp_path / "work"), [str(tmp_path)]):
        assert sys.modules["penstock_own"] is penstock_own
        assert sys.modules.get("penstock_brought") is not penstock_brought


def test_what_cannot_be_prepared_leaves_nothing(tmp_path: Path) -> None:
    archive(tmp_path / "one", text="first")
    (tmp_path / "other").write_text("no archive")
    with pytest.raises(ArchiveNotReadableError, match="other"):
        prepare(JobFiles((Archive("one", "data"), Archive("other", "more"))), str(tmp_path))
    assert not [path.name for path in tmp_path.iterdir() if path.is_dir()]
