"""The folder on a functions' machine that has what their job brings along, and how they come to be in it."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from penstock.errors import RequirementsNotInstalledError
from penstock.runtime.job_files.job_files import CachedFile, JobFiles, Requirements
from penstock.runtime.job_files.unpacking import unpack

_ARCHIVES: Final = "archives"
_CACHED: Final = "cached"
_REQUIREMENTS: Final = "requirements"
_PLACES: Final[dict[str, str]] = {}
"""The folders that this process knows to be prepared, by the digests of what is in them."""
_LAST_LINES: Final = 12


@contextmanager
def at_work(files: JobFiles, folder: str, modules: Sequence[str] = ()) -> Iterator[None]:
    """Let functions run where they find what their job brings along.

    Meanwhile modules are found there, and before those that are installed; and with archives the working
    folder of this process is the one that they are unpacked in. What has to be unpacked and installed is so
    once for all processes that share the folder.

    Args:
        files: What the job brings along.
        folder: Where its files are, and can be unpacked.
        modules: Where else modules are found.

    Raises:
        ArchiveNotReadableError: If an archive cannot be unpacked.
        RequirementsNotInstalledError: If pip does not install what is required.
    """
    place = prepare(files, folder) if files.names else folder
    path = [*modules, *files.python_path]
    if files.requirements is not None:
        path.append(os.path.join(place, _REQUIREMENTS))
    with _WAYS.open([entry for entry in path if entry not in sys.path], folder):
        if not files.archives:
            yield
            return
        with _WORKING_FOLDERS.entered(os.path.join(place, _ARCHIVES)):
            yield


def archives_in(files: JobFiles, folder: str) -> str:
    """Return the folder in which the archives of a job are unpacked, alone, so that nothing is installed for it.

    Raises:
        ArchiveNotReadableError: If one cannot be unpacked.
    """
    return os.path.join(prepare(JobFiles(files.archives), folder), _ARCHIVES)


def path_of(files: JobFiles, file: CachedFile) -> str:
    """Return where this process finds a cached file of the job whose functions it runs."""
    number = files.cached.index(file)
    return os.path.join(_PLACES[files.digest], _CACHED, str(number), file.called)


def prepare(files: JobFiles, folder: str) -> str:
    """Return the folder with what a job brings along, made by the first process that asks for it.

    Raises:
        ArchiveNotReadableError: If an archive cannot be unpacked.
        RequirementsNotInstalledError: If pip does not install what is required.
    """
    digest = files.digest
    place = os.path.abspath(os.path.join(folder, f"penstock-{digest}"))
    if _PLACES.get(digest) != place or not os.path.isdir(place):
        with open(f"{place}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.isdir(place):
                _make(files, folder, place)
        _PLACES[digest] = place
    return place


def _make(files: JobFiles, folder: str, place: str) -> None:
    draft = f"{place}.{uuid.uuid4().hex}"
    os.mkdir(draft, 0o700)
    try:
        for archive in files.archives:
            source = os.path.join(folder, archive.file)
            unpack(source, os.path.join(draft, _ARCHIVES, archive.target))
        for number, cached in enumerate(files.cached):
            _lay_down(cached, folder, os.path.join(draft, _CACHED, str(number)))
        if files.requirements is not None:
            _install(files.requirements, folder, draft)
        os.rename(draft, place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _lay_down(cached: CachedFile, folder: str, place: str) -> None:
    source, target = os.path.join(folder, cached.file), os.path.join(place, cached.called)
    os.makedirs(place)
    if cached.is_folder:
        unpack(source, target)
        return
    shutil.copyfile(source, target)
    if cached.is_executable:
        os.chmod(target, os.stat(target).st_mode | stat.S_IXUSR)


def _install(requirements: Requirements, folder: str, draft: str) -> None:
    file = os.path.abspath(os.path.join(folder, requirements.file))
    target = os.path.join(draft, _REQUIREMENTS)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["--quiet", "--no-input", "--target", target, "--requirement", file]
    if requirements.cache is not None:
        packages = os.path.join(draft, "packages")
        unpack(os.path.join(folder, requirements.cache), packages)
        command += ["--no-index", "--find-links", packages]
    os.makedirs(target)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-_LAST_LINES:])
        raise RequirementsNotInstalledError(
            f"What set_python_requirements() names cannot be installed for {sys.executable}, which says:\n{said}",
            hint="The workers need pip. Where they cannot reach an index of packages, give a folder with all of "
            "them as requirements_cache_dir: `pip download -d FOLDER -r requirements.txt` fills it, on a machine "
            "like theirs.",
        )


class _Ways:
    """Where modules are found while jobs run."""

    def __init__(self) -> None:
        self._left: list[str] = []
        self._brought: list[str] = []

    @contextmanager
    def open(self, path: list[str], folder: str) -> Iterator[None]:
        """Have modules found on a path, the first entry first; what lies in the folder was brought along."""
        if path and path != self._left:
            _forget_modules(self._brought)
            self._left = path
            # Modules that lie elsewhere may have been loaded by the program itself.
            below = os.path.join(os.path.abspath(folder), "")
            self._brought = [entry for entry in path if entry.startswith(below)]
        sys.path[1:1] = path
        try:
            yield
        finally:
            for entry in path:
                if entry in sys.path:
                    sys.path.remove(entry)


def _forget_modules(path: list[str]) -> None:
    """Have modules of an earlier job loaded anew, which may be others in this one."""
    folders = tuple(os.path.join(entry, "") for entry in path)
    for name, module in list(sys.modules.items()):
        if folders and str(getattr(module, "__file__", None)).startswith(folders):
            del sys.modules[name]


class _WorkingFolders:
    """The folders that jobs of this process work in: the last that began has its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folders: list[str] = []

    @contextmanager
    def entered(self, folder: str) -> Iterator[None]:
        """Have a folder as that of this process, unless another one is entered meanwhile."""
        with self._lock:
            if not self._folders:
                self._folders.append(os.getcwd())
                _hold_on_to_modules()
            self._folders.append(folder)
            os.chdir(folder)
        try:
            yield
        finally:
            with self._lock:
                self._folders.remove(folder)
                os.chdir(self._folders[-1])
                if len(self._folders) == 1:
                    self._folders.clear()


def _hold_on_to_modules() -> None:
    """Have modules found elsewhere, too, whose places are told relative to the working folder, as on executors."""
    absolute = (os.path.abspath(entry) if entry else entry for entry in sys.path)
    sys.path[:] = dict.fromkeys(absolute)
    for module in list(sys.modules.values()):
        path = getattr(module, "__path__", None)
        if isinstance(path, list) and not all(map(os.path.isabs, path)):
            path[:] = map(os.path.abspath, path)


_WAYS: Final = _Ways()
_WORKING_FOLDERS: Final = _WorkingFolders()
