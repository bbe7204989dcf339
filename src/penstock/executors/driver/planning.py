"""What the epochs of a job read of those sources whose reading the driver plans."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from penstock.checkpoint.epoch_record import ReadSoFar
from penstock.runtime.planned.planned_source import Piece, Plan, PlannedSource, Planner
from penstock.runtime.program import Program


@dataclass(frozen=True)
class Plans:
    """What an epoch reads of each source whose reading is planned, by the source's number.

    Attributes:
        pieces: What there is to read.
        read: How far each is read when the epoch is committed.
    """

    pieces: Mapping[int, tuple[Piece, ...]] = field(default_factory=dict)
    read: Mapping[int, ReadSoFar] = field(default_factory=dict)

    @property
    def over(self) -> frozenset[int]:
        """The sources of which nothing follows."""
        return frozenset(number for number, read in self.read.items() if read.is_over)

    @property
    def has_pieces(self) -> bool:
        """Whether there is anything to read."""
        return any(self.pieces.values())


class Planning:
    """Has the reading of sources planned, and keeps each plan until its epoch is committed.

    An epoch that fails is run again with the plan that it had: what came through a socket comes once. Another
    driver plans anew, which harms nobody: of an epoch that was not committed nothing was published, and it is
    read under another attempt.

    Args:
        sources: The sources, by their numbers.
        program: The program they are of.
        only_present: Whether only what is there at the beginning is read.
    """

    def __init__(
        self,
        sources: Mapping[int, PlannedSource],
        program: Program,
        *,
        only_present: bool = False,
    ) -> None:
        self._sources = sources
        self._parallelism = {
            vertex.source: vertex.parallelism
            for vertex in program.vertices
            if vertex.source is not None
        }
        self._planners: dict[int, Planner] = {}
        self._read: Mapping[int, ReadSoFar] = {}
        self._plans: dict[int, Plan] = {}
        self._only_present = only_present
        self._is_cancelled = False

    @property
    def kinds(self) -> Mapping[int, str]:
        """The kinds of the sources, by their numbers."""
        return {number: source.kind for number, source in self._sources.items()}

    def plans(self, read: Mapping[int, ReadSoFar]) -> Plans:
        """Return what the next epoch is to read.

        Args:
            read: How far the sources were read when the last epoch was committed.

        Raises:
            PenstockError: If a source cannot tell.
        """
        if read != self._read:
            self._read, self._plans = dict(read), {}
        for number, source in self._sources.items():
            known = self._plans.get(number)
            if known is None or not known.pieces:
                self._plans[number] = self._plan(number, read.get(number, ReadSoFar(source.kind)))
        return Plans(
            {number: plan.pieces for number, plan in self._plans.items()},
            {
                number: ReadSoFar(self._sources[number].kind, plan.state, plan.is_over)
                for number, plan in self._plans.items()
            },
        )

    def _plan(self, number: int, read: ReadSoFar) -> Plan:
        if read.is_over:
            return Plan((), read.state, is_over=True)
        if number not in self._planners:
            self._planners[number] = self._sources[number].planner()
            if self._only_present:
                self._planners[number].only_present()
            if self._is_cancelled:
                self.cancel()
        return self._planners[number].plan(read.state, self._parallelism[number])

    def committed(self, read: Mapping[int, ReadSoFar]) -> None:
        """Let planners know how far their sources are read in a committed epoch."""
        for number, planner in self._planners.items():
            if number in read:
                planner.committed(read[number].state)

    def cancel(self) -> None:
        """Let planners that wait for somebody end at once, as the job is cancelled; called by another thread."""
        self._is_cancelled = True
        for planner in list(self._planners.values()):
            planner.cancel()

    def close(self) -> None:
        """Let go of what planners hold open."""
        with ExitStack() as closing:
            for planner in self._planners.values():
                closing.callback(planner.close)
        self._planners = {}
