"""Driving one process function by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.datastream.functions.function_checks import check_function
from penstock.datastream.functions.one_input import (
    KeyedProcessFunction,
    KeySelector,
    ProcessFunction,
)
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.process import ProcessOperator
from penstock.testing.one_input_harness import OneInputOperatorHarness


class ProcessFunctionHarness(OneInputOperatorHarness):
    """Drives one process function of a stream without keys.

    See `KeyedProcessFunctionHarness`.

    Args:
        function: A `ProcessFunction`, or what else `DataStream.process` takes.
        parallelism: How many subtasks the operator seems to have.
        max_parallelism: Its number of key groups.
        subtask: Which of the subtasks this one is, from 0.
        job_parameters: The global parameters of the job. Default: none.
        processing_time: What the clock shows at first, in milliseconds.

    Raises:
        InvalidFunctionError: If the function cannot be called so.
        FunctionNotSerializableError: If it cannot be pickled.
        UserFunctionError: If its `open` raises.

    Example:
        >>> from penstock.datastream import OutputTag
        >>> refused = OutputTag("refused")
        >>> def parse(text, ctx):
        ...     yield int(text) if text.isdigit() else (refused, text)
        >>> harness = ProcessFunctionHarness(parse)
        >>> harness.process_element("12", timestamp=5)
        >>> harness.process_element("twelve", timestamp=6)
        >>> harness.extract_output_values()
        [12]
        >>> harness.get_side_output(refused)
        [StreamRecord(value='twelve', timestamp=6)]
    """

    def __init__(
        self,
        function: ProcessFunction | Callable[[Any, Any], Iterable[Any] | None],
        *,
        parallelism: int = 1,
        max_parallelism: int = 128,
        subtask: int = 0,
        job_parameters: Mapping[str, str] | None = None,
        processing_time: int = 0,
    ) -> None:
        super().__init__(
            ProcessOperator(check_function(function, "process_element", 2, "The harness")),
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            subtask=subtask,
            job_parameters=job_parameters,
            processing_time=processing_time,
        )

    @property
    def function(self) -> Any:
        """The copy of the function that runs."""
        assert isinstance(self.operator, ProcessOperator)
        return self.operator.function.function


class KeyedProcessFunctionHarness(OneInputOperatorHarness):
    """Drives one process function of a keyed stream: by records, watermarks and a clock of its own.

    Nothing happens but what the test says, at once, in this thread. The function is pickled first, as
    in a job, and a copy of it is opened; lists that the test would have it append to are copied too.

    Args:
        function: A `KeyedProcessFunction`, or what else `KeyedStream.process` takes.
        key_selector: What `key_by` would be given.
        state_backend: Where keyed state lives: `hashmap` or `rocksdb`.
        parallelism: How many subtasks the operator seems to have.
        max_parallelism: Its number of key groups.
        subtask: Which of the subtasks this one is, from 0.
        job_parameters: The global parameters of the job. Default: none.
        processing_time: What the clock shows at first, in milliseconds.

    Raises:
        InvalidFunctionError: If the function cannot be called so.
        FunctionNotSerializableError: If it cannot be pickled.
        InvalidConfigurationValueError: If there is no such state backend.
        RocksDBNotFoundError: If the backend is `rocksdb` and rocksdict is not installed.
        UserFunctionError: If its `open` raises.

    Example:
        Who has not been heard of for a second?

        >>> from penstock.common import Types
        >>> from penstock.datastream import KeyedProcessFunction, ValueStateDescriptor
        >>> class Silence(KeyedProcessFunction):
        ...     def open(self, runtime_context):
        ...         self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        ...     def process_element(self, value, ctx):
        ...         if self.last.value() is not None:
        ...             ctx.timer_service().delete_event_time_timer(self.last.value() + 1000)
        ...         self.last.update(ctx.timestamp())
        ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1000)
        ...     def on_timer(self, timestamp, ctx):
        ...         yield f"{ctx.get_current_key()} is silent since {self.last.value()}"
        >>> harness = KeyedProcessFunctionHarness(Silence(), lambda name: name)
        >>> harness.process_element("ann", timestamp=0)
        >>> harness.process_element("bob", timestamp=100)
        >>> harness.process_element("ann", timestamp=700)
        >>> harness.process_watermark(1500)
        >>> harness.extract_output_values()
        ['bob is silent since 100']
        >>> [(timer.key, timer.timestamp) for timer in harness.event_time_timers()]
        [('ann', 1700)]
        >>> sorted(harness.keyed_state_entries())[0]
        StateEntry(state='last', key='ann', value=700, namespace=None)

        A snapshot is what a job would keep; whoever restores it goes on from there:

        >>> snapshot = harness.snapshot()
        >>> harness.close()
        >>> with KeyedProcessFunctionHarness(Silence(), lambda name: name) as restored:
        ...     restored.restore(snapshot)
        ...     restored.end_input()
        ...     restored.extract_output_values()
        ['ann is silent since 700']
    """

    def __init__(
        self,
        function: KeyedProcessFunction
        | ProcessFunction
        | Callable[[Any, Any], Iterable[Any] | None],
        key_selector: KeySelector | Callable[[Any], Any] | int | str,
        *,
        state_backend: str = "hashmap",
        parallelism: int = 1,
        max_parallelism: int = 128,
        subtask: int = 0,
        job_parameters: Mapping[str, str] | None = None,
        processing_time: int = 0,
    ) -> None:
        super().__init__(
            KeyedProcessOperator(check_function(function, "process_element", 2, "The harness")),
            key_selector=key_selector,
            state_backend=state_backend,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            subtask=subtask,
            job_parameters=job_parameters,
            processing_time=processing_time,
        )

    @property
    def function(self) -> Any:
        """The copy of the function that runs."""
        assert isinstance(self.operator, KeyedProcessOperator)
        return self.operator.function.function
