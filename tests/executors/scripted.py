"""A source whose reading is planned as a test says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.datastream.connectors import Source
from penstock.runtime.exchange.elements import Block
from penstock.runtime.planned.planned_source import Piece, Plan, PlannedSource, Planner

Pieces = list[list[int]]


class Script:
    """What is to come of a source, and what was asked of it.

    Attributes:
        epochs: For each epoch its pieces; those of an epoch are given once, as a socket gives its lines. An empty list for
            nothing new, None for nothing to read, but something to note.
        ends: Whether the source ends with them.
        error: What looking for more raises, once; None for nothing.
        states: The states that plans were asked for.
        committed: The states of plans whose epochs were committed.
        is_closed: Whether the planner was closed.
    """

    def __init__(self, *epochs: Pieces | None, ends: bool = True) -> None:
        self.epochs = list(epochs)
        self.ends = ends
        self.error: Exception | None = None
        self.states: list[Any] = []
        self.committed: list[Any] = []
        self.is_closed = False


_SCRIPTS: dict[str, Script] = {}


class ScriptedSource(Source, PlannedSource):
    """Gives what a script says.

    Args:
        name: The script's name.
        script: The script.
        kind: See `PlannedSource`.
        has_splits: Whether each piece is of a split, which its first number names.
    """

    def __init__(
        self, name: str, script: Script, kind: str = "a script", *, has_splits: bool = False
    ) -> None:
        _SCRIPTS[name] = script
        self._name = name
        self.kind = kind
        self.is_bounded = script.ends
        self.has_splits = has_splits

    def description(self) -> PlannedSource:
        return self

    def planner(self) -> Planner:
        return ScriptedPlanner(_SCRIPTS[self._name], has_splits=self.has_splits)

    def read(self, content: Any) -> Iterator[Block]:
        yield Block(list(content), is_immutable=True)


class ScriptedPlanner(Planner):
    def __init__(self, script: Script, *, has_splits: bool) -> None:
        self._script = script
        self._has_splits = has_splits

    def plan(self, state: Any, parallelism: int) -> Plan:
        script = self._script
        script.states.append(state)
        if script.error is not None:
            error, script.error = script.error, None
            raise error
        if not script.epochs:
            return Plan(state=state, is_over=script.ends)
        epoch = script.epochs.pop(0)
        if epoch == []:
            return Plan(state=state)
        pieces = tuple(map(self._piece, epoch or ()))
        is_over = script.ends and not script.epochs
        return Plan(pieces, {"epochs": (state or {"epochs": 0})["epochs"] + 1}, is_over)

    def _piece(self, numbers: list[int]) -> Piece:
        return Piece(numbers[1:], numbers[0]) if self._has_splits else Piece(numbers)

    def committed(self, state: Any) -> None:
        self._script.committed.append(state)

    def close(self) -> None:
        self._script.is_closed = True
