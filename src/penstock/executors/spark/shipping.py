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
from penstock.executors.spark.session import interpreter_of, is_local
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
    files = _users_files()
    if not is_local(spark) or _worker_python(spark) != _real(sys.executable):
        for package in (penstock, cloudpickle):
            files |= _package_files(Path(package.__file__ or "").parent)
    archives = [_archive(files)] if files else []
    for path in [*archives, *_as_archives(python_files)]:
        if path not in shipped:
            spark.addArtifacts(path, pyfile=True)
            shipped.add(path)


def _worker_python(spark: SparkSession) -> str:
    """Return the interpreter that a local session starts its workers with."""
    return _real(interpreter_of(spark))


def _real(interpreter: str) -> str:
    # The link is what counts, not what it points to: it decides which packages are found.
    return os.path.abspath(shutil.which(interpreter) or interpreter)


def _users_files() -> dict[str, Path]:
    """Return the files of imported modules that are not installed, by their names in an archive."""
    files: dict[str, Path] = {}
    for name, module in list(sys.modules.items()):
        if name == "__main__" or "." in name or name == "penstock":
            continue
        path = _source_of(module)
        if path is None:
            continue
        if path.name == "__init__.py":
            files |= _package_files(path.parent)
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


def _package_files(folder: Path) -> dict[str, Path]:
    above = folder.parent
    return {
        str(path.relative_to(above)): path
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _archive(files: dict[str, Path]) -> str:
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
        with open(draft, "xb") as file, zipfile.ZipFile(file, "w") as archive:
            for name, content in contents.items():
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        os.replace(draft, path)
    return path


def _as_archives(python_files: Iterable[str]) -> list[str]:
    return [
        _archive(_package_files(Path(path))) if os.path.isdir(path) else os.path.abspath(path)
        for path in python_files
    ]
