"""Driving one asynchronous function by hand, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.runtime.async_io.async_function import AsyncFunction, check_async_function
from penstock.runtime.async_io.async_wait import AsyncWaitOperator
from penstock.runtime.async_io.function_life import AsyncSettings
from penstock.runtime.async_io.loop.manual_event_loop import ManualEventLoop
from penstock.runtime.async_io.options import AsyncOptions, at_least
from penstock.runtime.async_io.retry_strategies import AsyncRetryStrategy
from penstock.runtime.exchange.elements import WatermarkStatus
from penstock.runtime.operator import StreamOperator
from penstock.testing.one_input_harness import OneInputOperatorHarness


class AsyncFunctionHarness(OneInputOperatorHarness):
    """Drives one asynchronous function: by records, watermarks and a clock of its own.

    Nobody sleeps: `asyncio.sleep` in the function, timeouts and the times between attempts pass when the
    test moves the clock, or waits for the end. All runs in this thread. The function is pickled first,
    as in a job, and a copy of it is opened.

    Args:
        function: An `AsyncFunction`, or what else `AsyncDataStream` takes.
        timeout: How long a call may take, in milliseconds; 0 for no limit.
        capacity: The most records under way.
        ordered: Whether results come in the order of their records.
        retry: How often a call is tried, and after which time. Default: once.
        options: See `AsyncOptions`. Default: none of it.
        drain_timeout: How long an epoch waits for calls at its end, in milliseconds.
        parallelism: How many subtasks the operator seems to have.
        subtask: Which of the subtasks this one is, from 0.
        job_parameters: The global parameters of the job. Default: none.
        processing_time: What the clock shows at first, in milliseconds.

    Raises:
        InvalidArgumentError: If the capacity is below 1 or the timeout below 0.
        InvalidFunctionError: If the function cannot be called so.
        FunctionNotSerializableError: If it cannot be pickled.
        UserFunctionError: If its `open` raises.

    Example:
        >>> import asyncio
        >>> async def slowly(seconds):
        ...     await asyncio.sleep(seconds)
        ...     return [f"slept {seconds} s"]
        >>> harness = AsyncFunctionHarness(slowly, timeout=60_000, ordered=False)
        >>> harness.process_element(30)
        >>> harness.process_element(20)
        >>> harness.set_processing_time(25_000)
        >>> harness.extract_output_values()
        ['slept 20 s']
        >>> harness.end_input()
        >>> harness.extract_output_values()
        ['slept 20 s', 'slept 30 s']
        >>> harness.close()
    """

    def __init__(
        self,
        function: AsyncFunction[Any, Any] | Callable[..., Any],
        *,
        timeout: int = 0,
        capacity: int = 100,
        ordered: bool = True,
        retry: AsyncRetryStrategy[Any] | None = None,
        options: AsyncOptions | None = None,
        drain_timeout: int = 10_000,
        parallelism: int = 1,
        subtask: int = 0,
        job_parameters: Mapping[str, str] | None = None,
        processing_time: int = 0,
    ) -> None:
        at_least("The capacity of an asynchronous operator", capacity)
        at_least("The timeout of an asynchronous operator", timeout, 0)
        settings = AsyncSettings(
            ordered=ordered,
            timeout=timeout,
            capacity=capacity,
            retry=retry,
            options=options or AsyncOptions(),
            drain_timeout=drain_timeout,
        )
        super().__init__(
            AsyncWaitOperator(check_async_function(function, "The harness"), settings),
            parallelism=parallelism,
            subtask=subtask,
            job_parameters=job_parameters,
            processing_time=processing_time,
        )

    @property
    def function(self) -> Any:
        """The copy of the function that runs."""
        assert isinstance(self.operator, AsyncWaitOperator)
        return self.operator.function.function

    def _set_up(self) -> StreamOperator:
        operator = super()._set_up()
        assert isinstance(operator, AsyncWaitOperator)
        operator.event_loop = self._event_loop = ManualEventLoop(self.get_processing_time())
        return operator

    def _close_state(self) -> None:
        super()._close_state()
        self._event_loop.close()

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """Give the operator a record: its call begins, if a full queue does not hold it back.

        Args:
            value: The record.
            timestamp: Its event timestamp in milliseconds; None for none.

        Raises:
            UserFunctionError: If a call has failed.
        """
        super().process_element(value, timestamp)
        self._settle()

    def process_watermark(self, timestamp: int) -> None:
        """Give the operator a watermark: it is emitted when all before it is.

        Args:
            timestamp: Milliseconds.

        Raises:
            InvalidArgumentError: If it is less than the one before.
        """
        super().process_watermark(timestamp)
        self._settle()

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        """Tell the operator that its input became idle, or active again.

        Args:
            status: What it became.
        """
        super().process_watermark_status(status)
        self._settle()

    def set_processing_time(self, timestamp: int) -> None:
        """Move the clock: what is to happen until then happens, and results are emitted.

        Args:
            timestamp: Milliseconds since the epoch.

        Raises:
            UserFunctionError: If a call has failed.
            InvalidArgumentError: If it is earlier than what the clock shows.
        """
        self._check_is_open("set_processing_time")
        self._check_is_no_step_back("The clock", timestamp, self.get_processing_time())
        self._event_loop.advance_to(timestamp)
        self._time.set_current_time(timestamp)

    def end_input(self) -> None:
        """End the input: waits, in virtual time, until all calls are done.

        Raises:
            UserFunctionError: If a call has failed.
            UnsupportedOperationError: If a call waits for what never comes.
        """
        super().end_input()
        self._settle()

    def snapshot(self) -> bytes:
        """End an epoch, and return what the operator takes along to the next one.

        Waits for calls as an epoch does, in virtual time. What is then under way is in the snapshot,
        and goes on.

        Returns:
            What `restore` takes.

        Raises:
            ValueNotSerializableError: If a record under way cannot be pickled.
        """
        snapshot = super().snapshot()
        self._settle()
        return snapshot

    def _settle(self) -> None:
        """Run what can run without time passing, and emit what came of it."""
        self._event_loop.run_ready()
        self._time.set_current_time(max(self._event_loop.now, self.get_processing_time()))
