"""Which set holds which windows."""

from __future__ import annotations

from typing import Any, Final

from penstock.runtime.operators.general_window import GeneralWindows
from penstock.runtime.operators.pane_window import AlignedWindows, SharedPanes
from penstock.runtime.operators.session_window import Sessions
from penstock.runtime.operators.window import WindowOperator, WindowSet
from penstock.runtime.operators.window_call import WindowCall
from penstock.runtime.operators.window_contents import TimestampedRecords, WindowContents
from penstock.runtime.windowing.assigner import WindowAssigner
from penstock.runtime.windowing.evictor import Evictor
from penstock.runtime.windowing.trigger import Trigger

_KINDS: Final[tuple[type[WindowSet], ...]] = (SharedPanes, AlignedWindows, Sessions, GeneralWindows)
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
    windows = next(it for it in _KINDS if it.can_run(assigner, trigger, contents, call))
    return WindowOperator(assigner, trigger, contents, call, windows=windows, **options)
