"""The modules that functions need on a server which are called there in streaming queries, in one archive."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import cloudpickle

import penstock
from penstock.executors.spark.hosted import carried
from penstock.executors.spark.hosted.by_value import travels_by_code
from penstock.executors.spark.shipping import archive_with, folder_files, package_files, users_files

_CODE: Final = {".py", ".zip", ".egg", ".whl", ".so"}


class Code(NamedTuple):
    """Modules in an archive.

    Attributes:
        digest: Names what is in it.
        archive: The archive.
    """

    digest: str
    archive: bytes

    @property
    def version(self) -> str:
        """Names what of it is code. What a package writes to its own folder, such as a log, is no other version."""
        found = hashlib.sha256()
        with zipfile.ZipFile(io.BytesIO(self.archive)) as archive:
            for name in archive.namelist():
                if Path(name).suffix in _CODE:
                    found.update(f"{name}\0".encode() + hashlib.sha256(archive.read(name)).digest())
        return found.hexdigest()


def code_of(python_files: Iterable[str]) -> Code:
    """Return penstock, what it needs beside Spark, and the user's modules.

    Args:
        python_files: Files and folders that the user named.
    """
    files = users_files()
    for package in (penstock, cloudpickle):
        files |= package_files(Path(package.__file__ or "").parent)
    for number, path in enumerate(python_files):
        files |= _given(number, path)
    path = archive_with(files)
    return Code(Path(path).stem, Path(path).read_bytes())


def with_its_code(
    function: Callable[[Iterable[Any]], Iterator[Any]],
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function for the partitions of a streaming query that brings penstock and the user's modules along."""
    travels_by_code(carried)
    return carried.function_with(*code_of(()), cloudpickle.dumps(function))


def _given(number: int, path: str) -> dict[str, Path]:
    if os.path.isdir(path):
        return folder_files(Path(path))
    if path.endswith(".py"):
        return {os.path.basename(path): Path(path)}
    return {f"given-{number:03d}-{os.path.basename(path)}": Path(path)}
