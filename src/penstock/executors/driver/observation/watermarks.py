"""How far event time has come in a job, and which sources hold it back."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Set
from types import MappingProxyType
from typing import Final, NamedTuple

from penstock.executors.driver.observation.epoch_log import Noted
from penstock.graph.job_graph import JobGraph
from penstock.runtime.epoch import SHARED
from penstock.runtime.exchange.elements import ChannelWatermark
from penstock.runtime.exchange.watermarks.event_time import combined
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.program import Program, Vertex
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

_FAR_BEHIND: Final = 10_000
"""How far behind another, in milliseconds, whoever holds the watermark back is."""

_MOST_NAMES: Final = 10


class WatermarkMakers(NamedTuple):
    """The chains in which watermarks begin, by their indices.

    Attributes:
        makers: Those with an operator whose strategy makes watermarks.
        later: Of those and others, the ones in which watermarks that come from other chains end, with the id of the
            operator in which they do.
    """

    makers: Set[int] = frozenset()
    later: Mapping[int, str] = MappingProxyType({})


def watermark_makers(graph: JobGraph) -> WatermarkMakers:
    """Return the chains of a job in which watermarks begin."""
    found = [
        (vertex.index, node.operator, graph.operator_ids[node.id])
        for vertex in graph.vertices
        for node in vertex.nodes
        if isinstance(node.operator, TimestampsAndWatermarksOperator)
    ]
    sources = {vertex.index for vertex in graph.vertices if not vertex.inputs}
    return WatermarkMakers(
        {index for index, operator, _ in found if operator.strategy.generator is not None},
        {index: operator_id for index, _, operator_id in found if index not in sources},
    )


class EventTime(NamedTuple):
    """How far event time has come in a job.

    Attributes:
        watermark: How far; None for nowhere yet.
        holding_back: The names of those that hold it back.
        held_since: Since when the first of them has stood still, in milliseconds since 1970; None if none holds it
            back, or has stood since before anything was noted.
        origins: Whether they hold it back, of the operators in which watermarks begin, by their ids.
    """

    watermark: int | None = None
    holding_back: tuple[str, ...] = ()
    held_since: int | None = None
    origins: Mapping[str, bool] = MappingProxyType({})


class _Part(NamedTuple):
    """A part of a stream that has a watermark of its own: a split, or what a subtask reads."""

    name: str
    timestamp: int
    is_idle: bool
    vertex: int
    moved: int | None


class Watermarks:
    """Tells how far event time has come.

    Args:
        program: The compiled program.
        chains: The chains in which watermarks begin. Default: only sources that make their own.
    """

    def __init__(self, program: Program, chains: WatermarkMakers | None = None) -> None:
        self._program = program
        self._chains = chains or WatermarkMakers()
        self._origins = [
            vertex
            for vertex in program.vertices
            if vertex.source is not None or vertex.index in self._chains.later
        ]
        self._reached = {vertex.index: self._reach(vertex) for vertex in self._origins}

    def _reach(self, origin: Vertex) -> Set[int]:
        """Return the chains that a chain's watermarks come to; below zero, what is behind others in a chain."""
        found = {-origin.index - 1}
        if origin.index not in self._chains.later:
            found.add(origin.index)
        for vertex in self._program.vertices:
            senders = {edge.source for edge in vertex.inputs}
            if any(-sender - 1 in found for sender in senders):
                found.add(vertex.index)
                if vertex.index not in self._chains.later:
                    found.add(-vertex.index - 1)
        return found

    def seen(self, noted: Noted) -> EventTime:
        """Return how far event time has come, and the names of those that hold it back.

        It has come as far as the lowest watermark of what is neither idle nor over, and meets others that have
        one; if there is nothing of that kind, as far as the farthest came. A source, or
        its split or subtask if it has several, holds it back if it is at the lowest of those that it meets, and
        has none or is more than ten seconds behind another.
        """
        parts = [part for origin in self._origins for part in self._parts(origin, noted)]
        makers = self._chains.makers | {
            part.vertex for part in parts if part.timestamp > MIN_TIMESTAMP
        }
        met = [
            part
            for part in parts
            if not part.is_idle
            and part.timestamp < MAX_TIMESTAMP
            and any(self._meet(part.vertex, maker) for maker in makers)
        ]
        if not met:
            farthest = max((part.timestamp for part in parts), default=MIN_TIMESTAMP)
            return EventTime(
                None if farthest == MIN_TIMESTAMP else farthest, origins=self._holding(frozenset())
            )
        lowest = min(part.timestamp for part in met)
        holding = [part for part in met if self._holds_back(part, met)]
        names = dict.fromkeys(part.name for part in holding)
        moved = [part.moved for part in holding if part.timestamp > MIN_TIMESTAMP]
        return EventTime(
            None if lowest == MIN_TIMESTAMP else lowest,
            tuple(names)[:_MOST_NAMES],
            # Who has never come anywhere has held it back from the beginning.
            min((at for at in moved if at is not None), default=None)
            if len(moved) == len(holding)
            else None,
            self._holding({part.vertex for part in holding}),
        )

    def _holding(self, chains: Set[int]) -> dict[str, bool]:
        """Return of the operators in which watermarks begin whether they are in these chains."""
        later = self._chains.later
        return {
            later.get(vertex.index, vertex.operators[0].operator_id): vertex.index in chains
            for vertex in self._origins
        }

    def _meet(self, one: int, other: int) -> bool:
        """Whether watermarks of two chains come together."""
        return not self._reached[one].isdisjoint(self._reached.get(other, ()))

    def _holds_back(self, part: _Part, parts: list[_Part]) -> bool:
        found = [other.timestamp for other in parts if self._meet(part.vertex, other.vertex)]
        if part.timestamp > min(found):
            return False
        return part.timestamp == MIN_TIMESTAMP or max(found) - part.timestamp > _FAR_BEHIND

    def _parts(self, vertex: Vertex, noted: Noted) -> Iterator[_Part]:
        """Yield the parts of a chain's stream."""
        name = self._name(vertex)
        found = noted.splits.get(vertex.index) or _subtasks(vertex, noted)
        for part, at in found.items():
            label = name if len(found) == 1 else f"{name} ({_part_name(part, vertex)})"
            moved = noted.moved.get((vertex.index, part))
            yield _Part(label, at.timestamp, at.is_idle, vertex.index, moved)

    def _name(self, vertex: Vertex) -> str:
        if vertex.source is not None:
            return vertex.operators[0].name
        return vertex.name


def _subtasks(vertex: Vertex, noted: Noted) -> dict[Hashable, ChannelWatermark]:
    return {
        sender: _sent(progress)
        for (index, sender), progress in noted.progress.items()
        if index == vertex.index
    }


def _part_name(part: Hashable, vertex: Vertex) -> str:
    """Return the name of a split, or which of its chain's a subtask is."""
    if not isinstance(part, int):
        return str(part)
    return "all" if part == SHARED else f"{part + 1}/{vertex.parallelism}"


def _sent(progress: SubtaskProgress) -> ChannelWatermark:
    """Return how far a subtask has told others that it is; the end of the chain, if there are no others."""
    if progress.outputs:
        return combined(at for _, at in progress.outputs)
    return ChannelWatermark(min((at for _, at in progress.gauges[-1:]), default=MIN_TIMESTAMP))
