"""Calling the user's functions, and telling the user what went wrong in them."""

from __future__ import annotations

import contextlib
import copy
import inspect
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import (
    PenstockError,
    StateClassNotFoundError,
    UnknownFieldError,
    UserFunctionError,
)
from penstock.runtime.exchange.elements import Block

if TYPE_CHECKING:
    from penstock.runtime.context import RuntimeContext

_HERE = __name__.partition(".")[0]
_RECORD_LENGTH = 500
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})

FAILURES = (Exception, SystemExit)
"""What a function of the user may end a task with; all else is for the process."""

_TRACEBACK_HINT = "The traceback above is your function's own. Fix it there"
_DIVERTING_HINT = f"{_TRACEBACK_HINT}, or catch the exception and send the record to a side output."
_RECORD_HINT = (
    f"{_TRACEBACK_HINT}, or keep such records away from it: a filter() before it drops them, a process() "
    "before it can send them to a side output."
)
_LIFE_HINT = "The traceback above is your function's own. It has no record: it was opened or closed, or it reads a source."
_RESULT_HINT = (
    "Nothing of your function's own Python code raised this: it is not written in Python, or what it "
    "returned cannot be used in its place. See its documentation."
)
_ITERABLE_HINT = (
    "A function that may have any number of results returns them in an iterable, such as a list, or "
    "yields them; None stands for no result."
)


class UserFunction:
    """A function of the user: a plain callable, or an object with `open`, `close` and a method.

    Args:
        function: The callable or object.
        method: The name of the method that is called if it has one of that name.

    Attributes:
        shows_calls: Whether a thread that samples what is done can tell when a call has returned.
    """

    shows_calls = False

    def __init__(self, function: Any, method: str) -> None:
        self.function = function
        self.method = method

    @property
    def call(self) -> Callable[..., Any]:
        """What to call for a record."""
        # Python lets another thread in when a function begins, and when one that is not Python's own has
        # returned, but not when one of its own has: its time would be counted for what follows.
        return partial(self.plain_call) if self.shows_calls else self.plain_call

    @property
    def plain_call(self) -> Callable[..., Any]:
        """What to call for a record where samples can tell calls by other means."""
        found = getattr(self.function, self.method, None)
        return found if callable(found) else self.function  # type: ignore[no-any-return]

    def open(self, context: RuntimeContext) -> None:
        """Call the function's own `open`, if it has one."""
        if (found := self.method_named("open")) is not None:
            found(context)

    def close(self) -> None:
        """Call the function's own `close`, if it has one."""
        if (found := self.method_named("close")) is not None:
            found()

    def method_named(self, name: str) -> Callable[..., Any] | None:
        """Return a method of the function, if it is an object that has one of that name."""
        if inspect.isroutine(self.function) or inspect.isclass(self.function):
            return None
        found = getattr(self.function, name, None)
        return found if callable(found) else None


_Method = TypeVar("_Method", bound=Callable[..., Any])


def does_nothing(method: _Method) -> _Method:
    """Mark a method of a base class that is there to be overridden, and does nothing."""
    method.does_nothing = True  # type: ignore[attr-defined] # functions take attributes, callables need not
    return method


def timer_callback(function: Any) -> Callable[..., Iterable[Any] | None] | None:
    """Return the `on_timer` of a function; None if it has none that does anything."""
    found = getattr(function, "on_timer", None)
    return None if getattr(found, "does_nothing", False) else found


def stack_level_of_user() -> int:
    """Return the `stacklevel` with which a warning names the first line that is not penstock's."""
    frame = inspect.currentframe()
    level = 0
    while frame is not None and _is_of_package(frame):
        frame = frame.f_back
        level += 1
    return level


@dataclass(frozen=True)
class UserLine:
    """The line of the user's that is running, to be named by a warning that another thread gives later.

    Attributes:
        file: The file.
        number: The line in it.
        module: The module.
    """

    file: str
    number: int
    module: str

    @classmethod
    def here(cls) -> UserLine:
        """Return the first line on the stack that is not penstock's."""
        for frame, number in traceback.walk_stack(inspect.currentframe()):
            found = cls(frame.f_code.co_filename, number, frame.f_globals.get("__name__", ""))
            if not _is_of_package(frame):
                break
        return found

    def warn(self, warning: Warning) -> None:
        """Warn of what has to do with this line."""
        warnings.warn_explicit(warning, type(warning), self.file, self.number, self.module)


def failing_record(block: Block, rest: Iterator[Any]) -> str | None:
    """Return the text of the record last taken from `rest`, a list iterator over a block's values.

    The iterator knows how much is left, so that finding the record costs nothing until one fails.
    """
    index = len(block.values) - rest.__length_hint__() - 1  # type: ignore[attr-defined]
    return record_text(block.values[index]) if 0 <= index < len(block.values) else None


def check_complete(results: Sized, block: Block) -> None:
    """Make sure that there is a result for each record of a block.

    `map` takes a StopIteration that the user's function raises for the end of the records.

    Raises:
        RuntimeError: If there is not.
    """
    if len(results) != len(block.values):
        raise RuntimeError("the function raised StopIteration")


