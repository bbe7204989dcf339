"""Hears of the micro-batches of a query that Spark Connect hands to another process."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from penstock.executors.spark.hosted import carried
from penstock.executors.spark.hosted.by_value import travels_by_code
from penstock.executors.spark.hosted.sessions import session_with_id

_DONE: Final = b"done\n"
_MOST_TEXT: Final = 500

_PREFIX: Final = "penstock-relay-"
_SOCKET: Final = "socket"
_SECONDS_TO_LISTEN: Final = 60.0

RunBatch = Callable[[DataFrame, int], None]


class Relay:
    """Has micro-batches run in this process that a query hands to the one which the server has started for it.

    Args:
        spark: The session of this process.
        run: Runs a micro-batch.
    """

    def __init__(self, spark: SparkSession, run: RunBatch) -> None:
        self._spark = spark
        self._run = run
        _delete_left_over()
        # Nobody else may have code run here.
        self._folder = tempfile.mkdtemp(prefix=_PREFIX)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self._path)
        self._socket.listen()
        threading.Thread(target=self._listen, name="relay", daemon=True).start()

    @property
    def _path(self) -> str:
        return os.path.join(self._folder, _SOCKET)

    def function(self) -> Callable[[Any, int], None]:
        """Return what the query is to call for each micro-batch."""
        travels_by_code(carried)
        return carried.relay_to(self._path)

    def _listen(self) -> None:
        with suppress(OSError):  # it is closed
            while True:
                link, _ = self._socket.accept()
                with link, suppress(OSError):  # the other process has died: it hears of nothing
                    self._answer(link)

    def _answer(self, link: socket.socket) -> None:
        line = link.makefile().readline()
        if not line:
            return
        asked = json.loads(line)
        try:
            session = session_with_id(self._spark, asked["session"])
            self._run(session._create_remote_dataframe(asked["frame"]), asked["number"])  # noqa: SLF001 - as Spark's own worker does
        except Exception as error:  # noqa: BLE001 - whoever runs the job knows with what it has failed
            text = str(error).partition("\n")[0][:_MOST_TEXT] or type(error).__name__
            link.sendall(text.encode() + b"\n")
        else:
            link.sendall(_DONE)

    def close(self) -> None:
        """Listen no longer."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _delete_left_over() -> None:
    """Delete the folders of relays whose process was killed: nobody listens there."""
    for entry in list(os.scandir(tempfile.gettempdir())):
        with suppress(OSError):  # another process deletes it
            found = entry.stat(follow_symlinks=False)
            is_old = time.time() - found.st_mtime > _SECONDS_TO_LISTEN
            if entry.name.startswith(_PREFIX) and found.st_uid == os.getuid() and is_old:
                with socket.socket(socket.AF_UNIX) as link:
                    is_refused = link.connect_ex(os.path.join(entry.path, _SOCKET)) != 0
                if is_refused:
                    shutil.rmtree(entry.path, ignore_errors=True)
