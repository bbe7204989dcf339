"""What can be said about asynchronous calls, beyond PyFlink's parameters."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from numbers import Real
from typing import Any

from penstock.common.time import Duration, Time
from penstock.errors import InvalidArgumentError
from penstock.runtime.output_tag import OutputTag, check_output_tag

TimeSpan = Duration | Time | timedelta | str | int
"""Whatever says how long something takes: see `Duration.of`. A number is of milliseconds."""


def at_least(what: str, value: Any, least: int = 1) -> None:
    """Make sure that a number is whole and not too small.

    Raises:
        InvalidArgumentError: If it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidArgumentError(
            f"{what} cannot be {value!r}.", hint=f"Give a whole number, at least {least}."
        )


def milliseconds(what: str, value: TimeSpan, least: int = 1) -> int:
    """Return a time in milliseconds.

    Raises:
        InvalidDurationError: If it is no time.
        InvalidArgumentError: If it is too short.
    """
    found = Duration.of(value).to_millis()
    if found < least:
        raise InvalidArgumentError(
            f"{what} cannot be {found} milliseconds.", hint=f"Give at least {least}."
        )
    return found


def plain_function(what: str, value: Any) -> None:
    """Make sure that something can be called, and answers at once.

    Raises:
        InvalidArgumentError: If it cannot be called, or is async.
    """
    if not callable(value):
        raise InvalidArgumentError(
            f"{what} was given {value!r}, which cannot be called.", hint="Give a function."
        )
    if inspect.iscoroutinefunction(value):
        raise InvalidArgumentError(
            f"{what} was given {value!r}, which is async: nobody would wait for it.",
            hint="Give a function that returns its answer at once.",
        )


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < math.inf


def _option(name: str, value: Any, kind: type) -> None:
    if value is not None and not isinstance(value, kind):
        raise InvalidArgumentError(
            f"{name} was given {value!r}.", hint=f"Give {kind.__name__}(...)."
        )


@dataclass(frozen=True)
class RateLimit:
    """How many calls may begin in a second, in each subtask of the operator.

    A token bucket: it holds `burst` tokens at most and gains `per_second` tokens a second; each
    attempt takes `weight` tokens, and waits for them in the order of records. The whole job begins at
    most `parallelism * per_second` calls a second. The timeout counts from when the first attempt has
    its tokens.

    Args:
        per_second: How many tokens come in a second.
        burst: How many tokens there are at first and at most. Default: those of one second, at least 1.
        weight: Takes a record and returns how many tokens its call takes: a number of words, say, for
            a model that is paid by the word. Default: 1 for each call.

    Raises:
        InvalidArgumentError: If a number is not above 0.

    Example:
        >>> RateLimit(50, burst=10).burst
        10
    """

    per_second: float
    burst: float | None = None
    weight: Callable[[Any], float] | None = None

    def __post_init__(self) -> None:
        for name, value in (("per_second", self.per_second), ("burst", self.burst)):
            if value is not None and not _is_positive(value):
                raise InvalidArgumentError(
                    f"The {name} of a rate limit cannot be {value!r}.",
                    hint="Give a number above 0.",
                )
        if self.weight is not None:
            plain_function("The weight of a rate limit", self.weight)


@dataclass(frozen=True)
class ProcessCapacity:
    """How many calls may be under way at once in each worker process, of all operators that share it.

    The capacity of an operator counts for each of its subtasks; this counts for all subtasks of all
    operators that name it and run in one process. The whole job has at most `calls` times the number
    of worker processes under way: on Spark, of its cores.

    Args:
        name: Names it: operators that call the same server share one.
        calls: The most calls under way. A call that waits before it is tried again is not.

    Raises:
        InvalidArgumentError: If `calls` is not at least 1.

    Example:
        >>> ProcessCapacity("geocoder", 8).calls
        8
    """

    name: str
    calls: int

    def __post_init__(self) -> None:
        at_least(f"The calls of the process capacity {self.name!r}", self.calls)


@dataclass(frozen=True)
class ResultCache:
    """Keeps results, so that records with equal keys are not asked for twice.

    Each subtask keeps its own, in memory, as long as its worker process lives. While a call for a key
    is under way, other records with that key wait for it. What failed is not kept. Records with equal
    keys get equal results, each its own.

    Args:
        size: The most keys; the one that was not used for the longest time goes first.
        time_to_live: How long a result is good for. Default: for ever.
        key: Takes a record and returns its key, which must be hashable. Default: the record itself.

    Raises:
        InvalidArgumentError: If the size is not at least 1, or the time less than 1 ms.

    Example:
        >>> ResultCache(10_000, time_to_live="5 min").size
        10000
    """

    size: int
    time_to_live: TimeSpan | None = None
    key: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        at_least("The size of a cache", self.size)
        if self.time_to_live is not None:
            milliseconds("The time to live of a cache", self.time_to_live)
        if self.key is not None:
            plain_function("The key of a cache", self.key)


@dataclass(frozen=True)
class Batching:
    """Gives the function several records at once.

    The function gets a list of records and returns a list of as many answers, in that order: for each
    record the list of its results, or an exception. What it raises itself is the answer for each.
    Timeouts and retries count for each record: one that is tried again comes in a later batch.

    Args:
        size: The most records of a batch; not more than the capacity.
        wait: How long the first record of a batch waits for others. Default: 10 ms.

    Raises:
        InvalidArgumentError: If the size is not at least 1, or the time negative.

    Example:
        >>> Batching(64).size
        64
    """

    size: int
    wait: TimeSpan = 10

    def __post_init__(self) -> None:
        at_least("The size of a batch", self.size)
        milliseconds("The wait of a batch", self.wait, 0)