def record_text(value: Any) -> str:
    """Return the text of a record for a message: its `repr`, shortened."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a repr may raise anything
        text = f"<a {type(value).__qualname__} whose repr raised {error!r}>"
    return text if len(text) <= _RECORD_LENGTH else text[: _RECORD_LENGTH - 3] + "..."


def function_failure(
    error: BaseException,
    operator: str,
    record: str | None,
    *,
    part: str = "Operator",
    can_divert: bool = False,
) -> PenstockError:
    """Turn what a user's function raised into the error the user is shown.

    An error of penstock's own that comes from further down the chain passes as it is; one that the user's
    function met, as for a field that a row does not have, stays of its class, and is told where.

    Args:
        error: What it raised.
        operator: The name of the operator.
        record: The text of the record; None if there is none.
        part: What of the program failed, if that is not the operator itself.
        can_divert: Whether the function can send a record to a side output.
    """
    what = None if record is None else f"the record {record}"
    return described_failure(error, operator, what, record, part=part, can_divert=can_divert)


def described_failure(
    error: BaseException,
    operator: str,
    what: str | None,
    record: str | None = None,
    *,
    part: str = "Operator",
    can_divert: bool = False,
) -> PenstockError:
    """As `function_failure`, for what need not be a record."""
    frames = _users_frames(error.__traceback__)
    if isinstance(error, StateClassNotFoundError):
        return with_operator(error, operator)
    where = f"{part} {operator!r} failed"
    where += "." if what is None else f" on {what}"
    if isinstance(error, PenstockError):
        # A row does not know who asked it for a field.
        is_of_engine = frames is None and not isinstance(error, UnknownFieldError)
        is_told = isinstance(error, UserFunctionError) or error.operator or is_of_engine
        return error if is_told else _placed(error, frames, operator, record, where)
    # Without frames of the user's it was the result that failed, not the function.
    lines = (
        traceback.format_exception_only(error)
        if frames is None
        else traceback.format_exception(type(error), error, frames)
    )
    hint = _hint_for_result(error)
    if frames is not None:
        hint = _LIFE_HINT if what is None else _hint_for_traceback(record, can_divert=can_divert)
    failure = UserFunctionError(f"{''.join(lines)}\n{where}", hint=hint)
    failure.operator = operator
    failure.record = record
    failure.user_traceback = "".join(lines)
    failure.user_class = _name_of(type(error))
    failure.user_line = _users_line(traceback.extract_tb(frames))
    return failure


def _name_of(cls: type[BaseException]) -> str:
    """Return the name of a class of exceptions as tracebacks have it."""
    is_known = cls.__module__ in {"builtins", "__main__"}
    return cls.__qualname__ if is_known else f"{cls.__module__}.{cls.__qualname__}"


def _placed(
    error: PenstockError,
    frames: TracebackType | None,
    operator: str,
    record: str | None,
    where: str,
) -> PenstockError:
    """Return one of penstock's own errors that a function of the user met, with the function's lines."""
    entries = zip(traceback.extract_tb(frames), traceback.walk_tb(frames), strict=True)
    own = [entry for entry, (frame, _) in entries if not _is_of_package(frame)]
    lines = "".join(traceback.format_list(own))
    placed = copy.copy(error)
    placed.message = f"{error.message}\n\n{lines}{where}"
    placed.args = (
        placed.message if error.hint is None else f"{placed.message}\n\nHint: {error.hint}",
    )
    placed.operator = operator
    placed.record = record
    placed.user_traceback = f"{lines}{type(error).__name__}: {error.message}\n"
    placed.user_line = _users_line(own)
    return placed


def _hint_for_traceback(record: str | None, *, can_divert: bool) -> str:
    if record is None:
        return f"{_TRACEBACK_HINT}."
    return _DIVERTING_HINT if can_divert else _RECORD_HINT


@contextlib.contextmanager
def naming_operator(name: str) -> Iterator[None]:
    """Let a class that is missing in what an operator kept be told with the operator's name."""
    try:
        yield
    except StateClassNotFoundError as error:
        raise with_operator(error, name) from error


def with_operator(error: StateClassNotFoundError, operator: str) -> StateClassNotFoundError:
    """Return the error with the name of the operator whose state it is about, if it has none yet."""
    if error.operator is not None:
        return error
    named = StateClassNotFoundError(f"Operator {operator!r}: {error.message}", hint=error.hint)
    named.operator = operator
    return named


def _hint_for_result(error: BaseException) -> str:
    is_single = isinstance(error, TypeError) and "not iterable" in str(error)
    return _ITERABLE_HINT if is_single else _RESULT_HINT


def _users_frames(frames: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the user's first frame on; None if there is none."""
    while frames is not None and _is_of_package(frames.tb_frame):
        frames = frames.tb_next
    return frames


def _users_line(entries: Sequence[traceback.FrameSummary]) -> str | None:
    """Return the innermost line that is in no library, as `rides.py:14 in fare`; else the innermost."""
    own = [entry for entry in entries if not entry.filename.startswith(_LIBRARIES)]
    entry = next(reversed(own or entries), None)
    return None if entry is None else f"{entry.filename}:{entry.lineno} in {entry.name}"


def _is_of_package(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__", "")
    return bool(module == _HERE or module.startswith(_HERE + "."))
