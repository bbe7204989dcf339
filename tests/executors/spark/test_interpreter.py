from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from penstock.common import Configuration
from penstock.executors.spark.interpreter import ArchiveAt, archive_of, interpreter_for


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script.chmod(0o700)
    with zipfile.ZipFile(tmp_path / "env.zip", "w") as file:
        file.write(script, "bin/python")
    return tmp_path / "env.zip"


def configured(archives: str, executable: str | None) -> Configuration:
    configuration = Configuration().set_string("python.archives", archives)
    if executable is not None:
        configuration.set_string("python.executable", executable)
    return configuration


def test_an_archive_is_found_by_the_folder_it_is_unpacked_to() -> None:
    configuration = configured("/data.zip,/env.zip#venv", None)
    assert archive_of("venv/bin/python", configuration) == ArchiveAt("/env.zip", "venv")
    assert archive_of("./data.zip/python", configuration) == ArchiveAt("/data.zip", "data.zip")
    for other in ("venv2/bin/python", "/venv/bin/python", "python", "env.zip/bin/python"):
        assert archive_of(other, configuration) is None


@pytest.mark.parametrize(("added", "folder"), [("", "env.zip"), ("#venv", "venv")])
def test_on_this_machine_it_can_be_run_where_it_is_unpacked(
    added: str, folder: str, archive: Path
) -> None:
    configuration = configured(f"{archive}{added}", f"{folder}/bin/python")
    found = interpreter_for(configuration, is_local=True)
    assert found is not None
    assert os.path.isabs(found)
    run = subprocess.run([found, "-c", "print(1)"], capture_output=True, text=True, check=True)
    assert run.stdout == "1\n"
    assert interpreter_for(configuration, is_local=False) == f"{folder}/bin/python"


def test_elsewhere_it_is_what_the_program_says(archive: Path) -> None:
    assert interpreter_for(configured(str(archive), None), is_local=True) is None
    assert interpreter_for(configured(str(archive), "/usr/bin/python"), is_local=True) == (
        "/usr/bin/python"
    )
