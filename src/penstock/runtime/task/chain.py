"""A chain of operators: one call stack, built from its tail and opened from its tail."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable

from penstock.errors import PenstockError
from penstock.runtime.context import RuntimeContext
from penstock.runtime.exchange.elements import Block, ChannelWatermark, EndOfInput
from penstock.runtime.exchange.output import Output
from penstock.runtime.job_pickle import load_code
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.operator import StreamOperator, ToDriver, TwoInputOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.program import NetworkEdge, OperatorSpec, Program, Vertex
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.task.chained_outputs import (
    ChainingOutput,
    CopyingChainingOutput,
    CountingOutput,
)
from penstock.runtime.task.fused_operators import FusedOperators, can_join
from penstock.runtime.timers.processing_time_service import ProcessingTimeService

NetworkOutput = Callable[[NetworkEdge, OperatorSpec], Output]
"""Makes the output for an edge that leaves the chain."""


class OperatorChain:
    """The operators of one subtask of a vertex, wired to each other and to the network.

    Args:
        program: The program.
        vertex: The vertex whose chain this is.
        subtask: The index of the subtask.
        network_output: Makes the outputs for edges that leave the chain.
        to_driver: Sends something to the driver.
        processing_time: Tells the operators the time.
        keyed_state: Makes the keyed state of an operator that has any, given its name.

    Attributes:
        operators: The operators, head first.
        metrics: What each of them counts.
        entry: The output that leads into the head.
    """

    def __init__(
        self,
        program: Program,
        vertex: Vertex,
        subtask: int,
        network_output: NetworkOutput,
        to_driver: ToDriver,
        processing_time: ProcessingTimeService,
        keyed_state: Callable[[str], KeyedStateBackend],
    ) -> None:
        self._program = program
        self._vertex = vertex
        self._subtask = subtask
        self._network_output = network_output
        self._to_driver = to_driver
        self._processing_time = processing_time
        self._keyed_state = keyed_state
        self._built: dict[int, StreamOperator] = {}
        self.entry = self.create_chained_operator(0, None)
        self.operators = [self._built[index] for index in range(len(vertex.operators))]
        self.metrics = [operator.metrics for operator in self.operators]

    def create_output_collector(self, spec: OperatorSpec, metrics: OperatorMetrics) -> Output:
        """Make the output of an operator, and with it all operators behind it."""
        outputs: list[Output] = [self._network_output(edge, spec) for edge in spec.network]
        outputs += [self.create_chained_operator(edge.target, edge.tag) for edge in spec.chained]
        return CountingOutput(outputs, metrics)

    def create_chained_operator(self, index: int, tag: str | None) -> ChainingOutput:
        """Make an operator, behind its own outputs, and return the output that leads into it."""
        spec = self._vertex.operators[index]
        metrics = OperatorMetrics()
        output = self.create_output_collector(spec, metrics)
        operator: StreamOperator = load_code(spec.prototype)
        state = self._keyed_state(spec.name) if operator.is_stateful else None
        operator.setup(
            name=spec.name,
            context=RuntimeContext(
                task_name=spec.name,
                subtask=self._subtask,
                parallelism=self._vertex.parallelism,
                max_parallelism=self._vertex.max_parallelism,
                job_parameters=self._program.job_parameters,
                metrics=metrics.user,
                files=self._program.files,
                keyed_state=state,
            ),
            output=output,
            metrics=metrics,
            to_driver=self._to_driver,
            processing_time=self._processing_time,
            state=state,
            batch=self._program.batch,
            operator_id=spec.operator_id,
        )
        self._built[index] = operator
        is_copied = index > 0 and not self._program.object_reuse and not operator.takes_columns
        run = self._run_from(index)
        fused = FusedOperators(run) if len(run) > 1 else None
        return (CopyingChainingOutput if is_copied else ChainingOutput)(operator, tag, fused)

    def _run_from(self, index: int) -> list[StreamOperator]:
        """Return the operators from one on that can run as one loop: nothing between them matters."""
        run: list[StreamOperator] = []
        following: int | None = index
        while following is not None and can_join(run, self._built[following]):
            run.append(self._built[following])
            following = self._only_follower(self._vertex.operators[following])
        return run

    def _only_follower(self, spec: OperatorSpec) -> int | None:
        """Return the operator that gets all that another one emits, and the very same objects."""
        if spec.network or len(spec.chained) != 1 or not self._program.object_reuse:
            return None
        [edge] = spec.chained
        return edge.target if edge.tag is None else None

    def open(self) -> None:
        """Open the operators, tail to head, so that none emits to one that is not open."""
        with contextlib.ExitStack() as opened:
            for operator in reversed(self.operators):
                if self._program.is_profiled:
                    operator.show_calls()
                operator.open()
                opened.callback(_close_quietly, operator)
            opened.pop_all()

    def process(self, block: Block, split: Hashable = None, number: int = 0) -> None:
        """Send records through the chain: at a source those of one split, else those of one input."""
        head = self.operators[0]
        if isinstance(head, TwoInputOperator):
            head.metrics.records_in += len(block)
            (head.process_block2 if number else head.process_block1)(block)
        elif split is not None and isinstance(head, SourceOperator):
            head.metrics.records_in += len(block)
            head.process_split(block, split)
        else:
            self.entry.collect(block)

    def split_progress(self) -> tuple[tuple[Hashable, ChannelWatermark], ...]:
        """Return how far the splits have come whose watermarks leave the chain as they are."""
        head, *others = self.operators
        if not isinstance(head, SourceOperator) or any(
            isinstance(other, TimestampsAndWatermarksOperator) for other in others
        ):
            return ()
        return head.split_progress()

    def end_input(self) -> None:
        """Tell the operators, head to tail, that no record comes any more."""
        self.entry.end_input(EndOfInput())

    def flush(self) -> None:
        """Let the operators emit what they hold back, head to tail."""
        self.entry.flush()

    def close(self) -> None:
        """Close the operators, tail to head, also if one of them cannot be closed."""
        with contextlib.ExitStack() as closing:
            for operator in self.operators:
                closing.callback(operator.close)


def _close_quietly(operator: StreamOperator) -> None:
    """Close an operator whose chain cannot be opened: why it cannot is what the user has to hear."""
    with contextlib.suppress(PenstockError):
        operator.close()
