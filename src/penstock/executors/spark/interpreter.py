"""The interpreter of workers where it lies in an archive that the program brings along."""

from __future__ import annotations

import os
from typing import NamedTuple

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.files import entries, with_parameter
from penstock.common.configuration.options import PYTHON_ARCHIVES, PYTHON_EXECUTABLE
from penstock.executors.driver.staged_files import staged_files
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