class FailureKind(Enum):
    """What follows when a call has failed for good."""

    FAIL = "fail"
    DROP = "drop"
    FALLBACK = "fallback"
    SIDE_OUTPUT = "side output"


@dataclass(frozen=True)
class OnFailure:
    """What follows when a call has failed for good: when it raised, or took too long, and no retry is left.

    Make it by one of its methods.

    Example:
        >>> OnFailure.drop().kind.value
        'drop'
    """

    kind: FailureKind = FailureKind.FAIL
    results: list[Any] | Callable[[Any, BaseException], list[Any]] | None = None
    tag: OutputTag | None = None

    @staticmethod
    def fail() -> OnFailure:
        """Fail the job. This is the default."""
        return OnFailure()

    @staticmethod
    def drop() -> OnFailure:
        """Emit nothing for the record; it is counted in the operator's metrics."""
        return OnFailure(FailureKind.DROP)

    @staticmethod
    def fallback(
        results: list[Any] | Callable[[Any, BaseException], list[Any]],
    ) -> OnFailure:
        """Emit other results.

        Args:
            results: The results; or a function that takes the record and the error and returns them.

        Raises:
            InvalidArgumentError: If it is neither a function nor a list.
        """
        if not callable(results) and not isinstance(results, list):
            raise InvalidArgumentError(
                f"OnFailure.fallback() was given {results!r}.",
                hint="Give a list of results, or a function of record and error that returns one.",
            )
        if callable(results):
            plain_function("OnFailure.fallback()", results)
        return OnFailure(FailureKind.FALLBACK, results)

    @staticmethod
    def side_output(tag: OutputTag) -> OnFailure:
        """Emit the record and the error, as a tuple of two, in a side output.

        Args:
            tag: Names the side output: see `DataStream.get_side_output`. An error that cannot be
                pickled comes as a `UserFunctionError` with its text.

        Raises:
            InvalidArgumentError: If it is no `OutputTag`.
        """
        check_output_tag(tag, "OnFailure.side_output", 'Give an OutputTag("failed").')
        return OnFailure(FailureKind.SIDE_OUTPUT, tag=tag)


@dataclass(frozen=True)
class AsyncOptions:
    """What can be said about asynchronous calls, beyond PyFlink's parameters.

    Args:
        attempt_timeout: How long one attempt may take; it is then cancelled, and fails with an
            `AsyncTimeoutError`, which a retry strategy may take up. The operator's timeout counts for
            all attempts together. Default: no limit but that.
        retry_after: Takes what an attempt raised or returned, before it is tried again, and returns how
            many milliseconds to wait; None leaves that to the retry strategy. `retry_after_header` reads
            it from an HTTP response. Default: the strategy alone.
        retry_at_end: Whether a call may be tried again when the input has ended: PyFlink's operator
            does that. Java's does not: it tries all that wait for their next attempt at once, for the
            last time. Default: True.
        on_failure: What follows when a call has failed for good. Default: the job fails.
        rate_limit: How many calls may begin in a second. Default: no limit.
        process_capacity: How many calls may be under way in a worker process. Default: no limit but
            each subtask's capacity.
        cache: Which results are kept. Default: none.
        batching: How many records the function is given at once. Default: one, and not in a list.
        threads: How many threads a function that is not async runs in, for each subtask. Default: as
            many as the capacity, at most 32.

    Raises:
        InvalidArgumentError: If a number is too small, or what should be a function is none.

    Example:
        >>> options = AsyncOptions(attempt_timeout="500 ms", on_failure=OnFailure.drop())
        >>> options.on_failure.kind.value
        'drop'
    """

    attempt_timeout: TimeSpan | None = None
    retry_after: Callable[[Any], int | None] | None = None
    retry_at_end: bool = True
    on_failure: OnFailure = OnFailure()
    rate_limit: RateLimit | None = None
    process_capacity: ProcessCapacity | None = None
    cache: ResultCache | None = None
    batching: Batching | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.attempt_timeout is not None:
            milliseconds("The attempt_timeout", self.attempt_timeout)
        if self.retry_after is not None:
            plain_function("retry_after", self.retry_after)
        if not isinstance(self.on_failure, OnFailure):
            raise InvalidArgumentError(
                f"on_failure was given {self.on_failure!r}.", hint="For instance: OnFailure.drop()."
            )
        _option("rate_limit", self.rate_limit, RateLimit)
        _option("process_capacity", self.process_capacity, ProcessCapacity)
        _option("cache", self.cache, ResultCache)
        _option("batching", self.batching, Batching)
        if self.threads is not None:
            at_least("The number of threads", self.threads)


def checked_options(options: AsyncOptions | None, capacity: int) -> AsyncOptions:
    """Return options, sure to be some and to go with a capacity.

    Raises:
        InvalidArgumentError: If they are none, or want larger batches.
    """
    options = AsyncOptions() if options is None else options
    if not isinstance(options, AsyncOptions):
        raise InvalidArgumentError(
            f"options was given {options!r}.", hint="Give AsyncOptions(...)."
        )
    if options.batching is not None and options.batching.size > capacity:
        raise InvalidArgumentError(
            f"Batches of {options.batching.size} records would never be full: the capacity is "
            f"{capacity}.",
            hint="Raise the capacity, or make batches smaller.",
        )
    return options
