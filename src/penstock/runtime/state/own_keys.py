"""What a subtask takes of the files that others wrote, when it owns some of their keys now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.state.frames import TimerPart
from penstock.runtime.state.tables import Shape, TablePart, shape_of
from penstock.runtime.timers.timer_frames import read_frame, write_frames


def only_of(part: TablePart | TimerPart, is_wanted: Callable[[Any], bool]) -> TablePart | TimerPart:
    """Return a part without the entries or timers of other keys.

    Args:
        part: The part.
        is_wanted: Says of a key whether it counts.
    """
    if isinstance(part, TimerPart):
        wanted = (change for change in read_frame(part.frame) if is_wanted(change[0].key))
        return TimerPart(part.queue, b"".join(write_frames(wanted)))
    is_map = shape_of(part.kind) is Shape.MAP
    removed = [key for key in part.removed if is_wanted(key[0] if is_map else key)]
    kept = [
        (key, value)
        for key, value in zip(part.keys, part.values, strict=True)
        if is_wanted(key[0] if is_map else key)
    ]
    return part._replace(
        removed=removed, keys=[key for key, _ in kept], values=[value for _, value in kept]
    )
