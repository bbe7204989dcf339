"""What a client asks of the driver's side of its job, by files at the checkpoint location."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from penstock.checkpoint.storage import Storage
from penstock.common.running_job import RunningJob
from penstock.executors.spark.hosted.reports import Answer

CANCEL: Final = "cancel"
STOP: Final = "stop"
CHECKPOINT: Final = "checkpoint"
SAVEPOINT: Final = "savepoint"
_LAST_FILE: Final = "_SUCCESS"
_SECONDS_TO_CLOSE: Final = 10.0
"""What Spark still has to do once its last file is there: it would fail, and the client's job with it, if that were gone."""
LOOK: Final = "look"
"""Asks for nothing but an answer, and so for a report of how the job is doing now."""


class Requests:
    """Does what clients ask of a job.

    Args:
        storage: The job's storage.
        folder: Where the requests are: a folder for each, as Spark writes a text.
        job: The job.
        answer: Takes what a request came to.
    """

    def __init__(
        self,
        storage: Storage,
        folder: str,
        job: RunningJob,
        answer: Callable[[str, Answer], None],
    ) -> None:
        self._storage = storage
        self._folder = folder
        self._job = job
        self._answer = answer
        self._seen: set[str] = set()
        self._written: dict[str, float] = {}
        self._threads: list[threading.Thread] = []

    def look(self) -> None:
        """Take up what is asked for now, and delete what was written to its end and is taken up.

        Raises:
            OSError: If that cannot be read; then another call takes it up.
        """
        written = set()
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        for name in self._storage.names(self._folder):
            request, _, file = name.removeprefix(f"{self._folder}/").partition("/")
            # Spark writes it elsewhere, and then moves it here.
            if file.startswith("part-") and request not in self._seen:
                try:
                    asked = json.loads(self._storage.read(name))
                except ValueError:  # it is not all there yet
                    continue
                self._seen.add(request)
                thread = threading.Thread(target=self._do, args=(request, asked), daemon=True)
                self._threads.append(thread)
                thread.start()
            elif file == _LAST_FILE:
                written.add(request)
        now = time.monotonic()
        for request in written & self._seen:
            if now - self._written.setdefault(request, now) >= _SECONDS_TO_CLOSE:
                del self._written[request]
                self._storage.delete_folder(f"{self._folder}/{request}")

    def _do(self, request: str, asked: dict[str, Any]) -> None:
        try:
            answer = Answer(self._found(asked))
        except Exception as error:  # noqa: BLE001 - the client raises it
            answer = Answer(error=error)
        self._answer(request, answer)

    def _found(self, asked: dict[str, Any]) -> Any:
        what = asked.pop("what")
        if what == LOOK:
            return None
        if what == CANCEL:
            return self._job.cancel()
        if what == STOP:
            return self._job.stop()
        if what == CHECKPOINT:
            return self._job.checkpoint(self._job.turn())
        assert what == SAVEPOINT
        return self._job.savepoint(**asked)

    def finish(self) -> None:
        """Wait until what was asked for has an answer: the job has ended."""
        for thread in self._threads:
            thread.join(timeout=5)
