"""Lays down, in one folder of the driver, what a job brings along for its functions."""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.files import CachedEntry, cached_entries, entries, with_parameter
from penstock.common.configuration.options import (
    CACHED_FILES,
    PYTHON_ARCHIVES,
    PYTHON_PATH,
    PYTHON_REQUIREMENTS,
)
from penstock.errors import InvalidArgumentError
from penstock.runtime.job_files.job_files import Archive, CachedFile, JobFiles, Requirements
from penstock.runtime.job_files.unpacking import check_archive
from penstock.runtime.private_folder import private_folder

_THE_PAST: Final = (1980, 1, 1, 0, 0, 0)
"""When all files of an archive were written, so that equal folders make equal archives."""
_CHUNK: Final = 1 << 20


def staged_files(configuration: Configuration) -> JobFiles:
    """Copy what a configuration names to `private_folder()`, so that it stays as it is while the job runs.

    Raises:
        InvalidArgumentError: If there is no such file.
        ArchiveNotReadableError: If an archive is none.
    """
    requirements = configuration.get(PYTHON_REQUIREMENTS)
    folders = configuration.get(PYTHON_PATH)
    return JobFiles(
        archives=tuple(map(_archive, entries(configuration.get(PYTHON_ARCHIVES)))),
        requirements=_requirements(requirements) if requirements else None,
        cached=tuple(map(_cached, cached_entries(configuration.get(CACHED_FILES)))),
        python_path=tuple(filter(None, (folders or "").split(os.pathsep))),
    )


def module_path(python_files: Sequence[str]) -> tuple[str, ...]:
    """Return where this process finds the modules that a program names, in the files themselves."""
    return tuple(entry for path in python_files for entry in _module_path_of(_local(path)))


def _module_path_of(path: str) -> Iterator[str]:
    is_folder = os.path.isdir(path)
    if is_folder or not path.endswith(".py"):
        yield path
    if is_folder or path.endswith(".py"):
        # In a folder of its own: its neighbours were not named.
        folder = os.path.join(
            private_folder(), f"module-{hashlib.sha256(path.encode()).hexdigest()}"
        )
        link = os.path.join(folder, os.path.basename(path))
        os.makedirs(folder, exist_ok=True)
        if not os.path.lexists(link):
            os.symlink(path, link)
        yield folder


def _archive(entry: str) -> Archive:
    path, target = with_parameter(entry)
    local = _local(path)
    check_archive(local)
    return Archive(_staged(local), target or os.path.basename(path))


def _requirements(entry: str) -> Requirements:
    path, cache = with_parameter(entry)
    return Requirements(_staged(_local(path)), None if cache is None else _staged(_local(cache)))


def _cached(entry: CachedEntry) -> CachedFile:
    local = _local(entry.path)
    return CachedFile(
        _staged(local),
        entry.name,
        os.path.basename(local),
        entry.is_executable,
        os.path.isdir(local),
    )


def _local(path: str) -> str:
    """Return the path of a file on this machine, fetched from where a URL says."""
    scheme, is_url, rest = path.partition("://")
    if is_url and scheme != "file":
        return _fetched(path)
    local = os.path.abspath(rest if is_url else path)
    if not os.path.exists(local):
        raise InvalidArgumentError(
            f"The program names the file {path!r}, which does not exist.",
            hint=f"Give a path that exists; relative ones begin at {os.getcwd()}.",
        )
    return local


def _fetched(url: str) -> str:
    from pyarrow import fs

    name = os.path.basename(url.rstrip("/"))
    folder = os.path.join(private_folder(), f"fetched-{uuid.uuid4().hex}")
    os.mkdir(folder)
    try:
        fs.copy_files(url, os.path.join(folder, name))
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(
            f"The program names the file {url!r}, which cannot be read: {error}",
            hint="Give a local path, or a URL that pyarrow.fs.FileSystem.from_uri() reads on this machine.",
        ) from error
    return os.path.join(folder, name)


def _staged(path: str) -> str:
    """Copy a file, or a folder as an archive, and return its name, which is that of what is in it."""
    draft = os.path.join(private_folder(), uuid.uuid4().hex)
    if os.path.isdir(path):
        _pack(path, draft)
    else:
        shutil.copyfile(path, draft)
    digest = hashlib.sha256()
    with open(draft, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    name = f"penstock-file-{digest.hexdigest()[:32]}"
    os.replace(draft, os.path.join(private_folder(), name))
    return name


def _pack(folder: str, path: str) -> None:
    with zipfile.ZipFile(path, "x") as archive:
        for file in sorted(found for found in Path(folder).rglob("*") if found.is_file()):
            entry = zipfile.ZipInfo.from_file(file, str(file.relative_to(folder)))
            entry.date_time = _THE_PAST
            with open(file, "rb") as source, archive.open(entry, "w") as target:
                shutil.copyfileobj(source, target)
