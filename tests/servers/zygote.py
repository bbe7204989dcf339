"""Programs that begin as copies of a process that has imported them: to import takes longer than most of them run.

    python -m tests.servers.zygote MODULE...

imports modules, and for each request forks a process that calls the `main` of the first, in a session of its
own. It ends with the process that wanted it, however that ends, and kills the sessions.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Final

from tests.servers.processes import Process, kill_session, processes

_LENGTH: Final = 1 << 17
"""The most bytes of a request: they come as one packet."""


class Zygote:
    """Forks a program.

    Args:
        module: The module of the program.
        *others: What it imports late.
    """

    def __init__(self, module: str, *others: str) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.servers.zygote", module, *others],
                stdin=theirs.fileno(),
                start_new_session=True,
            )

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], output: IO[bytes]
    ) -> ForkedSession:
        """Start the program.

        Args:
            arguments: Its arguments.
            environment: Its environment; what is read at import has been read before.
            output: Where its output and its errors go.
        """
        life, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = {"arguments": list(arguments), "environment": dict(environment)}
        with theirs:
            descriptors = [theirs.fileno(), output.fileno()]
            socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
        return ForkedSession(life)

    def close(self) -> None:
        """End it, and all that it forked."""
        self._control.close()
        self._process.wait()


class ForkedSession:
    """A program in a session of its own; as `Session`, but nothing there keeps it.

    Args:
        life: Where the zygote tells the program's number, and then what it returned.
    """

    def __init__(self, life: socket.socket) -> None:
        self._life = life
        self._code: int | None = None
        self.id = int(life.recv(_LENGTH))

    def processes(self) -> list[Process]:
        """Return what runs in it."""
        return processes(self.id)

    def poll(self) -> int | None:
        """Return what the program returned, None while it runs; -9 if it was killed."""
        if self._code is None:
            with contextlib.suppress(BlockingIOError):
                self._code = int(self._life.recv(_LENGTH, socket.MSG_DONTWAIT))
        return self._code

    def kill(self, is_meant: Callable[[Process], bool] = lambda process: True) -> int:
        """Kill what is meant, and return how many processes there were."""
        return kill_session(self.id, is_meant)

    def end(self) -> None:
        """Kill all of it, and come back when it is gone."""
        while self.kill():
            pass
        self._life.close()


def serve(control: socket.socket) -> dict[str, Any] | None:
    """Fork a process for each request; return the request there, and None here when no more can come."""
    lives: dict[int, tuple[int, socket.socket]] = {}
    while True:
        ready = select.select([control.fileno(), *lives], [], [])[0]
        for ended in lives.keys() & set(ready):
            _tell(*lives.pop(ended))
            os.close(ended)
        if control.fileno() not in ready:
            continue
        data, descriptors, _, _ = socket.recv_fds(control, _LENGTH, 2)
        if not data:
            for program, _ in lives.values():
                kill_session(program)
            return None
        life, output = socket.socket(fileno=descriptors[0]), descriptors[1]
        program = os.fork()
        if program == 0:
            _begin(life, output)
            request: dict[str, Any] = json.loads(data)
            return request
        os.close(output)
        lives[os.pidfd_open(program)] = (program, life)


def _begin(life: socket.socket, output: int) -> None:
    os.setsid()
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    for stream in (1, 2):
        os.dup2(output, stream)
    with life:
        life.send(b"%d" % os.getpid())


def _tell(program: int, life: socket.socket) -> None:
    _, status = os.waitpid(program, 0)
    with life, contextlib.suppress(OSError):  # nobody may want to know
        life.send(b"%d" % os.waitstatus_to_exitcode(status))


def main() -> int:
    module, *_ = [importlib.import_module(name) for name in sys.argv[1:]]
    gc.freeze()
    request = serve(socket.socket(fileno=0))
    if request is None:
        return 0
    sys.argv[1:] = request["arguments"]
    os.environ.clear()
    os.environ.update(request["environment"])
    result: int = module.main()
    return result


if __name__ == "__main__":
    sys.exit(main())
