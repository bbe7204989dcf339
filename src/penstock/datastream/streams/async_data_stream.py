"""Asynchronous calls on a stream: of databases, HTTP services, models."""

from __future__ import annotations

from typing import Any

from penstock.common.configuration import options as configuration_options
from penstock.common.time import Duration, Time
from penstock.common.typeinfo.type_information import TypeInformation
from penstock.datastream.streams.data_stream import DataStream
from penstock.errors import InvalidArgumentError
from penstock.runtime.async_io.async_function import AnyAsyncFunction, check_async_function
from penstock.runtime.async_io.async_wait import AsyncWaitOperator
from penstock.runtime.async_io.function_life import AsyncSettings
from penstock.runtime.async_io.options import (
    AsyncOptions,
    TimeSpan,
    at_least,
    checked_options,
    milliseconds,
)
from penstock.runtime.async_io.retry_strategies import AsyncRetryStrategy, checked_strategy

__all__ = ["AsyncDataStream"]


class AsyncDataStream:
    """Calls an asynchronous function for each record of a stream, many at once.

    The function is an `AsyncFunction`, or an `async def` that takes a record and returns a list of
    results. A function that is not async runs in a pool of threads. One that takes a second argument is
    given a `ResultFuture`, which it completes when it has the results.

    `ordered_wait` emits results in the order of their records, `unordered_wait` as they come; but no
    result overtakes a watermark that came before its record, and none falls behind one that came after
    it. Results have the timestamps of their records.

    **Capacity** counts for each subtask of the operator: the whole job has at most
    `parallelism * capacity` records under way, waiting ones and watermarks included. When there are as
    many, the operator takes no more. `AsyncOptions.process_capacity` and `AsyncOptions.rate_limit` set
    further limits.

    **Timeout** counts for all attempts of a record together. The call is then cancelled, and its place
    is free. What `AsyncFunction.timeout` returns takes the place of the results; by default the call
    has failed. A failed call fails the job unless `AsyncOptions.on_failure` says otherwise.

    **Epochs.** In a streaming job an epoch waits at its end for calls until the youngest that could be
    emitted runs for `async.drain-timeout` (10 s), and the next one takes up the rest: where it runs in
    the same process, calls go on; in another one the function is called again. So a call that hangs
    delays other keys by no more than that time. Results are emitted exactly once; the function may be
    called more often, as after any failure.

    Example:
        >>> import asyncio
        >>> from penstock.common import Time
        >>> from penstock.testing import local_environment
        >>> async def ask(number):
        ...     await asyncio.sleep(0.003 * (3 - number))
        ...     return [number * number]
        >>> numbers = local_environment().from_collection([1, 2, 3])
        >>> squares = AsyncDataStream.ordered_wait(numbers, ask, Time.seconds(5))
        >>> list(squares.execute_and_collect())
        [1, 4, 9]
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AnyAsyncFunction,
        timeout: Time | Duration | TimeSpan,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        options: AsyncOptions | None = None,
    ) -> DataStream:
        """Call a function for each record, and emit results as they come.

        Args:
            data_stream: The stream.
            async_function: The function.
            timeout: How long a call may take; 0 for no limit.
            capacity: The most records under way in each subtask. Default: 100.
            output_type: The type of the results. Default: any.
            options: All that PyFlink has no parameter for. Not in PyFlink. Default: none of it.

        Returns:
            The results.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
            InvalidArgumentError: If the capacity is below 1 or the timeout below 0, or no stream is
                given.

        Example:
            >>> import asyncio
            >>> from penstock.common import Time
            >>> from penstock.testing import local_environment
            >>> async def slowly(number):
            ...     await asyncio.sleep(0.1 * number)
            ...     return [number]
            >>> numbers = local_environment().from_collection([2, 1, 0])
            >>> list(
            ...     AsyncDataStream.unordered_wait(numbers, slowly, Time.seconds(5))
            ...     .execute_and_collect()
            ... )
            [0, 1, 2]
        """
        settings = _settings(data_stream, timeout, capacity, None, options, ordered=False)
        return _wait(data_stream, async_function, settings, output_type)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AnyAsyncFunction,
        timeout: Time | Duration | TimeSpan,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        options: AsyncOptions | None = None,
    ) -> DataStream:
        """Call a function for each record, again where a strategy wants it; emit results as they come.

        Args:
            data_stream: The stream.
            async_function: The function.
            timeout: How long all attempts of a record may take together; more than 0.
            async_retry_strategy: How often a call is tried, and after which time.
            capacity: The most records under way in each subtask. Default: 100.
            output_type: The type of the results. Default: any.
            options: All that PyFlink has no parameter for. Not in PyFlink. Default: none of it.

        Returns:
            The results.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
            InvalidArgumentError: If the capacity or the timeout is below 1, the strategy is none, or no
                stream is given.
        """
        strategy = checked_strategy(async_retry_strategy)
        settings = _settings(data_stream, timeout, capacity, strategy, options, ordered=False)
        return _wait(data_stream, async_function, settings, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AnyAsyncFunction,
        timeout: Time | Duration | TimeSpan,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        options: AsyncOptions | None = None,
    ) -> DataStream:
        """Call a function for each record, and emit results in the order of the records.

        Args:
            data_stream: The stream.
            async_function: The function.
            timeout: How long a call may take; 0 for no limit.
            capacity: The most records under way in each subtask. Default: 100.
            output_type: The type of the results. Default: any.
            options: All that PyFlink has no parameter for. Not in PyFlink. Default: none of it.

        Returns:
            The results.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
            InvalidArgumentError: If the capacity is below 1 or the timeout below 0, or no stream is
                given.

        Example:
            What fails goes to a side output, with the error:

            >>> from penstock.common import Time
            >>> from penstock.datastream import AsyncOptions, OnFailure, OutputTag
            >>> from penstock.testing import local_environment
            >>> failed = OutputTag("failed")
            >>> async def parse(text):
            ...     return [int(text)]
            >>> parsed = AsyncDataStream.ordered_wait(
            ...     local_environment().from_collection(["1", "one"]), parse, Time.seconds(5),
            ...     options=AsyncOptions(on_failure=OnFailure.side_output(failed)),
            ... )
            >>> [(text, type(error)) for text, error in
            ...  parsed.get_side_output(failed).execute_and_collect()]
            [('one', <class 'ValueError'>)]
        """
        settings = _settings(data_stream, timeout, capacity, None, options, ordered=True)
        return _wait(data_stream, async_function, settings, output_type)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AnyAsyncFunction,
        timeout: Time | Duration | TimeSpan,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
        *,
        options: AsyncOptions | None = None,
    ) -> DataStream:
        """Call a function for each record, again where a strategy wants it; emit results in order.

        Args:
            data_stream: The stream.
            async_function: The function.
            timeout: How long all attempts of a record may take together; more than 0.
            async_retry_strategy: How often a call is tried, and after which time.
            capacity: The most records under way in each subtask. Default: 100.
            output_type: The type of the results. Default: any.
            options: All that PyFlink has no parameter for. Not in PyFlink. Default: none of it.

        Returns:
            The results.

        Raises:
            InvalidFunctionError: If the function cannot be called so.
            InvalidArgumentError: If the capacity or the timeout is below 1, the strategy is none, or no
                stream is given.

        Example:
            >>> from penstock.common import Time
            >>> from penstock.datastream import AsyncRetryStrategy
            >>> from penstock.datastream.async_retry_predicates import empty_result_predicate
            >>> from penstock.testing import local_environment
            >>> calls = []
            >>> async def third_time_lucky(value):
            ...     calls.append(value)
            ...     return [value] * (len(calls) == 3)
            >>> strategy = AsyncRetryStrategy.fixed_delay(5, 1, empty_result_predicate, None)
            >>> results = AsyncDataStream.ordered_wait_with_retry(
            ...     local_environment().from_collection(["a"]), third_time_lucky, Time.seconds(5),
            ...     strategy,
            ... )
            >>> list(results.execute_and_collect())
            ['a']
        """
        strategy = checked_strategy(async_retry_strategy)
        settings = _settings(data_stream, timeout, capacity, strategy, options, ordered=True)
        return _wait(data_stream, async_function, settings, output_type)


def _settings(
    data_stream: DataStream,
    timeout: TimeSpan,
    capacity: int,
    retry: AsyncRetryStrategy[Any] | None,
    options: AsyncOptions | None,
    *,
    ordered: bool,
) -> AsyncSettings:
    if not isinstance(data_stream, DataStream):
        raise InvalidArgumentError(
            f"{data_stream!r} is no stream.",
            hint="Give the DataStream whose records are to be asked for.",
        )
    at_least("The capacity of an asynchronous operator", capacity)
    what = "The timeout of an asynchronous operator"
    if retry is not None:
        what += " that tries again"
    options = checked_options(options, capacity)
    environment = data_stream.get_execution_environment()
    drain_timeout = environment._configuration.get(  # noqa: SLF001 - of the same package
        configuration_options.ASYNC_DRAIN_TIMEOUT
    )
    return AsyncSettings(
        ordered=ordered,
        timeout=milliseconds(what, timeout, 0 if retry is None else 1),
        capacity=capacity,
        retry=retry,
        options=options,
        drain_timeout=drain_timeout.to_millis(),
    )


def _wait(
    data_stream: DataStream,
    async_function: AnyAsyncFunction,
    settings: AsyncSettings,
    output_type: TypeInformation | None,
) -> DataStream:
    method = "ordered_wait" if settings.ordered else "unordered_wait"
    if settings.retry is not None:
        method += "_with_retry"
    function = check_async_function(async_function, f"{method}()")
    operator = AsyncWaitOperator(function, settings)
    return data_stream._transform(  # noqa: SLF001 - of the same package
        "async wait operator", operator, output_type
    )
