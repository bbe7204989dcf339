"""Which set holds which windows."""

from __future__ import annotations

from typing import Any, Final

from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.evictors import Evictor
from penstock.runtime.windows.operator.general_windows import GeneralWindows
from penstock.runtime.windows.operator.pane_windows import AlignedWindows, SharedPanes
from penstock.runtime.windows.operator.session_windows import Sessions
from penstock.runtime.windows.operator.window_call import WindowCall
from penstock.runtime.windows.operator.window_contents import TimestampedRecords, WindowContents
from penstock.runtime.windows.operator.window_operator import WindowOperator, WindowSet
from penstock.runtime.windows.triggers.trigger import Trigger

_SETS: Final[tuple[type[WindowSet], ...]] = (SharedPanes, AlignedWindows, Sessions, GeneralWindows)
"""The fastest first; the last can run all windows."""


def window_operator(
    assigner: WindowAssigner[Any, Any],
    trigger: Trigger[Any, Any],
    contents: WindowContents,
    call: WindowCall,
    *,
    evictor: Evictor[Any, Any] | None = None,
    **options: Any,
) -> WindowOperator:
    """Return a `WindowOperator` whose windows are in the fastest set that can run them."""
    if evictor is not None:
        contents = TimestampedRecords(contents, evictor)
    windows = next(it for it in _SETS if it.can_run(assigner, trigger, contents, call))
    return WindowOperator(assigner, trigger, contents, call, windows=windows, **options)
