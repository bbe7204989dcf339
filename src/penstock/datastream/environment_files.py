"""What the environment can be told of the Python that functions run in, and of files they need."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from penstock.common.configuration.files import (
    CachedEntry,
    as_parameter,
    cached_entries,
    entries,
    is_of_flink,
    with_entry,
)
from penstock.common.configuration.options import (
    CACHED_FILES,
    CLASSPATHS,
    JARS,
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
)
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock.common.configuration.configuration import Configuration

__all__ = ["EnvironmentFiles"]

Path = str | os.PathLike[str]


class EnvironmentFiles:
    """What the environment can be told of the Python that functions run in, and of files they need."""

    _configuration: Configuration

    def add_python_file(self, file_path: Path) -> None:
        """Let functions import a module, a package or what is in an archive of them.

        Modules that the program's own script imports from beside it need not be added. What is added last is
        looked into first.

        Args:
            file_path: The path of a `.py` file, a `.zip`, an `.egg` or a folder. Of a folder the modules that
                are in it can be imported, and itself as a package.

        Raises:
            InvalidArgumentError: If there is no such file.
        """
        path = _existing(file_path, "add_python_file()")
        known = self._configuration.get(PYTHON_FILES)
        self._configuration.set(PYTHON_FILES, with_entry(known, path, first=True))

    def set_python_requirements(
        self, requirements_file_path: Path, requirements_cache_dir: Path | None = None
    ) -> None:
        """Have packages installed for the functions, on each machine that they run on.

        pip installs them into a folder of the job's own when its first function starts there, and the folder
        goes with the session; what is installed on the machine stays as it is. Modules that are loaded before
        functions are, as pyarrow is, keep their version.

        Args:
            requirements_file_path: The path of a `requirements.txt`.
            requirements_cache_dir: A folder with all packages that it asks for, made by
                `pip download -d FOLDER -r requirements.txt`; no index is asked then. Default: pip asks one.

        Raises:
            InvalidArgumentError: If there is no such file or folder.
        """
        what = "set_python_requirements()"
        path = _existing(requirements_file_path, what)
        cache = None if requirements_cache_dir is None else _existing(requirements_cache_dir, what)
        self._configuration.set(PYTHON_REQUIREMENTS, as_parameter(path, cache))

    def add_python_archive(self, archive_path: Path, target_dir: str | None = None) -> None:
        """Have an archive unpacked where functions run.

        It is unpacked once on each machine, into a folder of the job's own, which becomes the working folder of
        the functions: they find `target_dir` at that relative path. With the `local` executor they run in this
        process, whose working folder it is until the job ends.

        Args:
            archive_path: The path of a `.zip` (or `.jar`, `.whl`, `.egg`), or of a `.tar`, which may be compressed.
            target_dir: The folder to unpack it to. Default: the name of the archive, as in `data.zip/`.

        Raises:
            InvalidArgumentError: If there is no such file, or the folder is not below the working folder.

        Example:
            >>> import tempfile, zipfile
            >>> from pathlib import Path
            >>> from penstock.testing import local_environment
            >>> archive = Path(tempfile.mkdtemp(), "data.zip")
            >>> with zipfile.ZipFile(archive, "w") as file:
            ...     file.writestr("prices/tea.txt", "3")
            >>> env = local_environment()
            >>> env.add_python_archive(archive, "shop")
            >>> prices = env.from_collection(["tea"]).map(
            ...     lambda item: Path(f"shop/prices/{item}.txt").read_text()
            ... )
            >>> list(prices.execute_and_collect())
            ['3']
        """
        path = _existing(archive_path, "add_python_archive()")
        if target_dir is not None and not _is_below(target_dir):
            raise InvalidArgumentError(
                f"add_python_archive() was given the target folder {target_dir!r}.",
                hint="Give a relative path without '..', ',' and '#', such as 'data'.",
            )
        known = self._configuration.get(PYTHON_ARCHIVES)
        entry = as_parameter(path, target_dir)
        self._configuration.set(PYTHON_ARCHIVES, with_entry(known, entry))

    def set_python_executable(self, python_exec: str) -> None:
        """Set the interpreter that functions run in. The same as `python.executable`.

        Args:
            python_exec: Its path, or its name if it is on the PATH. It has to be of the version that runs the
                program, and to have pyarrow and pandas. If an archive is added that it lies in, its path
                there, such as `"env.zip/bin/python"`.
        """
        self._configuration.set(PYTHON_EXECUTABLE, python_exec)

    def register_cached_file(self, file_path: Path, name: str, executable: bool = False) -> None:
        """Let functions find a file or folder on the machine they run on.

        They ask for it by `runtime_context.get_distributed_cache().get_file(name)`.

        Args:
            file_path: The path, or a URL: `file://`, or what `pyarrow.fs.FileSystem.from_uri` takes, such as `s3://`.
            name: What functions ask for. Of two files of one name the last is found.
            executable: Whether the file can be executed there.

        Raises:
            InvalidArgumentError: If there is no such file, or path or name have a `,` or `;` in them.
        """
        path = os.fspath(file_path)
        if "://" not in path:
            path = _existing(path, "register_cached_file()")
        if not name or set(",;") & {*path, *name}:
            raise InvalidArgumentError(
                f"register_cached_file() was given the path {path!r} and the name {name!r}.",
                hint="Give a name, and a path without ',' and ';'.",
            )
        known = cached_entries(self._configuration.get(CACHED_FILES))
        files = [*known, CachedEntry(name, path, executable)]
        self._configuration.set(CACHED_FILES, ";".join(map(str, files)))

    def add_jars(self, *jars_path: str) -> None:
        """Have Spark load jars, such as that of a data source.

        They are loaded where penstock builds the session: they come to `spark.jars`. A session that runs already has
        to have them, else the program fails with a `JarsNotLoadedError`, which says what to do. Jars of Flink,
        whose names begin with `flink-`, are of no use to Spark: they are left out, and the log says so. The `local`
        executor needs none.

        Args:
            jars_path: Paths, or URLs that begin with `file://`.

        Raises:
            InvalidArgumentError: If there is no such file.
        """
        for jar in jars_path:
            if not is_of_flink(jar):
                _existing(jar, "add_jars()")
        self._configuration.set(JARS, [*self._configuration.get(JARS), *jars_path])

    def add_classpaths(self, *classpaths: str) -> None:
        """Have Spark load jars that each machine has at the same place, or can fetch.

        For the rest as with `add_jars`.

        Args:
            classpaths: URLs: `file://`, where each machine has the jar, or such as `https://`.

        Raises:
            InvalidArgumentError: If one has no protocol.
        """
        for url in classpaths:
            if "://" not in url:
                raise InvalidArgumentError(
                    f"add_classpaths() was given {url!r}, which is no URL.",
                    hint="Write file:// before a path that each machine has, or call add_jars().",
                )
        self._configuration.set(CLASSPATHS, [*self._configuration.get(CLASSPATHS), *classpaths])

    def _python_files(self) -> tuple[str, ...]:
        """Return the modules that functions need, those first that are looked into first."""
        files = entries(self._configuration.get(PYTHON_FILES))
        return tuple(_existing(path, PYTHON_FILES.key) for path in files)


def _existing(path: Path, operation: str) -> str:
    text = os.fspath(path)
    local = text.removeprefix("file://")
    if not os.path.exists(local):
        raise InvalidArgumentError(
            f"{operation} was given {text!r}, which does not exist.",
            hint=f"Give a path that exists; relative ones begin at {os.getcwd()}.",
        )
    return local


def _is_below(target: str) -> bool:
    parts = target.split("/")
    return (
        bool(target)
        and not os.path.isabs(target)
        and ".." not in parts
        and not set(",#") & {*target}
    )
