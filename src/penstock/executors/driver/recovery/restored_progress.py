"""How far the subtasks of a program have come, by what a checkpoint of another form of it says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from penstock.checkpoint.epoch_record import EpochRecord, VertexRecord
from penstock.checkpoint.handles import StateHandle
from penstock.checkpoint.storage import Storage
from penstock.errors import StateNotRescalableError
from penstock.runtime.epoch import SHARED
from penstock.runtime.exchange.elements import Block, ChannelWatermark
from penstock.runtime.exchange.partitioners import KeyGroupStreamPartitioner, StreamPartitioner
from penstock.runtime.job_pickle import load_code
from penstock.runtime.operator import OperatorPart, StreamOperator
from penstock.runtime.program import NetworkEdge, OperatorSpec, Program, Vertex
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.task.stored_snapshots import Snapshot, content_of
from penstock.runtime.timestamp import MIN_TIMESTAMP
from penstock.runtime.user_code import naming_operator

_Edge = tuple[str, str, int]
"""The operators that an edge leaves and reaches, and the number of the input."""

_Gauges = tuple[int, int]


class RestoredProgress:
    """Finds how far the subtasks of a program have come, by the ids of operators.

    Where several subtasks made way for others, each of these is as far as the one that was least far: event
    time is never ahead of a record that is still to come.

    Args:
        record: The epoch that the program goes on from.
        program: The program.
        storage: Where the large ones of the snapshots are.
    """

    def __init__(
        self, record: EpochRecord, program: Program, storage: Storage | None = None
    ) -> None:
        self._program = program
        self._storage = storage
        self._places: dict[str, tuple[VertexRecord, int]] = {
            operator.operator_id: (vertex, place)
            for vertex in record.job.vertices
            for place, operator in enumerate(vertex.operators)
        }
        found: dict[int, list[tuple[int, SubtaskProgress]]] = defaultdict(list)
        for (number, subtask), plain in sorted(record.progress.items()):
            found[number].append((subtask, SubtaskProgress.from_plain(plain)))
        self._progress = {
            number: [progress for _, progress in parts] for number, parts in found.items()
        }
        self._edges: dict[_Edge, list[int]] = defaultdict(list)
        for edge in record.job.edges:
            self._edges[edge.source, edge.target, edge.input].append(edge.number)
        self._earlier: dict[int, int | None] = {}
        taken: dict[_Edge, int] = defaultdict(int)
        for vertex in program.vertices:
            for spec in vertex.operators:
                for network in spec.network:
                    known = self._edges.get(name := self._name_of(spec, network), [])
                    self._earlier[network.index] = next(iter(known[taken[name] :]), None)
                    taken[name] += 1

    def _name_of(self, spec: OperatorSpec, edge: NetworkEdge) -> _Edge:
        target = self._program.vertices[edge.target].operators[0].operator_id
        return (spec.operator_id, target, edge.input)

    def of(self, vertex: Vertex, subtask: int) -> SubtaskProgress:
        """Return how far a subtask has come; `SHARED` for all tasks of a source that Spark reads."""
        parts = [part for spec in vertex.operators for part in self._parts(spec, vertex, subtask)]
        return SubtaskProgress(
            self._watermark(vertex, subtask),
            tuple(self._outputs(vertex, subtask)),
            max((part.clock for part in parts), default=MIN_TIMESTAMP),
            tuple(self._snapshots(vertex, subtask)),
            tuple(self._gauges(spec, vertex, subtask) for spec in vertex.operators),
            min(
                (part.next_wake_up for part in parts if part.next_wake_up is not None), default=None
            ),
            self._inputs(vertex, subtask),
        )

    def _old(self, spec: OperatorSpec) -> list[SubtaskProgress]:
        """Return the progress of all subtasks that an operator had."""
        place = self._places.get(spec.operator_id)
        return [] if place is None else self._progress.get(place[0].number, [])

    def _parts(self, spec: OperatorSpec, vertex: Vertex, subtask: int) -> list[SubtaskProgress]:
        """Return the progress of those subtasks of an operator that a new one stands for."""
        old = self._old(spec)
        return [old[max(subtask, 0)]] if len(old) == _count(vertex) else old

    def _watermark(self, vertex: Vertex, subtask: int) -> ChannelWatermark:
        head = vertex.operators[0]
        parts = self._parts(head, vertex, subtask)
        if not parts:
            return ChannelWatermark()
        if self._places[head.operator_id][1] == 0:
            return least(part.watermark for part in parts)
        return ChannelWatermark(self._gauges(head, vertex, subtask)[0])

    def _inputs(self, vertex: Vertex, subtask: int) -> tuple[ChannelWatermark, ...]:
        parts = self._parts(vertex.operators[0], vertex, subtask)
        inputs = [part.inputs for part in parts if len(part.inputs) == vertex.input_count]
        return tuple(map(least, zip(*inputs, strict=True)))

    def _outputs(self, vertex: Vertex, subtask: int) -> Iterable[tuple[int, ChannelWatermark]]:
        for spec in vertex.operators:
            parts = self._parts(spec, vertex, subtask)
            for edge in spec.network:
                earlier = self._earlier[edge.index]
                known = [dict(part.outputs).get(earlier) for part in parts if earlier is not None]
                if found := [watermark for watermark in known if watermark is not None]:
                    yield edge.index, least(found)
                elif parts:
                    # What was one chain is cut here now.
                    watermark = self._gauges(spec, vertex, subtask)[1]
                    yield edge.index, ChannelWatermark(watermark)

    def _gauges(self, spec: OperatorSpec, vertex: Vertex, subtask: int) -> _Gauges:
        known = [
            part.gauges[self._places[spec.operator_id][1]]
            for part in self._parts(spec, vertex, subtask)
            if part.gauges
        ]
        return (
            min((given for given, _ in known), default=MIN_TIMESTAMP),
            min((emitted for _, emitted in known), default=MIN_TIMESTAMP),
        )

    def _snapshots(self, vertex: Vertex, subtask: int) -> Iterable[tuple[str, Snapshot]]:
        for spec in vertex.operators:
            old = [] if self._drops_records(spec, vertex) else self._old(spec)
            snapshots = [dict(part.operators).get(spec.operator_id) for part in old]
            if not any(snapshot is not None for snapshot in snapshots):
                continue
            if len(old) == _count(vertex):
                snapshot: Snapshot | None = snapshots[max(subtask, 0)]
            else:
                snapshot = self._redistributed(vertex, spec, old, snapshots, max(subtask, 0))
            if snapshot is not None:
                yield spec.operator_id, snapshot

    def _drops_records(self, spec: OperatorSpec, vertex: Vertex) -> bool:
        """Whether what an operator took along may hold records, and the one that has its id now keeps none.

        Of tasks that Spark makes as it likes, none can be given the records of another.
        """
        place = self._places.get(spec.operator_id)
        if place is None or (spec.keeps_records and not vertex.is_shared):
            return False
        earlier, number = place
        return earlier.operators[number].keeps_records

    def _content_of(self, snapshot: Snapshot | None) -> bytes | None:
        if not isinstance(snapshot, StateHandle):
            return snapshot
        assert self._storage is not None
        return content_of(snapshot, self._storage)

    def _redistributed(
        self,
        vertex: Vertex,
        spec: OperatorSpec,
        old: list[SubtaskProgress],
        snapshots: list[Snapshot | None],
        subtask: int,
    ) -> bytes | None:
        place = self._places[spec.operator_id][1]
        parts = [
            OperatorPart(
                self._content_of(snapshot), part.gauges[place][0] if part.gauges else MIN_TIMESTAMP
            )
            for part, snapshot in zip(old, snapshots, strict=True)
        ]
        prototype: StreamOperator = load_code(spec.prototype)
        try:
            with naming_operator(spec.name):
                return prototype.redistribute(
                    parts, subtask, _count(vertex), _subtask_of_value(vertex, spec)
                )
        except NotImplementedError as error:
            raise StateNotRescalableError(
                f"Operator {spec.name!r} had {len(old)} subtasks and has {_count(vertex)} now, and what it "
                "takes along from epoch to epoch cannot be divided anew.",
                hint=f"Let it have the parallelism {len(old)}.",
            ) from error


def _count(vertex: Vertex) -> int:
    return 1 if vertex.is_shared else vertex.parallelism


def _subtask_of_value(vertex: Vertex, spec: OperatorSpec) -> Callable[[object], int] | None:
    """Return what tells the subtask that a record belongs to, if the operator has its input by key."""
    if spec is not vertex.operators[0] or len(vertex.inputs) != 1:
        return None
    partitioner: StreamPartitioner = load_code(vertex.inputs[0].partitioner)
    if type(partitioner) is not KeyGroupStreamPartitioner:
        return None
    keyed = partitioner.setup(
        operator=spec.name,
        subtask=0,
        parallelism=1,
        targets=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
    )
    return lambda value: next(iter(keyed.split(Block([value]))))[0]


def least(watermarks: Iterable[ChannelWatermark]) -> ChannelWatermark:
    """Return the least of some watermarks; there has to be one. Idle ones count if all are idle."""
    found: Sequence[ChannelWatermark] = list(watermarks)
    active = [watermark for watermark in found if not watermark.is_idle]
    return min(active or found)


def subtasks_with_progress(vertex: Vertex) -> Iterable[int]:
    """Return the subtasks of a vertex whose progress is kept."""
    return (SHARED,) if vertex.is_shared else range(vertex.parallelism)
