"""Operators, chains and programs made by hand, for the tests of the runtime."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from penstock.checkpoint.handles import StateHandle
from penstock.runtime.context import RuntimeContext
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.buffer import Buffer, decode
from penstock.runtime.exchange.elements import Block, EndOfInput, WatermarkStatus
from penstock.runtime.exchange.output import Output
from penstock.runtime.exchange.partitioners import ForwardPartitioner, StreamPartitioner
from penstock.runtime.job_pickle import dump_code
from penstock.runtime.layout import Layout
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.program import (
    ChainedEdge,
    NetworkEdge,
    OperatorSpec,
    Program,
    Vertex,
)
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.source import EpochSource
from penstock.runtime.state.factory import create_backend
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.task.fused_operators import FusedOperators, can_join
from penstock.runtime.task.message import Message, SubtaskReport
from penstock.runtime.task.registry import Tasks
from penstock.runtime.timers.processing_time_service import TestProcessingTimeService


class Journal(list[Any]):
    """A list that is still the same list after it was pickled: functions write what they did into it."""

    def __reduce__(self) -> tuple[Any, ...]:
        _JOURNALS[id(self)] = self
        return _journal, (id(self),)


_JOURNALS: dict[int, Journal] = {}


def _journal(number: int) -> Journal:
    return _JOURNALS[number]


class Unpicklable:
    """A value that cannot leave its process."""

    def __init__(self, text: str = "unpicklable") -> None:
        self._text = text

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("it holds a lock")

    def __repr__(self) -> str:
        return f"<{self._text}>"


class Unprintable:
    """A value without a text."""

    def __repr__(self) -> str:
        raise ValueError("no text")


class CollectingOutput(Output):
    """Keeps all that an operator emits.

    Attributes:
        log: Pairs of what came and its content, in order.
    """

    def __init__(self) -> None:
        self.log: list[tuple[str, Any]] = []

    def collect(self, block: Block) -> None:
        self.log.append(("main", block))

    def collect_side(self, tag: str, block: Block) -> None:
        self.log.append((f"side {tag}", block))

    def emit_watermark(self, timestamp: int) -> None:
        self.watermark = timestamp
        self.log.append(("watermark", timestamp))

    def emit_status(self, status: WatermarkStatus) -> None:
        self.log.append(("status", status))

    def end_input(self, end: EndOfInput) -> None:
        self.log.append(("end", end))

    def flush(self) -> None:
        self.log.append(("flush", None))

    def blocks(self, tag: str | None = None) -> list[Block]:
        """Return the blocks of the main output or of a side output, without the empty ones."""
        wanted = "main" if tag is None else f"side {tag}"
        return [content for kind, content in self.log if kind == wanted and content.values]

    def records(self, tag: str | None = None) -> list[tuple[Any, Any]]:
        """Return pairs of value and timestamp."""
        return [record[:2] for block in self.blocks(tag) for record in records_of(block)]

    def values(self, tag: str | None = None) -> list[Any]:
        return [value for value, _ in self.records(tag)]


def records_of(block: Block) -> list[tuple[Any, Any, Any]]:
    """Return value, timestamp and key of each record."""
    nothing = [None] * len(block.values)
    timestamps = nothing if block.timestamps is None else block.timestamps
    keys = nothing if block.keys is None else block.keys
    return list(zip(block.values, timestamps, keys, strict=True))


def contents(buffers: list[Buffer]) -> list[Any]:
    """Return what is in all buffers of a channel: records one by one, and in-band elements."""
    assert [buffer.sequence for buffer in buffers] == list(range(len(buffers)))
    found: list[Any] = []
    for buffer in buffers:
        for element in decode(buffer.payload):
            found += records_of(element) if isinstance(element, Block) else [element]
    return found


class Harness:
    """One operator on its own, set up and opened as a subtask would do it.

    Attributes:
        operator: The operator, which came out of a pickle as in a worker.
        output: What it emitted.
        told: What it told the driver, as pairs of kind and content.
        time: The processing time, which stands still until it is moved.
    """

    def __init__(
        self,
        operator: StreamOperator,
        *,
        name: str = "Op",
        batch: bool = False,
        subtask: int = 0,
        parallelism: int = 1,
        backend: str = "hashmap",
    ) -> None:
        self.operator: StreamOperator = pickle.loads(_pickled(operator))
        self.output = CollectingOutput()
        self.told: list[tuple[str, Any]] = []
        self.metrics = OperatorMetrics()
        self.time = TestProcessingTimeService()
        state = None
        if self.operator.is_stateful:
            state = create_backend(
                backend,
                max_parallelism=16,
                key_groups=range(16),
                clock=self.time.current_processing_time,
                operator=name,
            )
        self.operator.setup(
            name=name,
            context=RuntimeContext(
                task_name=name,
                subtask=subtask,
                parallelism=parallelism,
                metrics=self.metrics.user,
                keyed_state=state,
            ),
            output=self.output,
            metrics=self.metrics,
            to_driver=lambda kind, content: self.told.append((kind, content)),
            processing_time=self.time,
            state=state,
            batch=batch,
            operator_id=operator_id(name),
        )
        self.operator.open()
        self.begin_epoch()

    def begin_epoch(self, number: int = 0, **options: Any) -> None:
        """Begin an epoch, whatever became of the one before."""
        self.operator.begin_epoch(Epoch("job", number, **options))

    def process(
        self,
        values: Sequence[Any],
        timestamps: Sequence[int | None] | None = None,
        keys: Sequence[Any] | None = None,
    ) -> None:
        """Give a block to the operator, which must not change it."""
        block = Block(
            list(values),
            None if timestamps is None else list(timestamps),
            None if keys is None else list(keys),
        )
        columns = block.values, block.timestamps, block.keys
        copies = [None if column is None else list(column) for column in columns]
        looped = can_join((), self.operator)
        (FusedOperators([self.operator]) if looped else self.operator).process_block(block)
        assert [block.values, block.timestamps, block.keys] == copies


def _pickled(operator: StreamOperator) -> bytes:
    """Pickle an operator in a fraction of `dump_code`'s time, unless one of its functions has no name."""
    try:
        return pickle.dumps(operator)
    except (pickle.PicklingError, AttributeError, TypeError):
        return dump_code(operator)


