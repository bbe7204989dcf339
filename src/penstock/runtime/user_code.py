"""Calling the user's functions, and telling the user what went wrong in them."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, UserFunctionError
from penstock.runtime.elements import Block

if TYPE_CHECKING:
    from penstock.runtime.context import RuntimeContext

_HERE = __name__.partition(".")[0]
_RECORD_LENGTH = 500


class UserFunction:
    """A function of the user: a plain callable, or an object with `open`, `close` and a method.

    Args:
        function: The callable or object.
        method: The name of the method that is called if it has one of that name.

    Attributes:
        call: What to call for a record.
    """

    def __init__(self, function: Any, method: str) -> None:
        self.function = function
        self.method = method

    @property
    def call(self) -> Callable[..., Any]:
        """What to call for a record."""
        found = getattr(self.function, self.method, None)
        return found if callable(found) else self.function  # type: ignore[no-any-return]

    def open(self, context: RuntimeContext) -> None:
        """Call the function's own `open`, if it has one."""
        if self._has("open"):
            self.function.open(context)

    def close(self) -> None:
        """Call the function's own `close`, if it has one."""
        if self._has("close"):
            self.function.close()

    def _has(self, name: str) -> bool:
        return not inspect.isroutine(self.function) and callable(getattr(self.function, name, None))


def failing_record(block: Block, rest: Iterator[Any]) -> str | None:
    """Return the text of the record last taken from `rest`, a list iterator over a block's values.

    The iterator knows how much is left, so that finding the record costs nothing until one fails.
    """
    index = len(block.values) - rest.__length_hint__() - 1  # type: ignore[attr-defined]
    return record_text(block.values[index]) if 0 <= index < len(block.values) else None


def record_text(value: Any) -> str:
    """Return the text of a record for a message: its `repr`, shortened."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a repr may raise anything
        text = f"<a {type(value).__qualname__} whose repr raised {error!r}>"
    return text if len(text) <= _RECORD_LENGTH else text[: _RECORD_LENGTH - 3] + "..."


def function_failure(error: Exception, operator: str, record: str | None) -> PenstockError:
    """Turn what a user's function raised into the error the user is shown.

    An error that is already penstock's own comes from further down the chain: it passes as it is.
    """
    if isinstance(error, PenstockError):
        return error
    what = None if record is None else f"the record {record}"
    return described_failure(error, operator, what, record)


def described_failure(
    error: Exception, operator: str, what: str | None, record: str | None = None
) -> PenstockError:
    """As `function_failure`, for what need not be a record."""
    if isinstance(error, PenstockError):
        return error
    text = "".join(
        traceback.format_exception(type(error), error, _users_frames(error.__traceback__))
    )
    where = f"Operator {operator!r} failed"
    where += "." if what is None else f" on {what}"
    failure = UserFunctionError(
        f"{text}\n{where}",
        hint="The traceback above is your function's own. Mend it there, or catch the exception "
        "and send the record to a side output.",
    )
    failure.operator = operator
    failure.record = record
    return failure


def _users_frames(frames: TracebackType | None) -> TracebackType | None:
    """Return the traceback from the user's first frame on; the whole if there is none."""
    found = frames
    while found is not None and _is_own(found):
        found = found.tb_next
    return found or frames


def _is_own(frame: TracebackType) -> bool:
    module = frame.tb_frame.f_globals.get("__name__", "")
    return bool(module == _HERE or module.startswith(_HERE + "."))
