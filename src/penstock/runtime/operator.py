"""What every operator can do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from penstock.common.typeinfo.conversion import Conversion
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.runtime.context import RuntimeContext
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.converting_output import converting
from penstock.runtime.exchange.elements import Block, WatermarkStatus
from penstock.runtime.exchange.output import Output
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.timers.internal_timer_service_manager import InternalTimerServiceManager
from penstock.runtime.timers.processing_time_service import ProcessingTimeService


class ToDriver(Protocol):
    """Sends something to the driver, which gets it when the epoch is complete."""

    def __call__(self, kind: str, content: Any) -> None: ...


class OperatorPart(NamedTuple):
    """What one subtask of an operator had when its job ended.

    Attributes:
        snapshot: What its `snapshot` gave.
        watermark: Its input watermark, in milliseconds.
    """

    snapshot: bytes | None
    watermark: int


class BatchOrder(Enum):
    """In what order keyed records come to an operator in BATCH mode."""

    AS_THEY_CAME = auto()
    BY_KEY = auto()
    """At the end, key by key and by their timestamps."""
    TIMED_BY_KEY = auto()
    """Those with a timestamp so; those without one need not wait: they come first, as they came."""


class ChainingStrategy(Enum):
    """Whether an operator may share a chain with its neighbours.

    Attributes:
        ALWAYS: Chained to its predecessor wherever the rules allow it.
        HEAD: Starts a chain; successors may be chained to it.
        NEVER: Neither its predecessor nor its successors are chained to it.
    """

    ALWAYS = "always"
    HEAD = "head"
    NEVER = "never"


class StreamOperator:
    """Base class of all operators.

    An instance that has not been set up is a prototype: plain data that pickles with the program.
    Each subtask sets up a copy of its own. The life of that copy: `setup`, then `open`, then for each
    epoch `begin_epoch`, blocks and in-band elements, `flush`; after the last epoch `end_input` and
    `close`. `open` runs once per process and subtask, never per epoch.

    Attributes:
        name: The name users see.
        operator_id: Its id, which stays the same from run to run.
        chaining_strategy: Whether the operator may share a chain with its neighbours.
        context: What the operator may ask about its task.
        output: Where its results go.
        conversion: Makes its results ones of the declared type; None if they are emitted as they are.
        metrics: What it counts.
        state: Its keyed state, if it has any.
        processing_time: Tells the time, and calls back when timers are due.
        timers: Its timers, if it has keyed state.
    """

    chaining_strategy: ChainingStrategy = ChainingStrategy.ALWAYS

    is_stateful: bool = False
    """Whether it has keyed state, which it is set up with: not every operator has that reads records by key."""

    batch_order: BatchOrder = BatchOrder.AS_THEY_CAME
    """In what order its keyed records come in BATCH mode."""

    @property
    def wants_wake_ups(self) -> bool:
        """Whether it may want epochs to come without records: for timers, or to find a split idle."""
        return False

    takes_columns: bool = False
    """Whether it works on columns, on whole batches of them, which are neither cut nor copied before it."""

    keeps_to_itself: bool = False
    """Whether nobody before or behind it sees what is done here to a value, nor when: it is an end."""

    needs_its_subtask: bool = False
    """Whether its snapshot is that of one subtask, and cannot be shared by several tasks.

    Such an operator is not chained to a stream that Spark reads: the tasks of that are other ones in
    every epoch.
    """

    keeps_records: bool = False
    """Whether its snapshot may hold records, so that it must not get lost."""

    result_type: TypeInformation | None = None
    """The declared type of its results, of which they are made values; None for any."""

    side_types: Mapping[str, TypeInformation] = MappingProxyType({})
    """The same of its side outputs, by the ids of their tags."""

    delivers_to: str = ""
    """Of a sink that prepares, its kind and where it delivers to: another sink has another one."""

    @property
    def kept_windows(self) -> str:
        """Which windows it has, and how they are kept, in words; empty for none."""
        return ""

    name: str
    operator_id: str
    context: RuntimeContext
    output: Output
    conversion: Conversion | None
    metrics: OperatorMetrics
    state: KeyedStateBackend
    processing_time: ProcessingTimeService
    timers: InternalTimerServiceManager | None

    def setup(
        self,
        *,
        name: str,
        context: RuntimeContext,
        output: Output,
        metrics: OperatorMetrics,
        to_driver: ToDriver,
        processing_time: ProcessingTimeService,
        state: KeyedStateBackend | None = None,
        batch: bool = False,
        operator_id: str = "",
    ) -> None:
        """Give the operator its place in a chain."""
        self.name = name
        self.operator_id = operator_id
        self.context = context
        self.output, self.conversion = converting(output, name, self.result_type, self.side_types)
        self.metrics = metrics
        self.to_driver = to_driver
        self.processing_time = processing_time
        self.timers = None
        if state is not None:
            self.state = state
            self.timers = InternalTimerServiceManager(
                state, state.timer_queue, processing_time, at_end=batch
            )
        self.batch = batch

    def stores(self, operator_id: str) -> dict[str, KeyedStateBackend]:
        """Return what its state is kept in, by names that begin with the operator's id."""
        return {operator_id: self.state} if self.is_stateful else {}

    def show_calls(self) -> None:
        """Let samples tell the user's functions from what calls them; called before `open`."""

    def begin_epoch(self, epoch: Epoch) -> None:
        """Get ready for the records of an epoch; called tail to head, so that it may emit."""

    def open(self) -> None:
        """Get ready for the first record; called tail to head of the chain."""

    def process_block(self, block: Block) -> None:
        """Process a block. This default calls `process_element` for each of its records."""
        process_element = self.process_element
        if block.timestamps is None:
            for value in block.values:
                process_element(value, None)
        else:
            for value, timestamp in zip(block.values, block.timestamps, strict=True):
                process_element(value, timestamp)

    def process_element(self, value: Any, timestamp: int | None) -> None:
        """Process one record."""
        raise TypeError(f"{type(self).__name__} takes blocks or records: define one of the two.")

    def process_watermark(self, timestamp: int) -> None:
        """Fire the timers that a watermark (milliseconds) completes, then forward it."""
        if self.timers is not None:
            self.timers.advance_watermark(timestamp)
        self.output.emit_watermark(timestamp)

    def process_status(self, status: WatermarkStatus) -> None:
        """Process a change between active and idle, then forward it."""
        self.output.emit_status(status)

    def snapshot(self) -> bytes | None:
        """Return what the operator takes along to the next epoch, beside keyed state; None for nothing."""
        return None

    def restore(self, snapshot: bytes | None) -> None:
        """Take over what `snapshot` or `merge_snapshots` gave; None begins anew.

        Called before `begin_epoch`, whatever became of the epoch before.
        """

    def next_wake_up(self) -> int | None:
        """Return the processing time (milliseconds) at which an epoch is due even without records."""
        return None

    def merge_snapshots(self, snapshots: list[bytes]) -> bytes:
        """Join the snapshots of tasks that read parts of one split; called on the prototype."""
        raise TypeError(f"Snapshots of {type(self).__name__} cannot be merged: {len(snapshots)}.")

    def redistribute(
        self,
        parts: Sequence[OperatorPart],
        subtask: int,
        parallelism: int,
        subtask_of: Callable[[Any], int] | None,
    ) -> bytes | None:
        """Return what one subtask takes up of others, of another number; called on the prototype.

        Args:
            parts: What they had, in their order; at least one has a snapshot.
            subtask: The index of the new subtask.
            parallelism: How many there are now.
            subtask_of: Tells the subtask that a record belongs to; None if any will do.

        Raises:
            NotImplementedError: If it cannot be divided anew.
        """
        raise NotImplementedError

    def flush(self) -> None:
        """Emit what is held back, as the epoch ends; called head to tail."""

    def end_input(self) -> None:
        """Finish what is under way; called head to tail, once.

        The last watermark has come before. What only the end allows to be emitted goes out with that, in
        `process_watermark`: behind it, it would be late.
        """

    def interrupt(self) -> None:
        """Wait no longer, and fail if that is not possible; called from another thread."""

    def close(self) -> None:
        """Let go of everything; called where the process still lives at the job's end."""


class TwoInputOperator(StreamOperator):
    """Base class of operators with two inputs. Such an operator is always the head of its chain.

    The watermark, the status and the end that it is told of are those of both inputs together.
    """

    @abstractmethod
    def process_block1(self, block: Block) -> None:
        """Process a block of the first input."""

    @abstractmethod
    def process_block2(self, block: Block) -> None:
        """Process a block of the second input."""
