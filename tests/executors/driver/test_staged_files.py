from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from penstock.common import Configuration
from penstock.errors import ArchiveNotReadableError, InvalidArgumentError
from penstock.executors.driver.staged_files import module_path, staged_files
from penstock.runtime.job_files.job_files import JobFiles
from penstock.runtime.private_folder import private_folder


def staged(**settings: object) -> JobFiles:
    configuration = Configuration()
    for name, value in settings.items():
        configuration.set_string(name.replace("__", ".").replace("_", "-"), str(value))
    return staged_files(configuration)


def test_a_program_that_names_none_has_none() -> None:
    assert not staged()
    assert staged(python__pythonpath="/a:/b").python_path == ("/a", "/b")


def test_files_stay_as_they_were_when_the_job_began(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("before")
    one = staged(pipeline__cached_files=f"name:a,path:{file}")
    again = staged(pipeline__cached_files=f"name:a,path:file://{file},executable:false")
    file.write_text("after")
    other = staged(pipeline__cached_files=f"name:a,path:{file}")
    assert one == again != other
    assert Path(private_folder(), one.cached[0].file).read_text() == "before"


def test_folders_become_archives_that_are_equal_if_they_are(tmp_path: Path) -> None:
    names = []
    for number in range(2):
        folder = tmp_path / str(number)
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "a").write_text("text")
        found = staged(pipeline__cached_files=f"name:a,path:{folder}").cached[0]
        assert found.is_folder
        names.append(found.file)
    assert len(set(names)) == 1
    assert zipfile.ZipFile(Path(private_folder(), names[0])).namelist() == ["deep/a"]


def test_what_is_not_there_or_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"'/none\.zip', which does not exist"):
        staged(python__archives="/none.zip#data")
    with pytest.raises(InvalidArgumentError, match=r"none://a/b\.zip.* cannot be read"):
        staged(python__archives="none://a/b.zip")
    (tmp_path / "a.zip").write_text("no archive")
    with pytest.raises(ArchiveNotReadableError):
        staged(python__archives=tmp_path / "a.zip")


def test_modules_are_found_without_their_neighbours(tmp_path: Path) -> None:
    (tmp_path / "one.py").touch()
    (tmp_path / "package").mkdir()
    alone, folder, above = module_path([f"{tmp_path}/one.py", f"{tmp_path}/package"])
    assert [path.name for path in Path(alone).iterdir()] == ["one.py"]
    assert folder == f"{tmp_path}/package"
    assert [path.name for path in Path(above).iterdir()] == ["package"]
