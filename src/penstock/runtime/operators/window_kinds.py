"""Which operator runs which windows."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.aligned_window import AlignedWindowOperator
from penstock.runtime.operators.evicting_window import (
    EvictingMergingWindowOperator,
    EvictingWindowOperator,
)
from penstock.runtime.operators.merging_window import MergingWindowOperator
from penstock.runtime.operators.pane_window import PaneWindowOperator, can_share_panes
from penstock.runtime.operators.session_contents import can_keep
from penstock.runtime.operators.session_window import SessionWindowOperator
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.operators.window_call import WindowCall
from penstock.runtime.operators.window_contents import WindowContents
from penstock.runtime.windowing.assigner import MergingWindowAssigner, WindowAssigner
from penstock.runtime.windowing.evictor import Evictor
from penstock.runtime.windowing.session import EventTimeSessionWindows
from penstock.runtime.windowing.sliding import SlidingEventTimeWindows
from penstock.runtime.windowing.stagger import WindowStagger
from penstock.runtime.windowing.time_triggers import EventTimeTrigger
from penstock.runtime.windowing.trigger import Trigger
from penstock.runtime.windowing.tumbling import TumblingEventTimeWindows


def window_operator(
    assigner: WindowAssigner[Any, Any],
    trigger: Trigger[Any, Any],
    contents: WindowContents,
    call: WindowCall,
    *,
    evictor: Evictor[Any, Any] | None = None,
    **options: Any,
) -> WindowOperator:
    """Return the operator that runs windows: the fastest that can.

    Args:
        assigner: Says which windows a record belongs to.
        trigger: Says when a window fires.
        contents: Says how the records of a window are kept.
        call: Calls the function.
        evictor: Takes records out of windows; None for no evictor.
        **options: See `WindowOperator`.
    """
    merges = isinstance(assigner, MergingWindowAssigner)
    if evictor is not None:
        evicting = EvictingMergingWindowOperator if merges else EvictingWindowOperator
        return evicting(assigner, trigger, contents, call, evictor=evictor, **options)
    kind: type[WindowOperator] = MergingWindowOperator if merges else WindowOperator
    if type(trigger) is EventTimeTrigger and _is_aligned(assigner):
        is_shared = not call.has_window_state and can_share_panes(assigner, contents)
        kind = PaneWindowOperator if is_shared else AlignedWindowOperator
    elif type(trigger) is EventTimeTrigger and type(assigner) is EventTimeSessionWindows:
        kind = SessionWindowOperator if can_keep(contents) else MergingWindowOperator
    return kind(assigner, trigger, contents, call, **options)


def _is_aligned(assigner: WindowAssigner[Any, Any]) -> bool:
    if type(assigner) is TumblingEventTimeWindows:
        return assigner.window_stagger is WindowStagger.ALIGNED
    return type(assigner) is SlidingEventTimeWindows
