"""Installs penstock with the client of Spark Connect alone into the project's cache, once, for tests."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
_FOLDER: Final = _ROOT / ".cache" / "connect-client"
_PATIENCE: Final = 600.0


class ClientNotInstalled(Exception):
    """It is not there; the message says why."""


def client_python() -> Path:
    """Returns the interpreter of its environment, which is made if it is not there, or was made for other extras.

    Raises:
        ClientNotInstalled: If it cannot be made.
    """
    wanted = (_ROOT / "pyproject.toml").read_bytes() + f"{sys.version}{_ROOT}{_pinned()}".encode()
    stamp = _FOLDER / "stamp"
    python = _FOLDER / "bin" / "python"
    _FOLDER.parent.mkdir(exist_ok=True)
    with _FOLDER.with_name("connect-client.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        digest = hashlib.sha256(wanted).hexdigest()
        if not stamp.is_file() or stamp.read_text() != digest:
            shutil.rmtree(_FOLDER, ignore_errors=True)
            _run(sys.executable, "-m", "venv", _FOLDER)
            options = ["--disable-pip-version-check", "--quiet", "--use-pep517"]
            _run(
                python,
                "-m",
                "pip",
                "install",
                *options,
                "--editable",
                f"{_ROOT}[connect]",
                *_pinned(),
            )
            stamp.write_text(digest)
    return python


def _pinned() -> list[str]:
    """Return what has the client be of the version of an older server, as it is to be there."""
    older = version("pyspark").split(".")[:2]
    return [f"pyspark-client=={'.'.join(older)}.*"] if older < ["4", "2"] else []


def _run(*command: str | Path) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ClientNotInstalled(f"pip took more than {_PATIENCE:.0f} s.") from error
    if done.returncode:
        raise ClientNotInstalled(done.stderr)


if __name__ == "__main__":
    print(client_python())
