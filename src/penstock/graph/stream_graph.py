"""The operators of a program and the edges between them, before they are put into chains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.common.configuration.rocksdb_options import RocksDBSettings
from penstock.errors import (
    DuplicateUidError,
    ForwardParallelismError,
    InvalidArgumentError,
    InvalidParallelismError,
    MissingUidError,
    NoSinkError,
)
from penstock.graph.transformation import (
    DEFAULT_SLOT_SHARING_GROUP,
    OperatorTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)
from penstock.runtime.exchange.partitioners import (
    ForwardPartitioner,
    RebalancePartitioner,
    StreamPartitioner,
)
from penstock.runtime.keys.key_groups import UPPER_BOUND_MAX_PARALLELISM, default_max_parallelism
from penstock.runtime.operator import ChainingStrategy, StreamOperator
from penstock.runtime.output_tag import OutputTag


@dataclass(frozen=True, eq=False)
class StreamEdge:
    """An edge from one operator to another.

    Attributes:
        source_id: The id of the sending node.
        target_id: The id of the receiving node.
        partitioner: Chooses the receiving subtasks of a record.
        tag: The side output that passes; None for the main output.
        input: The number of the receiving node's input, from 0.
    """

    source_id: int
    target_id: int
    partitioner: StreamPartitioner
    tag: OutputTag | None = None
    input: int = 0


@dataclass(eq=False, kw_only=True)
class StreamNode:
    """An operator of a program, with all that was left open now decided.

    Attributes:
        id: The id of its transformation.
        name: The name users see.
        operator: The operator's prototype.
        chaining_strategy: Whether it may share a chain with its neighbours.
        parallelism: The number of subtasks.
        max_parallelism: The number of key groups.
        fixes_max_parallelism: Whether the user set it.
        uid: What the user calls the operator; None if it has no such name.
        uid_hash: The operator's id as the user set it; None if it is computed.
        slot_sharing_group: Operators of different groups never share a chain.
        description: A longer text for plans.
        source: What it reads, if it is a source.
        is_bounded: For a source, whether it ends.
        is_sink: Whether the program ends here.
        is_keyed: Whether its input comes by key.
        output_type: The type of its results, if declared.
        is_columnar: Whether it works on columns.
        in_edges: The edges that feed it.
        out_edges: The edges it feeds.
    """

    id: int
    name: str
    operator: StreamOperator
    chaining_strategy: ChainingStrategy = ChainingStrategy.ALWAYS
    parallelism: int
    max_parallelism: int
    fixes_max_parallelism: bool = False
    uid: str | None = None
    uid_hash: str | None = None
    slot_sharing_group: str = DEFAULT_SLOT_SHARING_GROUP
    description: str
    source: Any = None
    is_bounded: bool = True
    is_sink: bool = False
    is_keyed: bool = False
    output_type: Any = None
    is_columnar: bool = False
    in_edges: list[StreamEdge] = field(default_factory=list)
    out_edges: list[StreamEdge] = field(default_factory=list)

    @property
    def is_source(self) -> bool:
        """Whether the program begins here."""
        return not self.in_edges


@dataclass(eq=False, kw_only=True)
class StreamGraph:
    """The operators of a program and the edges between them.

    Attributes:
        job_name: The job's name.
        nodes: The operators by id, in the order in which the program made them.
        chaining_enabled: Whether operators are put into chains at all.
        chain_different_max_parallelism: Whether operators of different max parallelism may be chained.
        object_reuse: False if every edge inside a chain copies its records.
        batch: True in BATCH runtime mode.
        job_parameters: The job's global parameters.
        state_backend: Where keyed state lives: `hashmap` or `rocksdb`.
        state_memory: How many bytes of state a process may hold in memory; None for what suits the machine.
        rocksdb: How RocksDB is set up.
    """

    job_name: str
    nodes: dict[int, StreamNode] = field(default_factory=dict)
    chaining_enabled: bool = True
    chain_different_max_parallelism: bool = True
    object_reuse: bool = True
    batch: bool = False
    job_parameters: dict[str, str] = field(default_factory=dict)
    state_backend: str = "hashmap"
    state_memory: int | None = None
    rocksdb: RocksDBSettings = field(default_factory=RocksDBSettings)

    @property
    def sources(self) -> list[StreamNode]:
        """The operators the program begins with."""
        return [node for node in self.nodes.values() if node.is_source]

    @property
    def is_bounded(self) -> bool:
        """Whether all sources end."""
        return all(source.is_bounded for source in self.sources)


class _Origin(NamedTuple):
    """Where the records of a transformation come from, and how they go to whoever reads it."""

    node: StreamNode
    partitioner: StreamPartitioner | None = None
    tag: OutputTag | None = None


def build_stream_graph(
    sinks: Sequence[Transformation],
    *,
    job_name: str,
    default_parallelism: int,
    max_parallelism: int | None = None,
    chaining_enabled: bool = True,
    chain_different_max_parallelism: bool = True,
    object_reuse: bool = True,
    batch: bool = False,
    job_parameters: dict[str, str] | None = None,
    auto_uids: bool = True,
) -> StreamGraph:
    """Build the stream graph of a program.

    Unions, side outputs and partitionings become properties of edges. An edge for which no
    partitioning was asked forwards where both ends have the same parallelism, and else rebalances.

    Args:
        sinks: The transformations nobody reads; at least one of the operators found from there must
            be a sink.
        job_name: The job's name.
        default_parallelism: The parallelism of operators that have none of their own.
        max_parallelism: The number of key groups of operators that have none of their own; None to
            derive it from the parallelism.
        chaining_enabled: Whether operators are put into chains at all.
        chain_different_max_parallelism: Whether operators of different max parallelism may be chained.
        object_reuse: False if every edge inside a chain is to copy its records.
        batch: Whether the job runs in BATCH mode.
        job_parameters: The job's global parameters.
        auto_uids: Whether operators may be without a uid. Internal ones may anyway.

    Raises:
        NoSinkError: If there is no sink.
        InvalidParallelismError: If a parallelism is below 1 or above the max parallelism, or a max
            parallelism is out of range.
        ForwardParallelismError: If a forward partitioning joins different parallelisms.
        DuplicateUidError: If two operators have the same uid.
        MissingUidError: If one has none, and has to have one.
        InvalidArgumentError: If the transformations are of different programs, or BATCH mode is asked
            for with a source that never ends.
    """
    graph = StreamGraph(
        job_name=job_name,
        chaining_enabled=chaining_enabled,
        chain_different_max_parallelism=chain_different_max_parallelism,
        object_reuse=object_reuse,
        batch=batch,
        job_parameters=dict(job_parameters or {}),
    )
    origins: dict[int, list[_Origin]] = {}
    for step in all_steps(sinks):
        inputs = [origins[read.id] for read in step.inputs]
        if isinstance(step, OperatorTransformation):
            if not auto_uids:
                _check_uid(step)
            node = _node(step, inputs, default_parallelism, max_parallelism)
            graph.nodes[node.id] = node
            _connect(node, inputs)
            origins[step.id] = [_Origin(node)]
        else:
            origins[step.id] = _passed_on(step, inputs)
    _check(graph)
    return graph


def _check_uid(step: OperatorTransformation) -> None:
    if step.uid is None and step.uid_hash is None and not step.is_internal:
        raise MissingUidError(
            f"Operator {step.name!r} has no uid, and pipeline.auto-generate-uids is false.",
            hint="Give it one with uid(), so that its state is found again in a changed program.",
        )


def all_steps(sinks: Iterable[Transformation]) -> list[Transformation]:
    """Return everything the sinks need, in the order of making, so inputs before their readers.

    Raises:
        InvalidArgumentError: If the sinks are of different programs.
    """
    steps: dict[int, Transformation] = {}
    waiting = list(sinks)
    while waiting:
        step = waiting.pop()
        known = steps.setdefault(step.id, step)
        if known is not step:
            raise InvalidArgumentError(
                f"{known.name!r} and {step.name!r} are of different programs.",
                hint="Make all streams of a program from one StreamExecutionEnvironment.",
            )
        waiting.extend(read for read in step.inputs if steps.get(read.id) is not read)
    return [steps[number] for number in sorted(steps)]


def _passed_on(step: Transformation, inputs: list[list[_Origin]]) -> list[_Origin]:
    """Return the origins of a transformation that runs no operator."""
    origins = [origin for read in inputs for origin in read]
    match step:
        case UnionTransformation():
            return origins
        case PartitionTransformation():
            return [origin._replace(partitioner=step.partitioner) for origin in origins]
        case SideOutputTransformation():
            return [origin._replace(tag=step.tag) for origin in origins]
    raise TypeError(f"{type(step).__name__} is no known transformation.")


def _node(
    step: OperatorTransformation,
    inputs: list[list[_Origin]],
    default_parallelism: int,
    max_parallelism: int | None,
) -> StreamNode:
    parallelism = default_parallelism if step.parallelism is None else step.parallelism
    key_groups = max_parallelism if step.max_parallelism is None else step.max_parallelism
    is_fixed = key_groups is not None
    if key_groups is None:
        key_groups = default_max_parallelism(parallelism)
    _check_parallelism(step.name, parallelism, key_groups)
    return StreamNode(
        id=step.id,
        name=step.name,
        operator=step.operator,
        chaining_strategy=step.chaining_strategy,
        parallelism=parallelism,
        max_parallelism=key_groups,
        fixes_max_parallelism=is_fixed,
        uid=step.uid,
        uid_hash=step.uid_hash,
        slot_sharing_group=_slot_sharing_group(step, inputs),
        description=step.description or step.name,
        source=step.source,
        is_bounded=step.is_bounded,
        is_sink=step.is_sink,
        is_keyed=step.is_keyed,
        output_type=step.output_type,
    )


def _check_parallelism(name: str, parallelism: int, max_parallelism: int) -> None:
    if parallelism < 1:
        raise InvalidParallelismError(
            f"Operator {name!r} has the parallelism {parallelism}.",
            hint="A parallelism is 1 or more.",
        )
    if not 1 <= max_parallelism <= UPPER_BOUND_MAX_PARALLELISM:
        raise InvalidParallelismError(
            f"Operator {name!r} has the max parallelism {max_parallelism}.",
            hint=f"A max parallelism is from 1 to {UPPER_BOUND_MAX_PARALLELISM}.",
        )
    if parallelism > max_parallelism:
        raise InvalidParallelismError(
            f"Operator {name!r} has the parallelism {parallelism}, more than its max parallelism "
            f"of {max_parallelism}.",
            hint="Lower the parallelism, or raise the limit with set_max_parallelism.",
        )


def _slot_sharing_group(step: Transformation, inputs: list[list[_Origin]]) -> str:
    if step.slot_sharing_group is not None:
        return step.slot_sharing_group
    groups = {origin.node.slot_sharing_group for origins in inputs for origin in origins}
    return groups.pop() if len(groups) == 1 else DEFAULT_SLOT_SHARING_GROUP


def _connect(node: StreamNode, inputs: list[list[_Origin]]) -> None:
    for number, origins in enumerate(inputs):
        for source, partitioner, tag in origins:
            edge = StreamEdge(
                source_id=source.id,
                target_id=node.id,
                partitioner=_partitioner(source, node, partitioner),
                tag=tag,
                input=number,
            )
            source.out_edges.append(edge)
            node.in_edges.append(edge)


def _partitioner(
    source: StreamNode, target: StreamNode, wanted: StreamPartitioner | None
) -> StreamPartitioner:
    is_equal = source.parallelism == target.parallelism
    if wanted is None:
        return ForwardPartitioner() if is_equal else RebalancePartitioner()
    if isinstance(wanted, ForwardPartitioner) and not is_equal:
        raise ForwardParallelismError(
            f"Operator {source.name!r} (parallelism {source.parallelism}) cannot forward to operator "
            f"{target.name!r} (parallelism {target.parallelism}).",
            hint="Give both the same parallelism, or use rebalance, rescale, shuffle, broadcast or "
            "global in place of forward.",
        )
    return wanted


def _check(graph: StreamGraph) -> None:
    if not any(node.is_sink for node in graph.nodes.values()):
        raise NoSinkError(
            "The program has no sink, so nobody would see its results."
            if graph.nodes
            else "The program has no operator.",
            hint="End a stream with print(), sink_to(...), add_sink(...) or execute_and_collect().",
        )
    by_uid: dict[str, StreamNode] = {}
    for node in graph.nodes.values():
        if node.uid is not None:
            other = by_uid.setdefault(node.uid, node)
            if other is not node:
                raise DuplicateUidError(
                    f"Operators {other.name!r} and {node.name!r} have the same uid {node.uid!r}.",
                    hint="A uid names one operator, so that its state is found again: change one.",
                )
    if graph.batch and not graph.is_bounded:
        endless = [source.name for source in graph.sources if not source.is_bounded]
        raise InvalidArgumentError(
            f"BATCH mode needs sources that end, and {endless[0]!r} never does.",
            hint="Use the runtime mode STREAMING or AUTOMATIC.",
        )
