"""The jobs that run in this process: what Ctrl-C does to them, and the end of the program.

Spark's own answer to Ctrl-C is to cancel all that runs, in the middle of an epoch; what runs then fails, and says so at
length. While jobs of penstock run, Ctrl-C is Python's own `KeyboardInterrupt`, and the jobs are cancelled.
"""

from __future__ import annotations

import atexit
import gc
import io
import logging
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, Protocol

from penstock import uncaught
from penstock.common.plain_text import shown_name
from penstock.executors.driver.progress.places import at_interrupt
from penstock.forked import anew_in_forks

_LOG: Final = logging.getLogger("penstock")
_MOST_FAILED: Final = 10
_FILES: Final = frozenset({io.BufferedWriter, io.BufferedRandom, io.TextIOWrapper})


class OfProcess(Protocol):
    """What a process knows of a job in it."""

    name: str

    def cancel(self) -> None:
        """Stop the job; what is not committed is given up."""

    def wait_briefly(self) -> None:
        """Wait for the end of the job, which was cancelled, and leave it behind if that takes long."""

    def untold_end(self) -> str | None:
        """Return how it has ended, in a line for people; None if its own last line has told it."""

    def tell_failure(self) -> None:
        """Say why it has failed, if it has and nobody was told."""


class RunningJobs:
    """The jobs of this process that have not ended, and those of whose failure nobody was told.

    Attributes:
        is_over: Whether the program ends, so that nothing need be tidied up that ends with it.
        interrupted_at: When Ctrl-C ended the program, or its waiting for a job (`time.monotonic`); None if it did not
            since the last job began.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[OfProcess] = []
        self._starting = 0
        self._failed: deque[OfProcess] = deque(maxlen=_MOST_FAILED)
        self._is_at_exit = False
        self._at_end: list[Callable[[], None]] = []
        self.is_over = False
        self.interrupted_at: float | None = None

    def begin(self, job: OfProcess) -> None:
        """Take note of a job that begins."""
        with self._lock:
            self._running.append(job)
            self.interrupted_at = None
            self._mind_end()
        take_interrupts()

    def at_end(self, call: Callable[[], None]) -> None:
        """Call something when the program ends, once no job runs any more."""
        with self._lock:
            if call not in self._at_end:
                self._at_end.append(call)
            self._mind_end()

    def _mind_end(self) -> None:
        if not self._is_at_exit:
            self._is_at_exit = True
            atexit.register(self.end_all)
            uncaught.at_interrupt(self.interrupted)

    def end(self, job: OfProcess, *, is_failed: bool) -> None:
        """Take note of a job that has ended."""
        with self._lock:
            if job in self._running:
                self._running.remove(job)
            if is_failed:
                self._failed.append(job)

    def told(self, job: OfProcess) -> None:
        """Take note that somebody was told of a job's failure."""
        with self._lock:
            if job in self._failed:
                self._failed.remove(job)

    def note_interrupt(self) -> None:
        """Take note of a Ctrl-C: whoever pressed it waits for nobody who has asked something of a job."""
        self.interrupted_at = time.monotonic()

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Count as running what is being started inside."""
        with self._lock:
            self._starting += 1
        try:
            take_interrupts()
            yield
        finally:
            with self._lock:
                self._starting -= 1

    def __len__(self) -> int:
        return len(self._running) + self._starting

    def cancel_all(self) -> list[OfProcess]:
        """Cancel all jobs that run, wait for their ends, but not for long, and return them."""
        with self._lock:
            running = list(self._running)
        for job in running:
            job.cancel()
        for job in running:
            job.wait_briefly()
            self.end(job, is_failed=False)
        return running

    def interrupted(self) -> str | None:
        """Cancel all jobs as Ctrl-C ends the program, and return what is to be said of it; None if none ran."""
        self.is_over = bool(self._running)
        self.note_interrupt()
        running = self.cancel_all()
        lines = list(filter(None, (job.untold_end() for job in running)))
        if not running:
            return None
        return at_interrupt("\n".join(lines)) if lines else ""

    def end_all(self) -> None:
        """Let no job run on when Python's own things go, and tell what nobody was told."""
        self.is_over = True
        for job in self.cancel_all():
            _LOG.warning(
                "%s was still running when the program ended, and was cancelled: "
                "get_job_execution_result().result() of its JobClient waits for its end",
                shown_name(job.name),
            )
        for job in list(self._failed):
            job.tell_failure()
        for call in self._at_end:
            call()
        if self.interrupted_at is not None:
            _leave_garbage()


def _leave_garbage() -> None:
    """Have Python end without looking through all there is for garbage, twice, while the machine kills tasks.

    Files that it would have found are written to their end.
    """
    for found in gc.get_objects():
        if type(found) in _FILES:
            with suppress(OSError, ValueError):
                found.flush()
    gc.freeze()


JOBS: Final = RunningJobs()
anew_in_forks(JOBS)


class _Interrupted:
    """Answers Ctrl-C: with Python's own exception while a job runs, else as Spark does.

    Args:
        spark: Spark's handler.
    """

    def __init__(self, spark: Callable[[int, FrameType | None], Any]) -> None:
        self._spark = spark

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if len(JOBS):
            JOBS.note_interrupt()
            raise KeyboardInterrupt
        self._spark(number, frame)


def take_interrupts() -> None:
    """Have Ctrl-C answered here, if Spark would answer it; only the main thread can have that."""
    if threading.current_thread() is not threading.main_thread():
        return
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler) and getattr(handler, "__module__", "").startswith("pyspark."):
        signal.signal(signal.SIGINT, _Interrupted(handler))
