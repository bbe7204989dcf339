"""Sources that are read one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any

from penstock.errors import CheckpointMismatchError
from penstock.runtime.exchange.elements import Block, Watermark
from penstock.runtime.planned.planned_source import Piece, Plan, PlannedSource, Planner
from penstock.runtime.source import NativeSource


class SourceAfterSource(PlannedSource):
    """The records of several sources: each begins in the epoch after that in which the one before ended.

    Args:
        sources: The sources; all but the last are bounded.
    """

    kind = "a sequence of sources"

    def __init__(self, sources: Sequence[PlannedSource | NativeSource]) -> None:
        self._sources: list[PlannedSource] = [
            OwnEpochs(source) if isinstance(source, NativeSource) else source for source in sources
        ]
        self.has_epochs = len(sources) > 1 or self._sources[0].has_epochs
        self.is_bounded = self._sources[-1].is_bounded
        self.has_present = all(source.has_present for source in self._sources)
        self.has_splits = any(source.has_splits for source in self._sources)
        self.is_unordered = any(source.is_unordered for source in self._sources)

    def planner(self) -> Planner:
        return _InTurn(self._sources)

    def read(self, content: Any) -> Iterator[Block | Watermark]:
        place, of_source = content
        source: PlannedSource = self._sources[place]
        return source.read(of_source)


class _InTurn(Planner):
    """Plans one source after the other. The state is the place of the source, its kind, and its own state.

    A source that has ended is told how far it was read, and closed, when its last epoch is committed.
    """

    def __init__(self, sources: Sequence[PlannedSource]) -> None:
        self._sources = sources
        self._planners: dict[int, Planner] = {}
        self._ends: dict[int, Any] = {}
        self._only_present = False

    def only_present(self) -> None:
        self._only_present = True

    def plan(self, state: Any, parallelism: int) -> Plan:
        place, kind, own_state = state or (0, self._sources[0].kind, None)
        if place >= len(self._sources) or self._sources[place].kind != kind:
            raise CheckpointMismatchError(
                f"A HybridSource was reading {kind}, its source number {place + 1}, and has none there now.",
                hint="Leave the sources before it as they are, and it too; others may follow. To begin anew, give "
                "the HybridSource another uid(), and set execution.state-recovery.ignore-unclaimed-state to true.",
            )
        if place not in self._planners:
            self._planners[place] = self._sources[place].planner()
            if self._only_present:
                self._planners[place].only_present()
        plan = self._planners[place].plan(own_state, parallelism)
        is_last = place == len(self._sources) - 1
        after = [place, kind, plan.state]
        if plan.is_over and not is_last:
            self._ends[place] = plan.state
            after = [place + 1, self._sources[place + 1].kind, None]
            if not plan.pieces:
                return self.plan(after, parallelism)
        pieces = tuple(Piece((place, piece.content), piece.split) for piece in plan.pieces)
        return Plan(pieces, after, plan.is_over and is_last)

    def committed(self, state: Any) -> None:
        place, _, own_state = state
        for ended in [one for one in self._ends if one < place]:
            with closing(self._planners.pop(ended)) as planner:
                planner.committed(self._ends.pop(ended))
        if place in self._planners:
            self._planners[place].committed(own_state)

    def close(self) -> None:
        with ExitStack() as at_end:
            for planner in self._planners.values():
                at_end.callback(planner.close)


class OwnEpochs(PlannedSource):
    """A source that has epochs of its own, as one that is planned: each subtask reads its part of each.

    Args:
        source: The source.
    """

    kind = "a source with epochs of its own"
    is_bounded = True

    def __init__(self, source: NativeSource) -> None:
        self._source = source
        self.has_epochs = source.epochs > 1
        self.is_unordered = source.is_unordered

    def planner(self) -> Planner:
        return _EachEpoch(self._source.epochs)

    def read(self, content: Any) -> Iterator[Block]:
        epoch, subtask, parallelism = content
        return self._source.read(epoch, subtask, parallelism)


class _EachEpoch(Planner):
    """Plans one epoch after the other. The state is how many were planned."""

    def __init__(self, epochs: int) -> None:
        self._epochs = epochs

    def plan(self, state: Any, parallelism: int) -> Plan:
        epoch = state or 0
        pieces = tuple(Piece((epoch, subtask, parallelism)) for subtask in range(parallelism))
        return Plan(pieces, epoch + 1, is_over=epoch + 1 >= self._epochs)

    def close(self) -> None:
        """Nothing is open."""
