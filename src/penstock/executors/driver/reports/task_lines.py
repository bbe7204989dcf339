"""What functions log, in the log of this process: with the operator, its subtask and the epoch."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from penstock.executors.driver.reports.recent_log import OF_TASK, RECENT_LOG
from penstock.runtime.task.logs.current_place import current_place
from penstock.runtime.task.logs.log_line import LogLine, told_with_place
from penstock.runtime.task_place import TaskPlace

_OF_PLACE: Final = ("operator", "subtask", "epoch", OF_TASK)


@dataclass(frozen=True)
class TaskLines:
    """What the tasks of an epoch logged.

    Attributes:
        lines: The lines, in the order in which they were logged.
        has_failed: Whether the epoch has failed, so that it is run again, or the job ends with it.
    """

    lines: Sequence[LogLine]
    has_failed: bool = False


class TaskLog:
    """Gives what tasks of a job log in other processes to the loggers of this one."""

    def __init__(self) -> None:
        self._warned: set[tuple[Any, ...]] = set()
        self._errors = HandlerErrors()

    def show(self, told: TaskLines) -> None:
        """Have lines handled as if they were logged here, by loggers of the same names."""
        for line in told.lines:
            if line.warning is not None:
                self._warn(line, *line.warning)
            else:
                self._handle(line, has_failed=told.has_failed)

    def _warn(self, line: LogLine, module: str, name: str) -> None:
        """Warn of what a function was warned of, once for all its subtasks."""
        text = line.attributes["msg"]
        operator = None if line.place is None else line.place.operator
        path, number = line.attributes["pathname"], line.attributes["lineno"]
        if (key := (operator, text, path, number)) in self._warned:
            return
        self._warned.add(key)
        text = text if operator is None else f"{text} (in operator {operator!r})"
        try:
            # The worker has looked at its filters, so only what is said here of modules may still be wrong.
            warnings.warn_explicit(
                text, _class_of(module, name), path, number, module=_module_at(path)
            )
        except Warning:
            # A filter has made an error of it, but nobody here could catch that.
            self._handle(line, has_failed=False)

    def _handle(self, line: LogLine, *, has_failed: bool) -> None:
        logger = logging.getLogger(line.logger)
        if not logger.isEnabledFor(line.level):
            return
        place = line.place
        record = _record_of(line)
        shown = attributes_of(place, has_failed=has_failed)
        for name, value in shown.items():
            vars(record).setdefault(name, value)
        if place is None:
            RECENT_LOG.add(record)
        else:
            _note(record, place)
            if not logger.hasHandlers():
                record.msg, record.args = told_with_place(record.getMessage(), shown[OF_TASK]), None
        try:
            logger.handle(record)
        except Exception as error:  # noqa: BLE001 - it is the user's code
            self._errors.tell(error, record)


class HandlerErrors:
    """Tells on standard error what filters and handlers of the log raise, which is no reason to fail a job."""

    def __init__(self) -> None:
        self._told: set[tuple[object, ...]] = set()
        self._handler = logging.Handler()

    def tell(self, error: Exception, record: logging.LogRecord) -> None:
        """Tell what one raised that was given a line; the same is told once."""
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        if (key := (type(error), frame.f_code, line)) not in self._told:
            self._told.add(key)
            self._handler.handleError(record)


def _class_of(module: str, name: str) -> type[Warning]:
    """Return a class of warnings; one that only workers know becomes the usual one."""
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) and issubclass(found, Warning) else UserWarning


def _module_at(path: str) -> str:
    """Return what filters know the module at a path by, as Python does that knows no more."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return "__main__" if path == main else path.removesuffix(".py")


def _record_of(line: LogLine) -> logging.LogRecord:
    """Return a record as this process makes them, with all that the worker's had."""
    told = line.attributes
    record = logging.getLogRecordFactory()(
        *(told[name] for name in ("name", "levelno", "pathname", "lineno", "msg")), None, None
    )
    vars(record).update(told)
    own_name = logging.getLevelName(line.level)
    record.levelname = record.levelname if own_name == f"Level {line.level}" else own_name
    return record


def _note(record: logging.LogRecord, place: TaskPlace, text: str | None = None) -> None:
    RECENT_LOG.add(
        record,
        text,
        job_id=place.job_id,
        operator=place.operator,
        subtask=place.subtask,
        epoch=place.epoch,
    )


