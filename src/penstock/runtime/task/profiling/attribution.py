"""Says, from the frames of a task's thread, which operator it works for, and what it does."""

from __future__ import annotations

import dis
from types import FrameType
from typing import Final

from penstock.common.cost import Cost
from penstock.runtime.exchange.writer import RecordWriterOutput
from penstock.runtime.operator import StreamOperator
from penstock.runtime.program import Vertex
from penstock.runtime.task.fused_loop import FILE_NAME
from penstock.runtime.task.fused_operators import FusedOperators
from penstock.runtime.task.profiling.places import Place, calls_functions, lines_of_calls, place_of

_OF_SNAPSHOTS: Final = ("snapshot", "restore")
_INSIDE_SNAPSHOTS: Final = (Cost.STATE, Cost.SERIALIZATION, Cost.FRAMEWORK)
_BEGIN: Final = dis.opmap["RESUME"]


def attribute(innermost: FrameType | None) -> tuple[str, Cost]:
    """Return the id of the operator that a thread works for, empty for none, and what it does.

    The innermost frame of penstock's decides what is done; frames of the user's inside of it say that it
    is the user's function, except where records are pickled. What a snapshot makes others do is the
    snapshot's. The operator is the innermost one on the stack, else the head of the chain that runs.

    Args:
        innermost: The innermost frame of the thread.
    """
    cost: Cost | None = None
    inside: set[Place] = set()
    operator: str | None = None
    frame = innermost
    while frame is not None:
        code = frame.f_code
        place = place_of(code.co_filename)
        if isinstance(place, Place):
            inside.add(place)
        else:
            if cost is None:
                operator, cost = _innermost_work(place, inside, frame, innermost)
            if place is Cost.SNAPSHOT or code.co_name in _OF_SNAPSHOTS:
                cost = Cost.SNAPSHOT if cost in _INSIDE_SNAPSHOTS else cost
            operator = operator or operator_at(frame)
        frame = frame.f_back
    return operator or "", cost or Cost.EXCHANGE


def _innermost_work(
    place: Cost, inside: set[Place], frame: FrameType, innermost: FrameType | None
) -> tuple[str | None, Cost]:
    """Return what the innermost frame of penstock's does, and for which operator, if it says so."""
    code = frame.f_code
    begins = innermost is not None and innermost.f_back is frame and _has_just_begun(innermost)
    if code.co_filename == FILE_NAME:
        # What began a call came from the one before.
        called = _called_at(frame, frame.f_lineno - 1 if begins else frame.f_lineno)
        return called, Cost.USER if called else place
    if place is Cost.SERIALIZATION or (begins and calls_functions(code.co_filename)):
        return None, place
    # Functions that are not written in Python, and those that have just returned, have no frames.
    is_users = Place.USERS in inside or (
        calls_functions(code.co_filename)
        and (Place.LIBRARY in inside or frame.f_lineno in lines_of_calls(code))
    )
    return None, Cost.USER if is_users else place


def _has_just_begun(frame: FrameType) -> bool:
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _BEGIN


def _called_at(frame: FrameType, line: int) -> str | None:
    """Return whose function a loop over several operators has called last, on a line or above it."""
    fused = frame.f_locals.get("fused")
    if not isinstance(fused, FusedOperators):
        return None
    calls = (fused.operator_at(frame, number) for number in range(line, 0, -1))
    return next((operator.operator_id for operator in calls if operator is not None), None)


def operator_at(frame: FrameType) -> str | None:
    """Return the id of the operator whose method a frame runs; in a carrier, of the chain's head."""
    code = frame.f_code
    if code.co_filename == FILE_NAME:
        head: StreamOperator = frame.f_locals["fused"].operators[0]
        return _called_at(frame, frame.f_lineno) or head.operator_id
    if code.co_varnames[:1] != ("self",):
        return None
    owner = frame.f_locals.get("self")
    if isinstance(owner, FusedOperators):
        owner = getattr(owner, "operators", [None])[-1]
    if isinstance(owner, (StreamOperator, RecordWriterOutput)):
        # It may be about to be made.
        return getattr(owner, "operator_id", None)
    if "vertex" in code.co_varnames:
        vertex = frame.f_locals.get("vertex")
        if isinstance(vertex, Vertex):
            return vertex.operators[0].operator_id
    return None
