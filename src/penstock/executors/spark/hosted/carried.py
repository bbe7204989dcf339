"""Functions that travel by their code, to a Python process of a server that has no penstock: they import nothing here."""

from __future__ import annotations

from collections.abc import Callable
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
        import io
        import os
        import pickle
        import shutil
        import stat
        import sys
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
        if not os.path.isdir(folder):
            draft = f"{folder}.{uuid.uuid4().hex}"
            zipfile.ZipFile(io.BytesIO(code)).extractall(draft)
            try:
                os.rename(draft, folder)
            except OSError:  # another job was faster
                shutil.rmtree(draft, ignore_errors=True)
        archives = sorted(name for name in os.listdir(folder) if name.startswith("given-"))
        sys.path[:0] = [folder, *(os.path.join(folder, name) for name in archives)]
        pickle.loads(run)(payload, batch.sparkSession)

    return host


def relay_to(path: str) -> Callable[[Any, int], None]:
    """Return what is called for each micro-batch: it hands it on to the driver's side of the job, in another process.

    Args:
        path: The socket on which that listens.
    """

    def relay(batch: Any, number: int) -> None:
        import json
        import socket

        with socket.socket(socket.AF_UNIX) as link:
            link.connect(path)
            frame = batch._plan._relation_id  # noqa: SLF001 - what the other process finds it by
            asked = {"frame": frame, "number": number, "session": batch.sparkSession.session_id}
            link.sendall(json.dumps(asked).encode() + b"\n")
            answer = link.makefile().readline()
            if answer != "done\n":
                raise RuntimeError(answer or "The driver's side of the job has ended.")

    return relay
