"""Process functions: any number of results for each record, to the main output and side outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Protocol

from penstock.errors import UnsupportedOperationError
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.operators.collector import Collector
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.timers.processing_time_service import ProcessingTimeService
from penstock.runtime.user_code import FAILURES, failing_record, function_failure


class ProcessContext:
    """What a process function may ask about the record it is called with."""

    __slots__ = ("record_timestamp", "timers")

    def __init__(self, timers: NoTimers) -> None:
        self.timers = timers
        self.record_timestamp: int | None = None

    def timestamp(self) -> int | None:
        """Return the event timestamp of the record in milliseconds, or None if it has none."""
        return self.record_timestamp

    def timer_service(self) -> NoTimers:
        """Return what tells the time; timers are for keyed streams only."""
        return self.timers


class NoTimers:
    """Tells the time to a function of a stream without keys, and refuses timers.

    Args:
        operator: The name of the operator, for messages.
        processing_time: Tells the processing time.
        metrics: Tells the watermark.
    """

    def __init__(
        self, operator: str, processing_time: ProcessingTimeService, metrics: OperatorMetrics
    ) -> None:
        self._operator = operator
        self._processing_time = processing_time
        self._metrics = metrics

    def current_processing_time(self) -> int:
        """Return the time in milliseconds since the epoch."""
        return self._processing_time.current_processing_time()

    def current_watermark(self) -> int:
        """Return the last watermark in milliseconds."""
        return self._metrics.input_watermark

    def _refuse(self, timestamp: int) -> NoReturn:
        raise UnsupportedOperationError(
            f"Operator {self._operator!r} set or deleted a timer for {timestamp}. Register timers is "
            "only supported on a keyed stream.",
            hint="Call key_by() before process(), and use a KeyedProcessFunction.",
        )

    register_processing_time_timer = _refuse
    register_event_time_timer = _refuse
    delete_processing_time_timer = _refuse
    delete_event_time_timer = _refuse


class ProcessOperator(FunctionOperator):
    """Emits all that the user's function returns or yields.

    A tuple of an `OutputTag` and a value goes to that side output.
    """

    method = "process_element"

    def open(self) -> None:
        timers = NoTimers(self.name, self.processing_time, self.metrics)
        self._context = ProcessContext(timers)
        super().open()

    @property
    def record_context(self) -> ProcessContext:
        """What the function may ask about the record it is called with."""
        return self._context

    @property
    def collector(self) -> Collector:
        """What takes results in the epoch that runs."""
        return self._collector

    def begin_epoch(self, epoch: Epoch) -> None:
        self._collector = Collector(self.output)

    def process_block(self, block: Block) -> None:
        process_records(self.name, block, self._call, self._context, self._collector)


class RecordContext(Protocol):
    """What may be asked about a record."""

    record_timestamp: int | None


def process_records(
    operator: str,
    block: Block,
    call: Callable[[Any, Any], Iterable[Any] | None],
    context: RecordContext,
    collector: Collector,
) -> None:
    """Call a user's function for each record of a block, and emit what it returns or yields.

    Args:
        operator: The name of the operator, for messages.
        block: The records.
        call: Takes a record and the context.
        context: What the function may ask.
        collector: Takes the results.

    Raises:
        UserFunctionError: If the function raises.
    """
    collect = collector.collect
    rest = iter(block.values)
    timestamps = block.timestamps or [None] * len(block.values)
    try:
        for value, timestamp in zip(rest, timestamps, strict=True):
            context.record_timestamp = timestamp
            results = call(value, context)
            if results is not None:
                collect(results, timestamp)
    except FAILURES as error:
        record = failing_record(block, rest)
        raise function_failure(error, operator, record, can_divert=True) from error
    collector.flush()
