"""The last lines of this process's log, for a job's page: never more than so many, however much is logged."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from penstock.common.configuration.secrets import without_secrets

LOGGER: Final = "penstock"
"""The logger of the engine; those below it are its own as well."""

OF_TASK: Final = "task"
"""What a record has beside its usual attributes if a task logged it: which one, in words."""

CLIENT_TELLS: Final = "client_tells"
"""What a record has beside its usual attributes if a client that is elsewhere logs the same by itself."""

_EXCEPTIONS: Final = logging.Formatter()


class _Line(NamedTuple):
    """A line: see `RecentLog.lines`."""

    job_id: str | None
    number: int
    at: int
    level: str
    logger: str
    message: str
    operator: str | None
    subtask: int | None
    epoch: int | None

    def shown(self) -> dict[str, Any]:
        found = self._asdict()
        del found["job_id"]
        return {**found, "message": without_secrets(self.message)}


class RecentLog:
    """The last lines that were logged, oldest first. Any thread may add lines, and read them.

    Args:
        most_lines: How many lines are kept.
        most_characters: How many characters their messages may have together.
        longest: How many characters of one message are kept.
    """

    def __init__(
        self, most_lines: int = 2_000, most_characters: int = 1_000_000, longest: int = 10_000
    ) -> None:
        self._most_lines = most_lines
        self._most_characters = most_characters
        self._longest = min(longest, most_characters)
        self._lines: deque[_Line] = deque()
        self._characters = 0
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def add(
        self,
        record: logging.LogRecord,
        text: str | None = None,
        *,
        job_id: str | None = None,
        operator: str | None = None,
        subtask: int | None = None,
        epoch: int | None = None,
    ) -> None:
        """Add a line.

        Args:
            record: What was logged.
            text: Its message. Default: what the record says itself.
            job_id: The job that logged it. Default: none, so that it is shown for all of them.
            operator: The operator whose function logged it. Default: none did.
            subtask: The index of its subtask.
            epoch: The number of the epoch.
        """
        message = self._cut(_text_of(record, text))
        at, level, logger = int(record.created * 1000), record.levelname, record.name
        with self._lock:
            number = next(self._numbers)
            self._lines.append(
                _Line(job_id, number, at, level, logger, message, operator, subtask, epoch)
            )
            self._characters += len(message)
            while len(self._lines) > self._most_lines or self._characters > self._most_characters:
                self._characters -= len(self._lines.popleft().message)

    def _cut(self, message: str) -> str:
        if len(message) <= self._longest:
            return message
        return message[: self._longest - 1] + "…"

    def lines(self, after: int = 0, *, job_id: str | None = None) -> list[dict[str, Any]]:
        """Return the lines that are still here, oldest first.

        Args:
            after: The number of the last line that is known already. Default: none is.
            job_id: Whose lines; those of no job are among them. Default: those of all jobs.

        Returns:
            For each line `number` (they grow, with gaps), `at` (milliseconds since 1970), `level`, `logger`,
            `message` (with the traceback, if there is one), `operator`, `subtask` and `epoch`; the last three
            are None of what no function logged. Secrets that are known as such are not in the messages.
        """
        with self._lock:
            # Whoever asks again and again knows nearly all of them.
            newest_first = reversed(self._lines)
            found = list(itertools.takewhile(lambda line: line.number > after, newest_first))
        return [
            line.shown()
            for line in reversed(found)
            if job_id is None or line.job_id in (None, job_id)
        ]

    def listen(self) -> None:
        """Take part in what the engine itself logs from now on.

        By filters that let everything pass: with a handler, Python would no longer show warnings to users
        who have not configured any.
        """
        for logger in own_loggers():
            logger.addFilter(self._filter)

    def _filter(self, record: logging.LogRecord) -> bool:
        # What tasks log is added with its place.
        if not hasattr(record, OF_TASK):
            self.add(record)
        return True


def own_loggers() -> Iterator[logging.Logger]:
    """Yield the loggers of the engine that there are by now."""
    known = list(logging.root.manager.loggerDict)
    for name in {LOGGER, *(name for name in known if name.startswith(f"{LOGGER}."))}:
        yield logging.getLogger(name)


def _text_of(record: logging.LogRecord, text: str | None) -> str:
    """Return the message, with traceback and stack; that something is wrong with it is no reason to fail."""
    try:
        text = record.getMessage() if text is None else text
    except Exception as error:  # noqa: BLE001 - arguments may raise whatever they like
        text = f"{record.msg} (its arguments cannot be shown: {type(error).__name__})"
    if record.exc_text:
        return f"{text}\n{record.exc_text}"
    if record.exc_info and record.exc_info[0] is not None:
        text += f"\n{_EXCEPTIONS.formatException(record.exc_info)}"
    return text if not record.stack_info else f"{text}\n{record.stack_info}"


RECENT_LOG: Final = RecentLog()
"""The last lines of this process."""
