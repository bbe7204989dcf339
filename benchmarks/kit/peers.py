"""PyFlink, in a virtual environment of its own: its dependencies are far from penstock's."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from benchmarks.kit.tally import Outcome

from penstock.executors.spark.java import ensure_java

if TYPE_CHECKING:
    from types import TracebackType

VERSION = "2.3.0"
PYTHONS = ((3, 11), (3, 12))
"""The Python versions that this PyFlink has wheels for and penstock runs on."""

PATIENCE = 5.0
"""How many seconds PyFlink has to end by itself, before it is killed."""

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


class PeerHung(Exception):
    """PyFlink did not answer in time, and is ended; the message says what it was."""


class PyFlink:
    """A local Flink with PyFlink, kept running for many jobs.

    It is a group of processes: the program, Flink's Java, Python's workers. They end together.

    Args:
        mode: PyFlink's `python.execution-mode`: thread or process.
        job: The module of the benchmarks that holds the job.
        *arguments: What the job is told on its command line, after the mode.
    """

    def __init__(self, mode: str, job: str = "sides.pyflink_job", *arguments: str) -> None:
        self._mode = mode
        self._job = job
        self._arguments = arguments
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> PyFlink:
        install_pyflink()
        ensure_java()
        self._log = (HOME / f"{self._job}-{self._mode}.log").open("w")
        self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()
        self._log.close()

    def rate(self, records: int) -> float:
        """Runs the job over that many numbers; returns the records a second of the job itself."""
        return records / float(self.ask(records=records, check=False)["seconds"])

    def check(self, records: int) -> Outcome:
        """Runs the job with its results collected."""
        answer = self.ask(records=records, check=True)
        return Outcome(answer["seconds"], int(answer["count"]), int(answer["total"]))

    def ask(self, within: float | None = None, **order: Any) -> dict[str, Any]:
        """Has the job do what the order says; returns its answer.

        Args:
            within: How many seconds it may take; after them PyFlink is ended, and the next order starts it anew.
                None for as long as it takes.
            **order: The order.

        Raises:
            PeerHung: It took longer.
            PeerUnavailable: It ended.
        """
        process = self._process or self._start()
        assert process.stdin is not None
        end = None if within is None else time.monotonic() + within
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        try:
            while line := self._lines.get(timeout=end and max(0, end - time.monotonic())):
                if line.startswith("answer "):
                    answer: dict[str, Any] = json.loads(line.removeprefix("answer "))
                    return answer
        except Empty:
            self._end()
            raise PeerHung(f"PyFlink did not answer within {within:g} s") from None
        raise PeerUnavailable(
            f"PyFlink ended in {self._mode} mode. Its log: {Path(self._log.name).relative_to(ROOT)}"
        )

    def _start(self) -> subprocess.Popen[str]:
        # Flink's task managers look for "python" on the PATH.
        path = os.pathsep.join([str(HOME / "bin"), os.environ["PATH"]])
        python = str(HOME / "bin" / "python")
        process = subprocess.Popen(
            [python, "-m", f"benchmarks.{self._job}", self._mode, *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        self._process = process
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._reader = threading.Thread(target=_read, args=(process, self._lines), daemon=True)
        self._reader.start()
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            end_group(process)
            self._reader.join()
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()


def _read(process: subprocess.Popen[str], lines: SimpleQueue[str]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put("")


def end_group(process: subprocess.Popen[str]) -> None:
    """Ends a process and all that are in the group that it leads."""
    with contextlib.suppress(ProcessLookupError):
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(process.pid, number)
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                process.poll()
                os.killpg(process.pid, 0)
                time.sleep(0.02)
    process.wait()


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
