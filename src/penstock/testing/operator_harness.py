"""Driving one operator by hand."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from penstock.datastream.functions.function_checks import Key, key_function
from penstock.errors import InvalidArgumentError, UnsupportedOperationError
from penstock.graph.unpicklable import pickle_by_value
from penstock.runtime.context import RuntimeContext
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import (
    Block,
    ChannelWatermark,
    EndOfInput,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from penstock.runtime.exchange.partitioners import KeyGroupStreamPartitioner
from penstock.runtime.exchange.watermarks.combined_watermark_status import CombinedWatermarkStatus
from penstock.runtime.job_pickle import load_code
from penstock.runtime.keys.key_groups import key_group_range
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.operator import StreamOperator
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.factory import create_backend
from penstock.runtime.task.chained_outputs import ChainingOutput, CountingOutput
from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.timers.internal_timer_service import InternalTimerService
from penstock.runtime.timers.key_grouped_priority_queue import KeyGroupedInternalPriorityQueue
from penstock.runtime.timers.processing_time_service import TestProcessingTimeService
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.testing.captured_output import CapturedOutput


class StateEntry(NamedTuple):
    """What a state remembers for one key.

    Attributes:
        state: The name of the state.
        key: The key.
        value: The value; a list or a dict if the state is one.
        namespace: What it belongs to under the key, such as a window; None for most.
    """

    state: str
    key: Any
    value: Any
    namespace: Any = None


class _Snapshot(NamedTuple):
    """How far an operator has come.

    Attributes:
        key_groups: The key groups of its subtask.
        state: Its keyed state and timers, and its broadcast state, by names.
        operator: What it takes along beside them.
        inputs: How far each of its inputs has come.
        watermark: How far they have come together.
        emitted: The last watermark it emitted.
        processing_time: What the clock showed.
    """

    key_groups: range
    state: dict[str, tuple[bytes, ...]]
    operator: bytes | None
    inputs: tuple[ChannelWatermark, ...]
    watermark: ChannelWatermark
    emitted: int
    processing_time: int


class OperatorHarness:
    """What the harnesses of all operators have in common.

    Args:
        operator: The operator.
        key_selectors: For each input what `key_by` would be given; None if it needs no keys.
        state_backend: Where keyed state lives: `hashmap` or `rocksdb`.
        parallelism: How many subtasks the operator seems to have.
        max_parallelism: Its number of key groups.
        subtask: Which of the subtasks this one is, from 0.
        job_parameters: The global parameters of the job. Default: none.
        processing_time: What the clock shows at first, in milliseconds.
        name: What messages call the operator. Default: as its class is called.

    Attributes:
        operator: The copy that runs.
    """

    operator: StreamOperator

    def __init__(
        self,
        operator: StreamOperator,
        *,
        key_selectors: Sequence[Key | None],
        state_backend: str = "hashmap",
        parallelism: int = 1,
        max_parallelism: int = 128,
        subtask: int = 0,
        job_parameters: Mapping[str, str] | None = None,
        processing_time: int = 0,
        name: str | None = None,
    ) -> None:
        self._name = name or type(operator).__name__.removesuffix("Operator")
        self._prototype = pickle_by_value(operator, f"Operator {self._name!r}")
        self._state_backend = state_backend
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._subtask = subtask
        self._key_groups = key_group_range(subtask, parallelism, max_parallelism)
        self._job_parameters = dict(job_parameters or {})
        self._partitioners = [
            None if selector is None else self._partition_by(selector) for selector in key_selectors
        ]
        self._output = CapturedOutput()
        self._is_open = False
        self._begin(
            _Snapshot(
                self._key_groups,
                {},
                None,
                (ChannelWatermark(),) * len(key_selectors),
                ChannelWatermark(),
                MIN_TIMESTAMP,
                processing_time,
            )
        )

    def _partition_by(self, key_selector: Key) -> KeyGroupStreamPartitioner:
        key = key_function(key_selector, "The harness")
        partitioner = KeyGroupStreamPartitioner(key).setup(
            operator=self._name,
            subtask=0,
            parallelism=1,
            targets=self._parallelism,
            max_parallelism=self._max_parallelism,
        )
        assert isinstance(partitioner, KeyGroupStreamPartitioner)
        return partitioner

    def _begin(self, snapshot: _Snapshot) -> None:
        """Make a new copy of the operator, and have it go on from a snapshot."""
        self._time = TestProcessingTimeService(snapshot.processing_time)
        self._epochs = (Epoch("harness", number) for number in itertools.count())
        operator = self.operator = self._set_up()
        self._entry = ChainingOutput(operator)
        self._is_open = True
        try:
            operator.open()
            self._go_on(snapshot)
        except BaseException:
            self._close_state()
            raise

    def _go_on(self, snapshot: _Snapshot) -> None:
        operator = self.operator
        for name, store in operator.stores("").items():
            for frame in snapshot.state.get(name, ()):
                store.apply(frame)
        self._status = CombinedWatermarkStatus(
            snapshot.inputs,
            snapshot.watermark,
            self._entry.emit_watermark,
            self._entry.emit_status,
        )
        watermark = snapshot.watermark.timestamp
        self._entry.watermark = operator.metrics.input_watermark = watermark
        operator.output.watermark = operator.metrics.output_watermark = snapshot.emitted
        operator.restore(snapshot.operator)
        if operator.timers is not None:
            operator.timers.resume(watermark)
        operator.begin_epoch(next(self._epochs))
        self._time.fire_due()

    def _set_up(self) -> StreamOperator:
        operator: StreamOperator = load_code(self._prototype)
        metrics = OperatorMetrics()
        state = self._create_state() if operator.is_stateful else None
        operator.setup(
            name=self._name,
            context=RuntimeContext(
                task_name=self._name,
                subtask=self._subtask,
                parallelism=self._parallelism,
                max_parallelism=self._max_parallelism,
                job_parameters=self._job_parameters,
                metrics=metrics.user,
                keyed_state=state,
            ),
            output=CountingOutput([self._output], metrics),
            metrics=metrics,
            to_driver=_tell_nobody,
            processing_time=self._time,
            state=state,
        )
        return operator

    def _create_state(self) -> KeyedStateBackend:
        return create_backend(
            self._state_backend,
            max_parallelism=self._max_parallelism,
            key_groups=self._key_groups,
            clock=self._time.current_processing_time,
            operator=self._name,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _block(self, number: int, value: Any, timestamp: int | None) -> Block:
        """Return a record of an input, with its key if it has one."""
        block = Block([value], None if timestamp is None else [timestamp])
        partitioner = self._partitioners[number]
        if partitioner is not None:
            ((subtask, block),) = partitioner.split(block)
            if subtask != self._subtask:
                raise InvalidArgumentError(
                    f"The key of the record {value!r} belongs to subtask {subtask}, and the harness "
                    f"is subtask {self._subtask}.",
                    hint="Give another record, or make a harness of that subtask.",
                )
        return block

    def set_processing_time(self, timestamp: int) -> None:
        """Move the clock: processing-time timers up to there fire.

        A timer for time T fires as soon as the clock shows T; in a job, when it has passed T.

        Args:
            timestamp: Milliseconds since the epoch.

        Raises:
            UserFunctionError: If the operator's function raises.
            InvalidArgumentError: If it is earlier than what the clock shows.
        """
        self._check_is_open("set_processing_time")
        self._check_is_no_step_back("The clock", timestamp, self.get_processing_time())
        self._time.set_current_time(timestamp)

    def get_processing_time(self) -> int:
        """Return what the clock shows, in milliseconds."""
        return self._time.current_processing_time()

    def end_input(self) -> None:
        """End the input, as at the end of a bounded job.

        The last watermark comes (2**63 - 1), and with it every event-time timer that is left fires.
        Processing-time timers do not fire any more.

        Raises:
            UserFunctionError: If the operator's function raises.
        """
        self._check_is_open("end_input")
        if self._entry.watermark < MAX_TIMESTAMP:
            self._entry.emit_watermark(MAX_TIMESTAMP)
        self._entry.end_input(EndOfInput())
        self._time.quiesce()
        self._entry.flush()

    def snapshot(self) -> bytes:
        """End an epoch, and return what the operator takes along to the next one.

        Returns:
            State, timers, watermarks and the clock, for `restore`.

        Raises:
            ValueNotSerializableError: If a value in state cannot be pickled.
            MutatedKeyError: If a key was changed after state was kept under it.
        """
        self._check_is_open("snapshot")
        operator = self.operator
        self._entry.flush()
        frames: dict[str, tuple[bytes, ...]] = {}
        for name, store in operator.stores("").items():
            frames[name] = tuple(store.everything())
            store.forget_changes()
        snapshot = _Snapshot(
            self._key_groups,
            frames,
            operator.snapshot(),
            self._status.inputs,
            self._status.progress._replace(timestamp=self._entry.watermark),
            operator.output.watermark,
            self.get_processing_time(),
        )
        operator.restore(snapshot.operator)
        operator.begin_epoch(next(self._epochs))
        return pickle.dumps(snapshot)

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot with a new copy of the operator, as after a failure.

        Its function is opened anew. What was emitted stays, and the clock does not go back.

        Args:
            snapshot: What `snapshot` returned; of this harness, or of another for the same operator,
                whatever its state backend.

        Raises:
            InvalidArgumentError: If it is of a subtask with other key groups.
            StateTypeMismatchError: If a state was written as another kind or type.
        """
        self._check_is_open("restore")
        taken: _Snapshot = pickle.loads(snapshot)
        if taken.key_groups != self._key_groups:
            raise InvalidArgumentError(
                f"The snapshot is of a subtask with the key groups {taken.key_groups}, and the harness "
                f"has the key groups {self._key_groups}.",
                hint="Restore it in a harness of equal parallelism, max_parallelism and subtask.",
            )
        now = max(taken.processing_time, self.get_processing_time())
        self.close()
        self._begin(taken._replace(processing_time=now))

    def close(self) -> None:
        """Close the operator and its state; what it emitted can still be asked for."""
        if not self._is_open:
            return
        self._time.shutdown()
        try:
            self.operator.close()
        finally:
            self._close_state()

    def _close_state(self) -> None:
        self._is_open = False
        for store in self.operator.stores("").values():
            store.close()

    def get_output(self) -> list[StreamRecord | Watermark | WatermarkStatus]:
        """Return what came out of the main output, in order, watermarks included."""
        return list(self._output.main)

    def extract_output_values(self) -> list[Any]:
        """Return the values that came out of the main output, in order."""
        return [found.value for found in self._output.main if isinstance(found, StreamRecord)]

    def get_side_output(self, tag: OutputTag) -> list[StreamRecord]:
        """Return the records that came out of a side output, in order.

        Args:
            tag: Names the side output.
        """
        return list(self._output.sides[tag.tag_id])

    def clear_output(self) -> None:
        """Forget what was emitted until now."""
        self._output.main.clear()
        self._output.sides.clear()

    def keyed_state_entries(self) -> list[StateEntry]:
        """Return what all states remember, in no particular order."""
        self._check_is_open("Looking at state")
        if not self.operator.is_stateful:
            return []
        return [
            StateEntry(state, key, value, namespace)
            for state, namespace, key, value in self.operator.state.entries()
        ]

    def num_keyed_state_entries(self) -> int:
        """Return for how many states and keys something is remembered."""
        return len(self.keyed_state_entries())

    def event_time_timers(self) -> list[InternalTimer]:
        """Return the event-time timers that are registered, the earliest first."""
        return _timers(service.event_time_queue for service in self._timer_services())

    def num_event_time_timers(self) -> int:
        """Return how many event-time timers are registered."""
        return len(self.event_time_timers())

    def processing_time_timers(self) -> list[InternalTimer]:
        """Return the processing-time timers that are registered, the earliest first."""
        return _timers(service.processing_time_queue for service in self._timer_services())

    def num_processing_time_timers(self) -> int:
        """Return how many processing-time timers are registered."""
        return len(self.processing_time_timers())

    def _timer_services(self) -> tuple[InternalTimerService, ...]:
        self._check_is_open("Looking at timers")
        return () if self.operator.timers is None else self.operator.timers.services

    def _check_is_open(self, what: str) -> None:
        if not self._is_open:
            raise UnsupportedOperationError(
                f"{what} comes too late: the harness is closed.",
                hint="Make another harness, and restore a snapshot in it where needed.",
            )

    def _check_is_no_step_back(self, what: str, timestamp: int, before: int) -> None:
        if timestamp < before:
            raise InvalidArgumentError(
                f"{what} of the harness cannot go back from {before} to {timestamp}.",
                hint="Make another harness for each run of the test.",
            )


def _tell_nobody(kind: str, content: Any) -> None:
    """Stand for the driver."""


def _timers(queues: Iterable[KeyGroupedInternalPriorityQueue]) -> list[InternalTimer]:
    timers = (timer for queue in queues for timer in queue.iterate())
    return sorted(timers, key=lambda timer: timer.timestamp)