def attributes_of(place: TaskPlace | None, *, has_failed: bool = False) -> dict[str, Any]:
    """Return what a record has beside its usual attributes."""
    if place is None:
        return dict.fromkeys(_OF_PLACE)
    place_now = (place.operator, place.subtask, place.parallelism, place.epoch)
    return {**_attributes_at(*place_now, has_failed=has_failed)}


@lru_cache(maxsize=256)
def _attributes_at(
    operator: str | None, subtask: int | None, parallelism: int, epoch: int | None, has_failed: bool
) -> Mapping[str, Any]:
    failed = ", which failed" if has_failed else ""
    place = TaskPlace(None, operator, subtask, parallelism, epoch)
    return dict(zip(_OF_PLACE, (operator, subtask, epoch, f"{place}{failed}"), strict=True))


class TaskLogRecord(logging.LogRecord):
    """A record of what a function logs in this process.

    What it has more than others it has from the moment on that somebody wants to show it: a function may
    itself have given it attributes of the same names, by `extra`.

    Args:
        place: Who logs it.
        args: As for any record.
    """

    __slots__ = ("_is_noted", "_place", "_tells_place")

    def __init__(self, place: TaskPlace, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._place = place
        self._is_noted = self._tells_place = False

    def __getattr__(self, name: str) -> Any:
        if name in _OF_PLACE:
            return attributes_of(self._place)[name]
        raise AttributeError(name)

    def getMessage(self) -> str:  # noqa: N802 - it is logging's name
        """Return the message; where no handler is configured, with who logged it."""
        if self._is_noted:
            text = super().getMessage()
        else:
            text = self._noted()
        return told_with_place(text, vars(self)[OF_TASK]) if self._tells_place else text

    def _noted(self) -> str:
        """Say where it is from, keep it for the job's page, and return its message."""
        self._is_noted = True
        given = vars(self).copy()
        vars(self).update(attributes_of(self._place))
        vars(self).update(given)
        self._tells_place = not logging.getLogger(self.name).hasHandlers()
        text = super().getMessage()
        _note(self, self._place, text)
        return text


class _RecordFactory:
    """Makes records as this process did before, but says of those that functions log where that was.

    Args:
        usual: What makes them else.
    """

    def __init__(self, usual: Callable[..., logging.LogRecord]) -> None:
        self.usual = usual
        self.guard = _Guard()

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        place = current_place()
        if place is not None and self.usual is logging.LogRecord:
            return TaskLogRecord(place, *args, **kwargs)
        record = self.usual(*args, **kwargs)
        if place is not None and not isinstance(record, TaskLogRecord):
            vars(record).update(attributes_of(place))
            _note(record, place)
        return record


class _Guard:
    """Keeps what filters and handlers raise from functions that log something."""

    def __init__(self) -> None:
        errors = HandlerErrors()
        self._usual = usual = logging.Logger.handle

        def handle(self: logging.Logger, record: logging.LogRecord) -> None:
            try:
                usual(self, record)
            except Exception as error:
                if not hasattr(record, OF_TASK):
                    raise
                errors.tell(error, record)

        self._own = logging.Logger.handle = handle  # type: ignore[method-assign]

    def leave(self) -> None:
        """Leave it to the program again, unless somebody else has taken it over."""
        if logging.Logger.handle is self._own:
            logging.Logger.handle = self._usual  # type: ignore[method-assign]


_LOCK: Final = threading.Lock()
_INSTALLED: Final[list[_RecordFactory]] = []
"""The same one for each job that runs."""


@contextlib.contextmanager
def places_in_records() -> Iterator[None]:
    """While functions run in this process, let what they log say where."""
    with _LOCK:
        if _INSTALLED:
            factory = _INSTALLED[0]
        else:
            factory = _RecordFactory(logging.getLogRecordFactory())
            logging.setLogRecordFactory(factory)
        _INSTALLED.append(factory)
    try:
        yield
    finally:
        with _LOCK:
            _INSTALLED.pop()
            if not _INSTALLED:
                factory.guard.leave()
            if not _INSTALLED and logging.getLogRecordFactory() is factory:
                logging.setLogRecordFactory(factory.usual)
