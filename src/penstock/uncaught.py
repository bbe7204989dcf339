"""What is shown of an error that nobody catches: the user's own lines and the message, without frames of the engine.

Set the environment variable PENSTOCK_TRACEBACK to `full` to see all frames.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

from penstock.errors import PenstockError

_PACKAGE: Final = __name__.partition(".")[0]
_LIBRARIES: Final = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_LINE: Final = "penstock_line"
_AT_INTERRUPT: Final[list[Callable[[], str | None]]] = []


class BriefHook:
    """An excepthook that shortens what it hands on to the one before.

    Args:
        before: The hook that was there.
    """

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Show an error that nobody has caught."""
        line = getattr(error, _LINE, None)
        if line is None and isinstance(error, KeyboardInterrupt):
            answers = (ask() for ask in _AT_INTERRUPT)
            line = next((answer for answer in answers if answer is not None), None)
        if line is not None:
            sys.stderr.write(line)
            return
        if isinstance(error, PenstockError) and os.environ.get("PENSTOCK_TRACEBACK") != "full":
            trace = _shorten(error)
        self._before(kind, error, trace)


def show_briefly() -> None:
    """Show errors of penstock that nobody catches without frames of the engine, from now on."""
    if not isinstance(sys.excepthook, BriefHook):
        sys.excepthook = BriefHook(sys.excepthook)


def show_as(error: BaseException, line: str) -> None:
    """Show an error, if nobody catches it, as this text and nothing else."""
    vars(error).setdefault(_LINE, line)


def at_interrupt(ask: Callable[[], str | None]) -> None:
    """Call something when Ctrl-C ends the program, which returns what is to be said then; None for nothing."""
    _AT_INTERRUPT.append(ask)


def _shorten(error: PenstockError) -> TracebackType | None:
    """Leave only the user's frames in an error, and of what it came from only errors of penstock."""
    cause = error.__cause__
    if isinstance(cause, PenstockError):
        _shorten(cause)
    else:
        error.__cause__ = None
    error.__suppress_context__ = True
    error.__traceback__ = users_part(error.__traceback__)
    return error.__traceback__


def users_part(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of the engine, and of libraries that it called."""
    kept: list[TracebackType] = []
    is_inside = False
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        is_engine = module == _PACKAGE or module.startswith(f"{_PACKAGE}.")
        is_inside = is_inside or is_engine
        is_library = trace.tb_frame.f_code.co_filename.startswith(_LIBRARIES)
        if not is_engine and not (is_inside and is_library):
            kept.append(trace)
        trace = trace.tb_next
    found = None
    for one in reversed(kept):
        found = TracebackType(found, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return found
