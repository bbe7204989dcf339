from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from penstock.common import Configuration
from penstock.errors import WorkerPythonError
from penstock.executors.driver.recovery.restarts import is_worth_restarting
from penstock.executors.spark.interpreter import (
    ArchiveAt,
    archive_of,
    check_interpreter,
    interpreter_for,
)


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


def script(folder: Path, text: str) -> str:
    found = folder / f"python-{abs(hash(text))}"
    found.write_text(f"#!/bin/sh\n{text}\n")
    found.chmod(0o700)
    return str(found)


def test_this_interpreter_runs_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", None)
    check_interpreter(sys.executable, "Job 'x'")


@pytest.mark.parametrize(
    "text", [f'exec "{sys.executable}" "$@"', "exit 1", "echo hello", 'echo "No idea" >&2']
)
def test_one_that_is_like_it_or_does_not_say_is_taken(text: str, tmp_path: Path) -> None:
    check_interpreter(script(tmp_path, text), "Job 'x'")


def test_one_that_is_not_there_is_for_spark_to_name(tmp_path: Path) -> None:
    check_interpreter(str(tmp_path / "none"), "Job 'x'")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # Without the packages that are installed.
        (f'exec "{sys.executable}" -I -S "$@"', "has no module 'pyarrow'."),
        ("echo 3.6", f"is Python 3.6, and this is 3.{sys.version_info[1]}."),
        (
            f"echo 3.{sys.version_info[1]}; echo 15.0.2",
            "has pyarrow 15.0.2, and penstock works with pyarrow >=18.",
        ),
        (
            f"echo 3.{sys.version_info[1]}; echo 'ImportError: it requires NumPy 2.' >&2",
            "cannot import pyarrow: it requires NumPy 2.",
        ),
    ],
)
def test_one_that_cannot_run_programs_is_refused_at_once(
    text: str, said: str, tmp_path: Path
) -> None:
    command = script(tmp_path, text)
    with pytest.raises(WorkerPythonError) as raised:
        check_interpreter(command, "Job 'x'")
    assert raised.value.message == (
        f"Job 'x' cannot run with the Python of the workers: {command!r} {said}"
    )
    assert "PYSPARK_PYTHON" in str(raised.value.hint)
    assert not is_worth_restarting(raised.value)


def test_another_name_of_the_running_interpreter_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = tmp_path / "asked"
    own = tmp_path / "python"
    own.write_text(f'#!/bin/sh\ntouch "{asked}"\nexec "{sys.executable}" "$@"\n')
    own.chmod(0o700)
    (tmp_path / "python3").symlink_to(own)
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "python3").symlink_to(own)
    monkeypatch.setattr(sys, "executable", str(own))

    check_interpreter(str(tmp_path / "python3"), "Job 'x'")
    assert not asked.exists()
    # Another environment may begin with the same file.
    check_interpreter(str(other / "python3"), "Job 'x'")
    assert asked.exists()
