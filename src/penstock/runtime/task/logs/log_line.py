"""A line of the log on its way from the process of a task to the driver."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final

from penstock.runtime.task_place import TaskPlace

_LONGEST: Final = 10_000
_SHORT: Final = 1_000
_STANDARD: Final = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
_TEXTS: Final = logging.Formatter()
_WHOLE: Final = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
_PLAIN: Final = (str, int, float, bool, type(None))

WARNINGS: Final = "py.warnings"
"""The logger that Python gives warnings to, where it logs them."""


@dataclass(frozen=True)
class LogLine:
    """A line of the log, in a form that survives pickling and is not too long.

    Attributes:
        attributes: What its record has, but for what needs the process it was made in.
        place: Who logged it; None where nobody knows.
        warning: Of a Python warning, the names of its class's module and of the class.
    """

    attributes: dict[str, Any]
    place: TaskPlace | None = None
    warning: tuple[str, str] | None = None

    @property
    def logger(self) -> str:
        """The name of the logger."""
        return self.attributes["name"]  # type: ignore[no-any-return]

    @property
    def level(self) -> int:
        """Its level, as a number."""
        return self.attributes["levelno"]  # type: ignore[no-any-return]

    @property
    def created(self) -> float:
        """When it was logged, in seconds since 1970."""
        return self.attributes["created"]  # type: ignore[no-any-return]

    def made(self) -> LogLine:
        """Return the line: itself."""
        return self

    @property
    def size(self) -> int:
        """About how many characters it has."""
        texts = (self.attributes.get(name) for name in ("msg", "exc_text", "stack_info"))
        return sum(len(text) for text in texts if text)

    @classmethod
    def of(
        cls,
        record: logging.LogRecord,
        place: TaskPlace | None,
        warning: tuple[str, str] | None = None,
    ) -> LogLine:
        """Return the line that a record is: arguments that are more than numbers and text become text."""
        attributes = dict(vars(record))
        for name in attributes.keys() - _STANDARD:
            attributes[name] = _portable(attributes[name])
        text, is_whole = _message_of(record)
        can_travel = isinstance(record.msg, str) and _is_plain(record.args)
        if not (can_travel and is_whole and len(text) <= _LONGEST):
            attributes.update(msg=_cut(text), args=None)
        attributes["exc_text"] = _exception_of(record)
        attributes["exc_info"] = None
        attributes["stack_info"] = _cut(record.stack_info or "") or None
        attributes.pop("message", None)
        attributes.pop("asctime", None)
        return cls(attributes, None if place is None else place.copied(), warning)

    def __str__(self) -> str:
        """Return it as workers write it to their own standard error."""
        record = logging.makeLogRecord(self.attributes)
        if self.place is not None:
            record.msg, record.args = told_with_place(record.getMessage(), self.place), None
        return _WHOLE.format(record)


class WaitingLine:
    """A line that is made when somebody wants to see it: of a flood nearly all are only counted.

    Args:
        record: The record, of which `can_wait` is true.
        place: Who logged it; None where nobody knows.
    """

    __slots__ = ("_place", "_record")

    def __init__(self, record: logging.LogRecord, place: TaskPlace | None) -> None:
        self._record = record
        self._place = None if place is None else place.copied()

    @staticmethod
    def can_wait(record: logging.LogRecord) -> bool:
        """Whether a record says the same later, and takes little memory until then."""
        return (
            not record.exc_info
            and not record.stack_info
            and type(record.msg) is str
            and _is_plain(record.args)
            and _is_short(record)
            and _STANDARD.issuperset(vars(record))
        )

    @property
    def logger(self) -> str:
        """The name of the logger."""
        return self._record.name

    @property
    def level(self) -> int:
        """Its level, as a number."""
        return self._record.levelno

    def made(self) -> LogLine:
        """Return the line."""
        return LogLine.of(self._record, self._place)


def told_with_place(message: str, place: object) -> str:
    """Return a message as it is shown where nothing else says who logged it."""
    return f"[{place}] {message}"


def _message_of(record: logging.LogRecord) -> tuple[str, bool]:
    """Return the message of a record, and whether its arguments fit: if not, that is no reason to fail."""
    try:
        return record.getMessage(), True
    except Exception as error:  # noqa: BLE001 - arguments may raise whatever they like
        return f"{record.msg} (its arguments cannot be shown: {type(error).__name__})", False


def _exception_of(record: logging.LogRecord) -> str | None:
    text = record.exc_text
    if not text and record.exc_info and record.exc_info[0] is not None:
        text = _TEXTS.formatException(record.exc_info)
    return _cut(text) if text else None


def _cut(text: str) -> str:
    """Return a text that is not too long: of a longer one its two ends, where tracebacks say most."""
    if len(text) <= _LONGEST:
        return text
    left_out = len(text) - _LONGEST
    half = _LONGEST // 2
    return f"{text[:half]} … {left_out:,} characters left out … {text[-half:]}"


def _is_plain(args: Any) -> bool:
    values = args.values() if isinstance(args, dict) else args or ()
    return all(type(value) in _PLAIN for value in values)


def _is_short(record: logging.LogRecord) -> bool:
    args = record.args
    texts = [record.msg, *(args.values() if isinstance(args, dict) else args or ())]
    return sum(len(text) for text in texts if isinstance(text, str)) <= _SHORT


def _portable(value: Any) -> Any:
    """Return a value that any process can unpickle: one of plain data as it is, all else as text."""
    if type(value) in _PLAIN:
        return _cut(value) if isinstance(value, str) else value
    if type(value) in (list, tuple):
        return type(value)(map(_portable, value))
    if type(value) is dict and all(type(key) in _PLAIN for key in value):
        return {key: _portable(item) for key, item in value.items()}
    try:
        return _cut(str(value))
    except Exception as error:  # noqa: BLE001 - it is the user's code
        return f"<{type(value).__name__} that raises {type(error).__name__} as it is shown>"
