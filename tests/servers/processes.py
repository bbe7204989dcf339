"""Groups of processes that begin and end together: a session of the operating system each.

    python tests/servers/processes.py COMMAND...

runs a command in the session it was started in, and kills the session when standard input ends: with the
process that wanted it, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple


class Process(NamedTuple):
    """A process.

    Attributes:
        pid: Its number.
        parent: That of its parent.
        command: Its command line.
    """

    pid: int
    parent: int
    command: str

    @property
    def is_java(self) -> bool:
        return os.path.basename(self.command.partition(" ")[0]) == "java"

    @property
    def is_spark_worker(self) -> bool:
        """Whether it is Python that runs functions for Spark; not the daemon that forks such."""
        return "pyspark.daemon" in self.command or "pyspark.worker" in self.command


def processes(session: int) -> list[Process]:
    """Return the processes of a session."""
    found = []
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            pid = int(entry)
            if os.getsid(pid) == session and (process := process_of(pid)) is not None:
                found.append(process)
    return found


def process_of(pid: int) -> Process | None:
    """Return a process; None if it is dead, buried or not."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    if state in "ZX":
        return None
    return Process(pid, int(parent), command.replace(b"\0", b" ").decode(errors="replace"))


def kill(pids: Iterable[int], number: int = signal.SIGKILL) -> int:
    """Send a signal to processes, one's own last, and return how many there were."""
    count = 0
    for pid in sorted(pids, key=lambda pid: pid == os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            count += 1
    return count


def kill_session(
    session: int, is_meant: Callable[[Process], bool] = lambda process: True, *, spare: int = 0
) -> int:
    """Kill those processes of a session that are meant, and return how many there were.

    Stopped first, so that none begins another while they are counted.
    """
    meant = [process.pid for process in processes(session) if is_meant(process)]
    meant = [pid for pid in meant if pid != spare]
    kill((pid for pid in meant if pid != os.getpid()), signal.SIGSTOP)
    again = [process.pid for process in processes(session) if is_meant(process)]
    return kill({pid for pid in (*meant, *again) if pid != spare})


class Session:
    """A program in a session of its own, which is killed with all it started.

    Args:
        command: The program and its arguments.
        environment: Its environment.
        stdout: Where its output goes.
        stderr: Where its errors go.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        stdout: int | IO[bytes] = subprocess.DEVNULL,
        stderr: int | IO[bytes] = subprocess.DEVNULL,
    ) -> None:
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, *command],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )

    @property
    def id(self) -> int:
        return self._keeper.pid

    @property
    def stderr(self) -> IO[bytes] | None:
        return self._keeper.stderr

    def processes(self) -> list[Process]:
        """Return what runs in it, without what keeps it."""
        return [process for process in processes(self.id) if process.pid != self.id]

    def poll(self) -> int | None:
        """Return what the program returned, None while it runs; -9 if it was killed."""
        return self._keeper.poll()

    def wait(self, timeout: float) -> int:
        return self._keeper.wait(timeout)

    def kill(self, is_meant: Callable[[Process], bool] = lambda process: True) -> int:
        """Kill what is meant, and return how many processes there were."""
        return kill_session(self.id, is_meant, spare=self.id)

    def end(self) -> None:
        """Kill all of it, and come back when it is gone."""
        assert self._keeper.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._keeper.stdin.close()
        self._keeper.wait()
        kill_session(self.id)
        while processes(self.id):
            pass


def main() -> int:
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)

    def end() -> None:
        os.read(0, 1)
        kill_session(os.getsid(0))

    threading.Thread(target=end, daemon=True).start()
    code = program.wait()
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main())
