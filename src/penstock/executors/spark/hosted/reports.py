"""What the driver's side of a job leaves at the checkpoint location for its client."""

from __future__ import annotations

import base64
import pickle
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from penstock.checkpoint.storage import Storage
from penstock.common.job_status import JobStatus
from penstock.common.running_job import JobProgress
from penstock.errors import JobFailedError, PenstockError
from penstock.executors.driver.epoch_feed import EpochResult, News
from penstock.executors.driver.recovery.restarts import Restart
from penstock.executors.driver.reports.job_view import JobView
from penstock.runtime.job_pickle import dump_code, load_code

REPORTS: Final = "reports"
"""The folder of what drivers report."""
REQUESTS: Final = "requests"
"""The folder of what clients ask of them."""
_SECONDS_BETWEEN: Final = 0.3
_SECONDS_IDLE: Final = 1.0
_BEATS_A_REPORT: Final = 10
"""Signs of life between two reports without news: how many records come in a second changes by itself."""
_MOST: Final = 300
_MOST_BYTES: Final = 256 << 20
"""Of the reports that are kept, but for the latest: results may be large, and what functions raise, too."""
_IDLE: Final = ".idle"
END: Final = ".end"
_TOLD: Final = re.compile(r"<penstock:([A-Za-z0-9+/=]+)>")


@dataclass(frozen=True)
class Answer:
    """What a client's request came to.

    Attributes:
        found: What was asked for.
        error: What it failed with; None if it did not.
    """

    found: Any = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Report:
    """What has happened since the report before.

    Attributes:
        news: What a client hears of.
        progress: How far the job has come.
        view: The job as it is seen.
        answers: What requests came to, by their ids.
        status: How the job has ended; None if it has not.
        error: What it failed with; None if it did not.
    """

    news: Sequence[News] = ()
    progress: JobProgress = field(default_factory=lambda: JobProgress(JobStatus.CREATED))
    view: JobView | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    status: JobStatus | None = None
    error: BaseException | None = None


class ReportName(NamedTuple):
    """What the name of a report says.

    Attributes:
        number: Its number, from 0.
        beat: Of a mere sign of life, in which there is nothing, the number among those before that report; None for a report.
        is_end: Whether none follows.
    """

    number: int
    beat: int | None = None
    is_end: bool = False

    def __str__(self) -> str:
        beat = "" if self.beat is None else f".{self.beat}{_IDLE}"
        return f"{self.number:08d}{beat}{END if self.is_end else ''}"

    @classmethod
    def of(cls, text: str) -> ReportName | None:
        """Return what a file's name says; None if it is no report's."""
        number, *more = text.split(".")
        if not number.isdecimal():
            return None
        beat = int(more[0]) if more and more[0].isdecimal() else None
        return cls(int(number), beat, text.endswith(END))


