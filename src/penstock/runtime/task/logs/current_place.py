"""Finds out which task the running code works for: only when a line is logged, so that it costs nothing else."""

from __future__ import annotations

import sys
from enum import Enum
from functools import lru_cache
from types import FrameType
from typing import Final

from penstock.runtime.program import Vertex
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.task.profiling.attribution import operator_at
from penstock.runtime.task.profiling.places import Place, place_of
from penstock.runtime.task.subtask import Subtask
from penstock.runtime.task_place import TaskPlace, place_in_context


class _Role(Enum):
    """What a frame may tell by the file of its code."""

    NOTHING = "nothing"
    OPERATOR = "operator"
    TASK = "task"


_TASKS: Final = frozenset(sys.modules[owner.__module__].__file__ for owner in (Subtask, Carrier))


@lru_cache(maxsize=4096)
def _role(filename: str) -> _Role:
    # To look into a frame takes longer than all else, and most are the user's, or of another file than these two.
    if filename in _TASKS:
        return _Role.TASK
    return _Role.NOTHING if isinstance(place_of(filename), Place) else _Role.OPERATOR


def current_place() -> TaskPlace | None:
    """Return whom the running code works for: the innermost operator on its stack, or what its context says."""
    operator: str | None = None
    task: Subtask | None = None
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - so Python documents it
    while frame is not None:
        role = _role(frame.f_code.co_filename)
        if role is _Role.TASK:
            owner = _self_of(frame)
            if isinstance(owner, Subtask):
                task = owner
            elif isinstance(owner, Carrier):
                return _of_carrier(owner, frame, task, operator)
        if operator is None and role is not _Role.NOTHING:
            operator = operator_at(frame)
        frame = frame.f_back
    # Who closes functions at the end of a job is no carrier.
    return place_in_context() if task is None else task.place(operator)


def _self_of(frame: FrameType) -> object:
    is_method = frame.f_code.co_varnames[:1] == ("self",)
    return frame.f_locals.get("self") if is_method else None


def _of_carrier(
    carrier: Carrier, frame: FrameType, task: Subtask | None, operator: str | None
) -> TaskPlace | None:
    """Return the place in a carrier's epoch: of a subtask, or of a source whose reader is no part of one yet."""
    if task is not None:
        return task.place(operator, carrier.epoch)
    while frame is not None:
        names = frame.f_locals
        vertex = names.get("vertex")
        if isinstance(vertex, Vertex):
            subtask = names.get("subtask", names.get("sender"))
            return TaskPlace(
                carrier.epoch.job_id,
                vertex.operators[0].name,
                subtask,
                vertex.parallelism,
                carrier.epoch.number,
            )
        if frame.f_back is None or _self_of(frame.f_back) is not carrier:
            return None
        frame = frame.f_back
    return None
