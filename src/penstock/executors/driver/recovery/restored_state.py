"""Which state files the subtasks of a program take up of a checkpoint of another form of it."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.checkpoint.epoch_record import EpochRecord, SubtaskId, VertexRecord
from penstock.checkpoint.folding import Handles
from penstock.checkpoint.handles import StateHandle
from penstock.errors import MaxParallelismChangedError
from penstock.runtime.keys.key_groups import key_group_range
from penstock.runtime.program import Program, Vertex


def restored_state(record: EpochRecord, program: Program) -> dict[SubtaskId, Handles]:
    """Return the files that make up the state of each subtask, oldest first.

    A subtask takes up the files of all whose key groups it now has, and reads of them what is its own.
    Of broadcast state it takes the copy of one subtask.

    Raises:
        MaxParallelismChangedError: If the program divides keys into another number of key groups.
    """
    owners = {
        operator.operator_id: vertex
        for vertex in record.job.vertices
        for operator in vertex.operators
        if operator.is_stateful
    }
    state: dict[SubtaskId, Handles] = {}
    for vertex in program.vertices:
        stateful = {spec.operator_id for spec in vertex.operators if spec.is_stateful}
        sources = {owners[found].number: owners[found] for found in stateful if found in owners}
        sources = {number: old for number, old in sources.items() if has_files(record, old)}
        for old in sources.values():
            _check_key_groups(vertex, old)
        is_same = len(sources) == 1 and _is_same(vertex, *sources.values())
        for subtask in range(vertex.parallelism):
            found = tuple(
                handle
                for old in sources.values()
                for handle in (
                    record.handles.get((old.number, subtask), ())
                    if is_same
                    else _foreign(record, old, vertex, subtask)
                )
            )
            if found:
                state[vertex.index, subtask] = found
    return state


def has_files(record: EpochRecord, old: VertexRecord) -> bool:
    """Whether subtasks of a chain have left state."""
    return any(handles for (vertex, _), handles in record.handles.items() if vertex == old.number)


def _is_same(vertex: Vertex, old: VertexRecord) -> bool:
    """Whether each subtask has the key groups and the state that it had."""
    now = {spec.operator_id for spec in vertex.operators if spec.is_stateful}
    then = {operator.operator_id for operator in old.operators if operator.is_stateful}
    return now == then and vertex.parallelism == old.parallelism


def _check_key_groups(vertex: Vertex, old: VertexRecord) -> None:
    if vertex.max_parallelism == old.max_parallelism or not vertex.is_keyed:
        return
    raise MaxParallelismChangedError(
        f"The state of {vertex.name!r} is in {old.max_parallelism} key groups, and the program has "
        f"{vertex.max_parallelism}: its max parallelism was changed.",
        hint=f"Let set_max_parallelism({old.max_parallelism}) stand for this operator, with a parallelism "
        "of no more than that. It can never be changed while the state is kept.",
    )


def _foreign(
    record: EpochRecord, old: VertexRecord, vertex: Vertex, subtask: int
) -> Iterator[StateHandle]:
    if not vertex.is_keyed:
        # What every subtask has the whole of, it takes of any one.
        for handle in record.handles.get((old.number, subtask % old.parallelism), ()):
            yield handle._replace(first=0, end=0)
        return
    own = key_group_range(subtask, vertex.parallelism, vertex.max_parallelism)
    is_first = True
    for other in range(old.parallelism):
        theirs = _common(own, key_group_range(other, old.parallelism, old.max_parallelism))
        if not theirs:
            continue
        handles = record.handles.get((old.number, other), ())
        for handle in handles:
            # They may have files that they took up themselves, of which they own only some key groups.
            taken = range(handle.first, handle.end) if handle.is_foreign else theirs
            taken = _common(theirs, taken)
            yield handle._replace(
                first=taken.start,
                end=taken.stop,
                gives_broadcast=handle.gives_broadcast and is_first,
            )
        is_first = is_first and not handles


def _common(one: range, other: range) -> range:
    start = max(one.start, other.start)
    return range(start, max(start, min(one.stop, other.stop)))