def portable(error: BaseException) -> BaseException:
    """Return an error that can be read where its class may not be known."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - pickling runs the user's code
        return JobFailedError(f"{type(error).__name__}: {error}")
    return error


def in_text(error: BaseException) -> str:
    """Return a text that says what an error is, for where there is no place to report it."""
    pickled = base64.b64encode(pickle.dumps(portable(error))).decode("ascii")
    return f"{type(error).__name__}: {error}\n<penstock:{pickled}>"


def told_in(text: str, read: Callable[[bytes], Any]) -> PenstockError | None:
    """Return the error that is in a text; None if there is none.

    Args:
        text: The text, in which there may be records, too.
        read: Makes an error of a pickle that somebody else may have written.
    """
    found = _TOLD.findall(text)
    error = read(base64.b64decode(found[-1])) if found else None
    return error if isinstance(error, PenstockError) else None


class ReportWriter:
    """Writes reports, as often as a client may want to read one.

    Args:
        storage: The job's storage.
        folder: The folder of the reports of this driver.
        look: Returns how far the job has come, and how it is seen.
    """

    def __init__(
        self, storage: Storage, folder: str, look: Callable[[], tuple[JobProgress, JobView]]
    ) -> None:
        self._storage = storage
        self._folder = folder
        self._look = look
        self._lock = threading.Lock()
        self._news: list[News] = []
        self._answers: dict[str, Answer] = {}
        self._unwritten: bytes | None = None
        self._told: deque[tuple[str, int]] = deque()
        self._bytes = 0
        self._sign: ReportName | None = None
        self._beats = self._beats_since = 0
        self._next = 0
        self._at = -_SECONDS_IDLE
        self._has_begun = False

    def hear(self, news: News) -> None:
        """Take note of what the client is to hear of."""
        if isinstance(news, Restart):
            error = portable(news.error)
            news = replace(news, error=error if isinstance(error, Exception) else news.error)
        with self._lock:
            self._news.append(news)

    def answer(self, request: str, answer: Answer) -> None:
        """Take note of what a request came to."""
        if answer.error is not None:
            answer = replace(answer, error=portable(answer.error))
        with self._lock:
            self._answers[request] = answer

    def write(self) -> None:
        """Write a report, if one is due.

        Raises:
            OSError: If it cannot be written; then another call does it.
        """
        since = time.monotonic() - self._at
        with self._lock:
            has_news = bool(self._news or self._answers or self._unwritten) or not self._has_begun
        is_due = has_news or self._beats_since >= _BEATS_A_REPORT
        if since < (_SECONDS_BETWEEN if has_news else _SECONDS_IDLE):
            return
        self._has_begun = True
        if is_due:
            self._beats_since = 0
            self._unwritten = self._unwritten or _pickled(self._report())
            self._write(ReportName(self._next), self._unwritten)
        else:
            self._beat()

    def _report(self) -> Report:
        with self._lock:
            news, self._news = self._news, []
            answers, self._answers = self._answers, {}
        progress, view = self._look()
        if progress.last_error is not None:
            progress = replace(progress, last_error=portable(progress.last_error))
        return Report(tuple(news), progress, view, answers)

    def end(self, status: JobStatus, error: BaseException | None) -> None:
        """Write the last report.

        Raises:
            OSError: If it cannot be written.
        """
        if self._unwritten is not None:
            self._write(ReportName(self._next), self._unwritten)
        found = None if error is None else portable(error)
        last = replace(self._report(), status=status, error=found)
        self._write(ReportName(self._next, is_end=True), _pickled(last))

    def _write(self, name: ReportName, content: bytes) -> None:
        self._put(name, [content])
        self._unwritten = None
        self._told.append((f"{self._folder}/{name}", len(content)))
        self._bytes += len(content)
        self._next += 1
        while len(self._told) > _MOST or (self._bytes > _MOST_BYTES and len(self._told) > 1):
            oldest, size = self._told.popleft()
            self._bytes -= size
            self._storage.delete([oldest])

    def _beat(self) -> None:
        self._beats += 1
        self._beats_since += 1
        sign = ReportName(self._next, self._beats)
        self._put(sign, [])
        before, self._sign = self._sign, sign
        if before is not None:
            self._storage.delete([f"{self._folder}/{before}"])

    def _put(self, name: ReportName, content: list[bytes]) -> None:
        self._at = time.monotonic()
        self._storage.write(f"{self._folder}/{name}", content)


def _pickled(report: Report) -> bytes:
    try:
        return pickle.dumps(report, pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001 - pickling runs the user's code
        news = tuple(map(_with_code, report.news))
        return pickle.dumps(replace(report, news=news), pickle.HIGHEST_PROTOCOL)


def _with_code(news: News) -> News:
    """Return news whose results bring along what cannot be imported, such as a class that is in a function."""
    if not isinstance(news, EpochResult):
        return news
    collected: Any = [(collect_id, _WithCode(values)) for collect_id, values in news.collected]
    return replace(news, collected=collected)


class _WithCode:
    """Is pickled together with its code, and read as what it was made of.

    Args:
        values: What that is.
    """

    def __init__(self, values: Any) -> None:
        self._values = values

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return load_code, (dump_code(self._values),)
