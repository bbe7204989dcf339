"""PyFlink, in a virtual environment of its own: its dependencies are far from penstock's."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.kit.tally import Outcome

from penstock.executors.spark.java import ensure_java

if TYPE_CHECKING:
    from types import TracebackType

VERSION = "2.3.0"
PYTHONS = ((3, 11), (3, 12))
"""The Python versions that this PyFlink has wheels for and penstock runs on."""

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".benchmarks" / f"pyflink-{VERSION}"
STAMP = HOME / "installed"


class PeerUnavailable(Exception):
    """PyFlink cannot be compared with on this machine; the message says why."""


def install_pyflink() -> None:
    """Makes PyFlink's environment if it is not there yet; takes a minute or two, once.

    Raises:
        PeerUnavailable: There is no fitting Python, or the installation failed.
    """
    if STAMP.exists():
        return
    print(
        f"Installing PyFlink {VERSION} into .benchmarks (once; may take some minutes)", flush=True
    )
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.parent.mkdir(exist_ok=True)
    _checked([_python(), "-m", "venv", str(HOME)])
    requirement = f"apache-flink=={VERSION}"
    pip = [str(HOME / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
    # Some of its dependencies come as source and build with setup tools of their time.
    _checked([*pip, "--quiet", "setuptools<81", "wheel", requirement])
    STAMP.write_text(requirement)


class PyFlink:
    """A local Flink with PyFlink, kept running for many jobs.

    Args:
        mode: PyFlink's `python.execution-mode`: thread or process.
        job: The module of the benchmarks that holds the job.
        *arguments: What the job is told on its command line, after the mode.
    """

    def __init__(self, mode: str, job: str = "sides.pyflink_job", *arguments: str) -> None:
        self._mode = mode
        self._job = job
        self._arguments = arguments

    def __enter__(self) -> PyFlink:
        install_pyflink()
        ensure_java()
        # Flink's task managers look for "python" on the PATH.
        path = os.pathsep.join([str(HOME / "bin"), os.environ["PATH"]])
        self._log = (HOME / f"{self._job}-{self._mode}.log").open("w")
        python = str(HOME / "bin" / "python")
        self._process = subprocess.Popen(
            [python, "-m", f"benchmarks.{self._job}", self._mode, *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait()
        self._log.close()

    def rate(self, records: int) -> float:
        """Runs the job over that many numbers; returns the records a second of the job itself."""
        return records / float(self.ask(records=records, check=False)["seconds"])

    def check(self, records: int) -> Outcome:
        """Runs the job with its results collected."""
        answer = self.ask(records=records, check=True)
        return Outcome(answer["seconds"], int(answer["count"]), int(answer["total"]))

    def ask(self, **order: Any) -> dict[str, Any]:
        """Has the job do what the order says; returns its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("answer "):
                answer: dict[str, Any] = json.loads(line.removeprefix("answer "))
                return answer
        raise PeerUnavailable(
            f"PyFlink ended in {self._mode} mode. Its log: {Path(self._log.name).relative_to(ROOT)}"
        )


def _python() -> str:
    """An interpreter that PyFlink runs on: the running one, or another on the PATH."""
    if sys.version_info[:2] in PYTHONS:
        return sys.executable
    for major, minor in PYTHONS:
        found = shutil.which(f"python{major}.{minor}")
        if found:
            return found
    known = " or ".join(f"{major}.{minor}" for major, minor in PYTHONS)
    raise PeerUnavailable(
        f"PyFlink {VERSION} does not run on Python {platform.python_version()}.\n\n"
        f"Hint: put Python {known} on the PATH."
    )


def _checked(command: list[str]) -> None:
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise PeerUnavailable(f"PyFlink could not be installed.\n{done.stdout[-2000:]}")
