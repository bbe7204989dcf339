"""Where the subtasks of a program run: carriers, and the way from one to another."""

from __future__ import annotations

from penstock.runtime.epoch import Epoch
from penstock.runtime.program import Program, Vertex


class Layout:
    """Where the subtasks of a program run on a number of cores.

    A level above 0 has at most as many carriers, so Spark partitions, as there are cores; each carries
    several subtasks, one after the other.

    Args:
        program: The program.
        cores: How many tasks run at once.
    """

    def __init__(self, program: Program, cores: int) -> None:
        self.program = program
        self.cores = cores
        self.levels = program.levels
        self._carriers = [program.carriers(level, cores) for level in range(self.levels)]
        self._sources: list[frozenset[int]] = []
        for vertex in program.vertices:
            found = frozenset(() if vertex.source is None else (vertex.source,))
            self._sources.append(
                found.union(*(self._sources[edge.source] for edge in vertex.inputs))
            )

    def carriers(self, level: int) -> int:
        """Return the number of carriers on a level."""
        return self._carriers[level]

    def carrier_of(self, vertex: Vertex, subtask: int) -> int:
        """Return the carrier that runs a subtask: neighbours share one."""
        carriers = self._carriers[vertex.level]
        return (subtask * carriers // vertex.parallelism + vertex.index) % carriers

    def next_carrier(self, level: int, vertex: Vertex, subtask: int) -> int:
        """Return the next carrier on the way from a level to a subtask further down."""
        carrier = self.carrier_of(vertex, subtask)
        if vertex.level == level + 1:
            return carrier
        return carrier % self._carriers[level + 1]

    def driver_carrier(self, level: int, sender: int) -> int:
        """Return the next carrier on the way from a level to the driver."""
        return sender % self._carriers[level + 1] if level + 1 < self.levels else 0

    def is_single_channel(self, vertex: Vertex) -> bool:
        """Whether a subtask of a vertex reads from one task only."""
        if len(vertex.inputs) != 1:
            return False
        sender = self.program.vertices[vertex.inputs[0].source]
        sources = [other for other in self.program.vertices if other.source is not None]
        return sender.parallelism == 1 and (not sender.is_shared or len(sources) == 1)

    def is_finishing(self, vertex: Vertex, epoch: Epoch) -> bool:
        """Whether a vertex gets its last records in an epoch."""
        return self._sources[vertex.index] <= epoch.finished | epoch.finishing
