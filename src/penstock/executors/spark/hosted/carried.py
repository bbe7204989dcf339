"""Functions that travel by their code, to a Python process of a server that has no penstock: they import nothing here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


def host_of(digest: str, code: bytes, run: bytes, payload: bytes) -> Callable[[Any, int], None]:
    """Return what is called for the only micro-batch of a query: the driver's side of a job.

    Args:
        digest: Names the code.
        code: An archive of the modules that it needs.
        run: The name of what runs it, given the program and the session, as a pickle.
        payload: The program.
    """

    def host(batch: Any, _: int) -> None:
        import pickle

        _make_importable(digest, code)
        pickle.loads(run)(payload, batch.sparkSession)

    return host


def function_with(
    digest: str, code: bytes, function: bytes
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return what is called for each partition of a streaming query, with which Spark sends nothing but functions.

    Args:
        digest: Names the code.
        code: An archive of the modules that it needs.
        function: The function, as a pickle.
    """

    def call(batches: Iterable[Any]) -> Iterator[Any]:
        import pickle

        _make_importable(digest, code)
        found: Iterator[Any] = pickle.loads(function)(batches)
        return found

    return call


def _make_importable(digest: str, code: bytes) -> None:
    import os
    import sys

    if digest in map(os.path.basename, sys.path):
        return
    folder = _unpacked(digest, code)
    archives = sorted(name for name in os.listdir(folder) if name.startswith("given-"))
    sys.path[:0] = [folder, *(os.path.join(folder, name) for name in archives)]


def _unpacked(digest: str, code: bytes) -> str:
    """Return the folder of some code, which stays until this process ends; what nobody uses any more is deleted."""
    import fcntl
    import io
    import os
    import stat
    import tempfile
    import uuid
    import zipfile

    above = os.path.join(tempfile.gettempdir(), f"penstock-host-{os.getuid()}")
    os.makedirs(above, mode=0o700, exist_ok=True)
    found = os.lstat(above)
    if found.st_uid != os.getuid() or found.st_mode & 0o77 or not stat.S_ISDIR(found.st_mode):
        # Whoever else can write there could have other code run.
        above = tempfile.mkdtemp(prefix="penstock-host-")
    folder = os.path.join(above, digest)
    # Whatever begins meanwhile waits, so that nothing is deleted between what it finds and what it takes.
    with open(os.path.join(above, "lock"), "w") as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        if not os.path.isdir(folder):
            draft = f"{folder}.{uuid.uuid4().hex}"
            zipfile.ZipFile(io.BytesIO(code)).extractall(draft)
            os.rename(draft, folder)
        # It is in use until this process ends, however that comes.
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_SH)
        for entry in list(os.scandir(above)):
            if entry.is_dir() and entry.name != digest:
                _delete_unless_used(entry.path)
    return folder


def _delete_unless_used(folder: str) -> None:
    import fcntl
    import os
    import shutil
    import uuid

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    finally:
        os.close(handle)
    # If that is cut off, nobody takes what is left of it for the whole.
    rest = f"{folder}.{uuid.uuid4().hex}"
    os.rename(folder, rest)
    shutil.rmtree(rest, ignore_errors=True)


def relay_to(path: str) -> Callable[[Any, int], None]:
    """Return what is called for each micro-batch: it hands it on to the driver's side of the job, in another process.

    Args:
        path: The socket on which that listens.
    """

    def relay(batch: Any, number: int) -> None:
        import json
        import os
        import socket
        import sys

        if getattr(sys.stdout, "name", None) != os.devnull:
            # Spark would print two lines of every micro-batch there, for the server's log, for as long as the job runs.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(path)
            frame = batch._plan._relation_id  # noqa: SLF001 - what the other process finds it by
            asked = {"frame": frame, "number": number, "session": batch.sparkSession.session_id}
            link.sendall(json.dumps(asked).encode() + b"\n")
            answer = link.makefile().readline()
            if answer != "done\n":
                raise RuntimeError(answer or "The driver's side of the job has ended.")

    return relay
