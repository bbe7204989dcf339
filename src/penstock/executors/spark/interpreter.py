"""The interpreter of workers: where it is, and whether it can run programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final, NamedTuple

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.files import entries, with_parameter
from penstock.common.configuration.options import PYTHON_ARCHIVES, PYTHON_EXECUTABLE
from penstock.executors.driver.staged_files import staged_files
from penstock.executors.spark.failures import other_python
from penstock.runtime.job_files.workplace import archives_in
from penstock.runtime.private_folder import private_folder


class ArchiveAt(NamedTuple):
    """An archive, and where it is unpacked to.

    Attributes:
        path: Its path.
        target: The folder, relative to the working folder of functions.
    """

    path: str
    target: str


def archive_of(interpreter: str, configuration: Configuration) -> ArchiveAt | None:
    """Return the archive in which an interpreter lies; None if it lies in none."""
    for entry in entries(configuration.get(PYTHON_ARCHIVES)):
        path, target = with_parameter(entry)
        archive = ArchiveAt(path, target or os.path.basename(path))
        if os.path.normpath(interpreter).startswith(f"{archive.target}/"):
            return archive
    return None


def interpreter_for(configuration: Configuration, *, is_local: bool) -> str | None:
    """Return what a session that is built is to start its workers with; None if nothing says.

    Args:
        configuration: The job's configuration.
        is_local: Whether workers are on this machine: then an archive is unpacked here. Elsewhere they find it in
            their working folder.
    """
    wanted = configuration.get(PYTHON_EXECUTABLE)
    if wanted is None or not is_local or archive_of(wanted, configuration) is None:
        return wanted
    return os.path.join(archives_in(staged_files(configuration), private_folder()), wanted)


def check_interpreter(command: str, what: str) -> None:
    """Make sure that an interpreter on this machine can run programs: has the same version as this one, and pyarrow.

    Spark finds out in the midst of an epoch, and says so in hundreds of lines. What is not this one is asked once.

    Args:
        command: What workers are started with.
        what: What is being done, as in "Job 'x'".

    Raises:
        WorkerPythonError: If it cannot.
    """
    if _is_this_one(command):
        return
    version, missing = _asked(command)
    own = _version(sys.version_info)
    if missing is not None:
        raise other_python(what, f"{command!r} has no module {missing!r}.")
    if version not in (None, own):
        raise other_python(what, f"{command!r} is Python {version}, and this is {own}.")


def _is_this_one(command: str) -> bool:
    """Whether an interpreter is this one: by its own name, or by another in the folder of the same environment."""
    found = shutil.which(command)
    if found is None or os.path.dirname(found) != os.path.dirname(sys.executable):
        return False
    return os.path.samefile(found, sys.executable)


_QUESTION: Final = "import sys; print(*sys.version_info[:2], sep='.', flush=True); import pyarrow"
_SECONDS: Final = 60


@cache
def _asked(command: str) -> tuple[str | None, str | None]:
    """Return the version of an interpreter, and the name of a module that it lacks; None for what it does not say."""
    with suppress(OSError, subprocess.TimeoutExpired):
        answer = subprocess.run(
            [command, "-c", _QUESTION],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        version = re.fullmatch(r"\d+\.\d+", answer.stdout.strip())
        missing = re.search(r"No module named '([^']+)'", answer.stderr)
        return version and version[0], missing and missing[1]
    return None, None


def _version(version: Sequence[Any]) -> str:
    return ".".join(map(str, version[:2]))
