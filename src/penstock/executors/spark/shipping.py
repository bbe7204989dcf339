"""Brings penstock and the user's own modules to the workers, so that nobody has to install them there."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
import uuid
import weakref
import zipfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import ModuleType

import cloudpickle
from pyspark.sql import SparkSession

import penstock
from penstock.common.configuration.configuration import Configuration
from penstock.executors.spark.frames.called_on_workers import called_on_workers
from penstock.executors.spark.interpreter import archive_of
from penstock.executors.spark.session import interpreter_of, is_local
from penstock.executors.spark.versions.artifacts import add_archive, add_code, add_file
from penstock.executors.spark.worker_files import files_folder
from penstock.runtime.job_files.job_files import JobFiles
from penstock.runtime.job_files.workplace import prepare
from penstock.runtime.private_folder import private_folder

_SHIPPED: weakref.WeakKeyDictionary[SparkSession, set[str]] = weakref.WeakKeyDictionary()


def ship_code(spark: SparkSession, python_files: Iterable[str] = ()) -> None:
    """Add penstock and the user's modules to what the session's workers can import.

    Workers of a local session mostly share this interpreter, and with it what is installed in it;
    modules that merely lie beside the user's script are brought there too.

    Args:
        spark: The session.
        python_files: Files and folders that the user named besides.
    """
    shipped = _SHIPPED.setdefault(spark, set())
    files = users_files()
    if not is_local(spark) or _worker_python(spark) != _real(sys.executable):
        for package in (penstock, cloudpickle):
            files |= package_files(Path(package.__file__ or "").parent)
    archives = [archive_with(files)] if files else []
    # Spark has workers look first into what it was given last.
    for path in [*archives, *reversed(_as_archives(python_files))]:
        if path not in shipped:
            add_code(spark, path)
            shipped.add(path)


def ship_files(spark: SparkSession, files: JobFiles) -> None:
    """Bring to the workers what a job needs beside modules, and see whether it can be installed there.

    Raises:
        RequirementsNotInstalledError: If a worker cannot install what the job requires.
    """
    shipped = _SHIPPED.setdefault(spark, set())
    for name in files.names:
        if name not in shipped:
            add_file(spark, os.path.join(private_folder(), name))
            shipped.add(name)
    if files.requirements is not None:
        _try_out(spark, files)


def ship_interpreter(spark: SparkSession, configuration: Configuration) -> None:
    """Bring the archive to the workers in which they find their interpreter."""
    interpreter = interpreter_of(spark)
    archive = archive_of(interpreter, configuration)
    if archive is None or os.path.isabs(interpreter):
        return
    shipped = _SHIPPED.setdefault(spark, set())
    place = f"{os.path.abspath(archive.path)}#{archive.target}"
    if place not in shipped:
        add_archive(spark, place)
        shipped.add(place)


def _try_out(spark: SparkSession, files: JobFiles) -> None:
    """Install in one worker: what goes wrong in the tasks of an epoch is tried again, and again."""
    called_on_workers(spark.range(0, 1, 1, 1), lambda: prepare(files, files_folder()))


def _worker_python(spark: SparkSession) -> str:
    """Return the interpreter that a local session starts its workers with."""
    return _real(interpreter_of(spark))


def _real(interpreter: str) -> str:
    # The link is what counts, not what it points to: it decides which packages are found.
    return os.path.abspath(shutil.which(interpreter) or interpreter)


def users_files() -> dict[str, Path]:
    """Return the files of imported modules that are not installed, by their names in an archive."""
    files: dict[str, Path] = {}
    for name, module in list(sys.modules.items()):
        if name == "__main__" or "." in name or name == "penstock":
            continue
        path = _source_of(module)
        if path is None:
            continue
        if path.name == "__init__.py":
            files |= package_files(path.parent)
        else:
            files[path.name] = path
    return files


def _source_of(module: ModuleType) -> Path | None:
    """Return where the source of a module lies, if it is not an installed one."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py") or file.startswith(_installed()):
        return None
    path = Path(file).resolve()
    is_installed = str(path).startswith(_installed()) or "site-packages" in path.parts
    return path if path.is_file() and not is_installed else None


@cache
def _installed() -> tuple[str, ...]:
    """Return the folders in which modules are installed, each with a slash behind it."""
    places = set(sysconfig.get_paths().values())
    places |= {os.path.realpath(place) for place in places}
    return tuple(os.path.join(place, "") for place in places)


def package_files(folder: Path) -> dict[str, Path]:
    """Return the files of a package, by their names in an archive."""
    above = folder.parent
    return {
        str(path.relative_to(above)): path
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def folder_files(folder: Path) -> dict[str, Path]:
    """Return the files in a folder, as a package and as modules of their own."""
    package = package_files(folder.absolute())
    return package | {str(path.relative_to(folder.absolute())): path for path in package.values()}


def archive_with(files: dict[str, Path]) -> str:
    """Write files into an archive named by what is in it, and return its path.

    Workers import what is in it, so it lies where nobody else can write. Equal files make equal archives:
    Spark refuses another one of a name that it knows.
    """
    contents = {name: path.read_bytes() for name, path in sorted(files.items())}
    digest = hashlib.sha256()
    for name, content in contents.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    path = os.path.join(private_folder(), f"penstock-code-{digest.hexdigest()[:16]}.zip")
    if not os.path.exists(path):
        draft = f"{path}.{uuid.uuid4().hex}"
        folders = {f"{folder}/" for name in contents for folder in Path(name).parents}
        with open(draft, "xb") as file, zipfile.ZipFile(file, "w") as archive:
            for folder in sorted(folders - {"./"}):
                # Else a package without an __init__.py is not found in it.
                archive.writestr(zipfile.ZipInfo(folder), b"")
            for name, content in contents.items():
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        os.replace(draft, path)
    return path


def _as_archives(python_files: Iterable[str]) -> list[str]:
    return [
        archive_with(folder_files(Path(path))) if os.path.isdir(path) else os.path.abspath(path)
        for path in python_files
    ]