def operator_id(name: str) -> str:
    """Return the id of an operator, as long as the ids of real ones."""
    return f"id of {name}".ljust(32, "_")


def operator_spec(
    operator: StreamOperator,
    name: str = "Op",
    *,
    chained: Iterable[ChainedEdge] = (),
    network: Iterable[NetworkEdge] = (),
) -> OperatorSpec:
    return OperatorSpec(
        operator_id(name), name, dump_code(operator), tuple(chained), tuple(network)
    )


def network_edge(
    index: int = 0,
    partitioner: StreamPartitioner | None = None,
    *,
    source: int = 0,
    target: int = 1,
    tag: str | None = None,
) -> NetworkEdge:
    chosen = partitioner or ForwardPartitioner()
    pickled = dump_code(chosen)
    return NetworkEdge(index, source, target, 0, pickled, tag, chosen.is_broadcast)


def set_up(
    partitioner: StreamPartitioner,
    targets: int,
    *,
    subtask: int = 0,
    parallelism: int = 1,
    max_parallelism: int = 128,
) -> StreamPartitioner:
    return partitioner.setup(
        operator="Sender",
        subtask=subtask,
        parallelism=parallelism,
        targets=targets,
        max_parallelism=max_parallelism,
    )


class ProgramBuilder:
    """Makes programs of vertices that are straight chains; edges leave a chain at its end."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._vertices: list[Vertex] = []
        self._edges = 0
        self._sources = 0

    def source(
        self, epochs: Sequence[Sequence[Any]], *operators: StreamOperator, **options: Any
    ) -> int:
        """Add a source that gives these records in each epoch, and what is chained to it."""
        head = SourceOperator(EpochSource([[Block(list(values))] for values in epochs]))
        return self.vertex(head, *operators, **options)

    def vertex(
        self,
        *operators: StreamOperator,
        inputs: Sequence[tuple[int, StreamPartitioner]] = (),
        names: Sequence[str] | None = None,
        parallelism: int = 1,
        max_parallelism: int = 128,
        is_shared: bool = False,
    ) -> int:
        """Add a chain of operators and return its index."""
        index = len(self._vertices)
        edges = [self._edge(index, sender, partitioner) for sender, partitioner in inputs]
        names = names or [f"Op{index}.{place}" for place in range(len(operators))]
        last = len(operators) - 1
        self._vertices.append(
            Vertex(
                index=index,
                vertex_id=f"vertex{index}",
                name=" -> ".join(names),
                operators=tuple(
                    operator_spec(
                        operator,
                        names[place],
                        chained=[] if place == last else [ChainedEdge(place + 1)],
                    )
                    for place, operator in enumerate(operators)
                ),
                parallelism=parallelism,
                max_parallelism=max_parallelism,
                level=max((self._vertices[edge.source].level for edge in edges), default=-1) + 1,
                inputs=tuple(edges),
                source=None if inputs else self._sources,
                is_shared=is_shared,
            )
        )
        self._sources += not inputs
        return index

    def _edge(self, target: int, sender: int, partitioner: StreamPartitioner) -> NetworkEdge:
        edge = network_edge(self._edges, partitioner, source=sender, target=target)
        self._edges += 1
        vertex = self._vertices[sender]
        *others, tail = vertex.operators
        tail = replace(tail, network=(*tail.network, edge))
        self._vertices[sender] = replace(vertex, operators=(*others, tail))
        return edge

    def build(self) -> Program:
        return Program(name="job", vertices=tuple(self._vertices), **self._options)


Tamper = Callable[[int, list[Buffer]], list[Buffer]]


def run_epoch(
    tasks: Tasks,
    epoch: Epoch,
    *,
    attempts: Callable[[int, int], str] = "{}.{}".format,
    tamper: Tamper = lambda level, buffers: buffers,
) -> list[Buffer]:
    """Run an epoch level by level, and return what reached the driver.

    Args:
        tasks: The subtasks of the process.
        epoch: The epoch.
        attempts: The attempt of a carrier, by level and number.
        tamper: What the exchange behind a level makes of its buffers.
    """
    layout = tasks.layout
    sent: list[Buffer] = []
    for level in range(layout.levels):
        received: dict[int, list[Buffer]] = defaultdict(list)
        for buffer in sent:
            received[buffer.carrier].append(buffer)
        sent = []
        for number in range(layout.carriers(level)):
            carrier = Carrier(layout, epoch, level, number, attempts(level, number), tasks)
            if level == 0:
                sent += carrier.control(number, layout.carriers(0))
                sent += carrier.finish()
            else:
                sent += carrier.run(sorted(received[number], key=lambda buffer: buffer.order))
        sent = tamper(level, sent)
    return sent


def tasks_for(program: Program, cores: int = 2) -> Tasks:
    return Tasks(Layout(program, cores))


def last_epoch(program: Program, **options: Any) -> Epoch:
    """Return the epoch in which all sources end."""
    sources = frozenset(vertex.source for vertex in program.vertices if vertex.source is not None)
    return Epoch("job", finishing=sources, is_last=True, **options)


def subtask_report(
    metrics: list[tuple[int, int, int, int, dict[str, Any]]],
    attempts: dict[int, str],
    handles: tuple[StateHandle, ...] | None = None,
    *,
    attempt: str = "a",
    **others: Any,
) -> SubtaskReport:
    return SubtaskReport(metrics, attempts, handles, attempt, SubtaskProgress(), **others)


def messages(buffers: Iterable[Buffer]) -> list[Message]:
    """Return what the driver is told, in the order in which it reads."""
    ordered = sorted(buffers, key=lambda buffer: buffer.order)
    return [Message._make(pickle.loads(buffer.payload)) for buffer in ordered]
