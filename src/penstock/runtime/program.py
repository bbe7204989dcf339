"""A compiled job, as executors run it: chains of operators on levels, and the edges between them.

A `Program` is plain data that pickles: user functions are in it as bytes, so that a worker that already
holds the program does not unpickle them again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.common.configuration.rocksdb_options import RocksDBSettings
from penstock.runtime.job_files.job_files import JobFiles

DRIVER: int = -1
"""Stands where a vertex index stands, for what goes to the driver and not to a vertex."""


@dataclass(frozen=True)
class ChainedEdge:
    """An edge inside a chain: from an operator to the next one, by a plain call.

    Attributes:
        target: The index of the target operator in the chain.
        tag: The id of the side output that passes; None for the main output.
    """

    target: int
    tag: str | None = None


@dataclass(frozen=True)
class NetworkEdge:
    """An edge between chains: records cross it in buffers, by an exchange.

    Attributes:
        index: The number of the edge, unique in the program.
        source: The index of the sending vertex.
        target: The index of the receiving vertex.
        input: The number of the input of the receiving vertex's head operator that it feeds.
        partitioner: Chooses the receiving subtasks of a record; pickled, as it holds user functions.
        tag: The id of the side output that passes; None for the main output.
        is_broadcast: Whether every subtask receives every record.
    """

    index: int
    source: int
    target: int
    input: int
    partitioner: bytes
    tag: str | None = None
    is_broadcast: bool = False


@dataclass(frozen=True)
class OperatorSpec:
    """One operator of a chain.

    Attributes:
        operator_id: The stable id of the operator (32 hexadecimal digits).
        name: The name users see.
        prototype: The operator, pickled; every subtask loads a copy of its own.
        chained: The edges to operators of the same chain.
        network: The edges to other chains.
        uid: The uid that the user gave it; None if none.
        is_keyed: Whether it has keyed state.
        has_broadcast_state: Whether it has broadcast state.
        keeps_records: Whether its snapshot may hold records, so that it must not get lost.
        delivers_to: Of a sink that prepares, its kind and where it delivers to; empty for others.
        kept_windows: Which windows it has, and how they are kept; empty for none.
    """

    operator_id: str
    name: str
    prototype: bytes
    chained: tuple[ChainedEdge, ...] = ()
    network: tuple[NetworkEdge, ...] = ()
    uid: str | None = None
    is_keyed: bool = False
    has_broadcast_state: bool = False
    keeps_records: bool = False
    delivers_to: str = ""
    kept_windows: str = ""

    @property
    def is_stateful(self) -> bool:
        """Whether it leaves state files."""
        return self.is_keyed or self.has_broadcast_state


@dataclass(frozen=True)
class Vertex:
    """A chain of operators with its parallelism.

    Attributes:
        index: The place in `Program.vertices`, a topological order.
        vertex_id: The stable id (that of the chain's head).
        name: The names of the operators, as "Source: numbers -> Map".
        operators: The operators; the first is the head.
        parallelism: The number of subtasks.
        max_parallelism: The number of key groups.
        level: The distance from the sources; sources stand on level 0.
        inputs: The edges that feed the head.
        source: The number of the source in `Program.sources` that feeds the head; None otherwise.
        is_shared: True for a source that Spark reads: its tasks are not subtasks, but differ from epoch
            to epoch, and share what they know of its splits.
        fixes_key_groups: Whether the user set the number of key groups.
    """

    index: int
    vertex_id: str
    name: str
    operators: tuple[OperatorSpec, ...]
    parallelism: int
    max_parallelism: int
    level: int
    inputs: tuple[NetworkEdge, ...] = ()
    source: int | None = None
    is_shared: bool = False
    fixes_key_groups: bool = False

    @property
    def is_keyed(self) -> bool:
        """Whether one of its operators has keyed state."""
        return any(spec.is_keyed for spec in self.operators)

    @property
    def input_count(self) -> int:
        """The number of inputs of the head; 1 for a source."""
        return max((edge.input for edge in self.inputs), default=0) + 1


@dataclass(frozen=True)
class Program:
    """A compiled job.

    Attributes:
        name: The job's name.
        vertices: The chains, in topological order.
        main_classes: The classes of the user's script, pickled by value: installed in the
            worker's `__main__`, so that records pickle by reference.
        object_reuse: False if every edge inside a chain copies its records.
        batch: True in BATCH runtime mode: keyed operators give final values only.
        job_parameters: What the user set as global job parameters.
        state_backend: Where keyed state lives: `hashmap` or `rocksdb`.
        state_memory: How many bytes of state a process may hold in memory; None for what suits the machine.
        rocksdb: How RocksDB is set up.
        is_profiled: Whether tasks tell where their time goes.
        class_names: The new qualified names of classes by those under which state may be kept.
        files: What the job brings along for its functions.
        digest: Names the program; equal programs have equal digests.
    """

    name: str
    vertices: tuple[Vertex, ...]
    main_classes: bytes = b""
    object_reuse: bool = True
    batch: bool = False
    job_parameters: dict[str, str] = field(default_factory=dict)
    state_backend: str = "hashmap"
    state_memory: int | None = None
    rocksdb: RocksDBSettings = field(default_factory=RocksDBSettings)
    is_profiled: bool = False
    class_names: dict[str, str] = field(default_factory=dict)
    files: JobFiles = field(default_factory=JobFiles)
    digest: str = ""

    @property
    def levels(self) -> int:
        """The number of levels."""
        return max(vertex.level for vertex in self.vertices) + 1

    def on_level(self, level: int) -> tuple[Vertex, ...]:
        """Return the vertices of one level."""
        return tuple(vertex for vertex in self.vertices if vertex.level == level)

    def carriers(self, level: int, cores: int) -> int:
        """Return how many carriers, so Spark partitions, run a level above 0 on `cores` cores."""
        subtasks = max(vertex.parallelism for vertex in self.on_level(level))
        return max(1, min(cores, subtasks))
