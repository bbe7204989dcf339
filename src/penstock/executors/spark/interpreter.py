"""The interpreter of workers: where it is, and whether it can run programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from typing import Final, NamedTuple

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.files import entries, with_parameter
from penstock.common.configuration.options import PYTHON_ARCHIVES, PYTHON_EXECUTABLE
from penstock.executors.driver.staged_files import staged_files
from penstock.executors.spark.failures import other_python
from penstock.executors.spark.versions.features import version_of
from penstock.executors.spark.versions.needs import PYARROW
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
    found = _asked(command)
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if found.missing is not None:
        raise other_python(what, f"{command!r} has no module {found.missing!r}.")
    if found.python not in (None, own):
        raise other_python(what, f"{command!r} is Python {found.python}, and this is {own}.")
    if found.failure is not None:
        raise other_python(what, f"{command!r} cannot import pyarrow: {found.failure}.")
    arrow = version_of(found.pyarrow or "")
    if arrow is not None and not PYARROW.has(arrow):
        raise other_python(
            what,
            f"{command!r} has pyarrow {found.pyarrow}, and penstock works with pyarrow {PYARROW}.",
        )


def _is_this_one(command: str) -> bool:
    """Whether an interpreter is this one: by its own name, or by another in the folder of the same environment."""
    found = shutil.which(command)
    if found is None or os.path.dirname(found) != os.path.dirname(sys.executable):
        return False
    return os.path.samefile(found, sys.executable)


_QUESTION: Final = "import sys; print(*sys.version_info[:2], sep='.', flush=True); import pyarrow; print(pyarrow.__version__)"
_SECONDS: Final = 60


class _Answer(NamedTuple):
    """What an interpreter says of itself; None for what it does not say.

    Attributes:
        python: Its version.
        pyarrow: That of its pyarrow.
        missing: The name of a module that it lacks.
        failure: Why it cannot import pyarrow, if it has what that needs.
    """

    python: str | None = None
    pyarrow: str | None = None
    missing: str | None = None
    failure: str | None = None


@cache
def _asked(command: str) -> _Answer:
    with suppress(OSError, subprocess.TimeoutExpired):
        answer = subprocess.run(
            [command, "-c", _QUESTION],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        said = re.fullmatch(r"(\d+\.\d+)(?:\s+(\d+\.\S+))?", answer.stdout.strip())
        missing = re.search(r"No module named '([^']+)'", answer.stderr)
        failure = re.search(r"^ImportError: (.*?)\.?\s*\Z", answer.stderr, re.MULTILINE)
        return _Answer(
            said and said[1], said and said[2], missing and missing[1], failure and failure[1]
        )
    return _Answer()
