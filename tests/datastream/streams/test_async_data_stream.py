from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from tests.runtime.async_io import scripts

from penstock.common import Configuration, Duration, JobStatus, Row, Time, Types, WatermarkStrategy
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncOptions,
    AsyncRetryStrategy,
    Batching,
    DataStream,
    MapFunction,
    OnFailure,
    OutputTag,
    ProcessCapacity,
    RateLimit,
    ResultCache,
    ResultFuture,
    StreamExecutionEnvironment,
)
from penstock.datastream.async_retry_predicates import has_exception_predicate
from penstock.errors import (
    AsyncResultError,
    AsyncTimeoutError,
    InvalidArgumentError,
    InvalidDurationError,
    InvalidFunctionError,
    TypeMismatchError,
    UserFunctionError,
)
from penstock.runtime.async_io.async_wait import AsyncWaitOperator
from penstock.testing import TestingSource, local_environment

SECOND = Time.seconds(1)
RETRY: AsyncRetryStrategy[Any] = AsyncRetryStrategy.fixed_delay(2, 1, None, has_exception_predicate)
WAITS: list[Callable[..., DataStream]] = [
    AsyncDataStream.ordered_wait,
    AsyncDataStream.unordered_wait,
]
RETRYING_WAITS: list[Callable[..., DataStream]] = [
    AsyncDataStream.ordered_wait_with_retry,
    AsyncDataStream.unordered_wait_with_retry,
]


def numbers(count: int = 3) -> DataStream:
    return local_environment().from_collection([*range(count)])


async def square(number: int) -> list[int]:
    return [number * number]


class Square(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        return [value * value]


class SquareInThread(AsyncFunction[int, int]):
    def async_invoke(self, value: int) -> list[int]:  # type: ignore[override]
        return [value * value]


class SquareByCallback(AsyncFunction[int, int]):
    def async_invoke(self, value: int, result_future: ResultFuture) -> None:  # type: ignore[override]
        result_future.complete([value * value])


class WithCall:
    async def __call__(self, number: int) -> list[int]:
        return [number * number]


async def power(exponent: int, number: int) -> list[int]:
    return [number**exponent]


def begin_square(number: int) -> Any:
    return square(number)


FORMS: dict[str, Any] = {
    "async def": square,
    "class": Square(),
    "plain method": SquareInThread(),
    "callback": SquareByCallback(),
    "callable object": WithCall(),
    "bound method": Square().async_invoke,
    "partial": partial(power, 2),
    "plain": lambda number: [number * number],
    "plain that returns a coroutine": begin_square,
    "plain callback": lambda number, result_future: result_future.complete([number * number]),
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("function", FORMS.values(), ids=FORMS)
def test_all_forms_of_functions(wait: Callable[..., DataStream], function: Any) -> None:
    found = list(wait(numbers(), function, SECOND).execute_and_collect())
    assert sorted(found) == [0, 1, 4]


@pytest.mark.parametrize("timeout", [SECOND, Duration.of_seconds(1), 1000, "1 s"])
def test_timeouts_in_all_forms(timeout: Any) -> None:
    stream = AsyncDataStream.ordered_wait(numbers(), square, timeout)
    assert settings_of(stream).timeout == 1000


def settings_of(stream: DataStream) -> Any:
    operator = stream._transformation.operator  # type: ignore[attr-defined]
    assert isinstance(operator, AsyncWaitOperator)
    return operator._settings


def test_defaults() -> None:
    settings = settings_of(AsyncDataStream.unordered_wait(numbers(), square, SECOND))
    assert (settings.capacity, settings.ordered, settings.retry) == (100, False, None)
    assert settings.drain_timeout == 10_000
    assert settings.options == AsyncOptions()


def test_the_drain_timeout_is_configured() -> None:
    configuration = Configuration().set_string("execution.target", "local")
    configuration.set_string("async.drain-timeout", "2 s")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    stream = AsyncDataStream.ordered_wait(env.from_collection([1]), square, SECOND)
    assert settings_of(stream).drain_timeout == 2000


def test_no_timeout() -> None:
    assert list(AsyncDataStream.ordered_wait(numbers(), square, 0).execute_and_collect()) == [
        0,
        1,
        4,
    ]


@pytest.mark.parametrize("wait", [*WAITS, *RETRYING_WAITS])
@pytest.mark.parametrize("capacity", [0, -1, 1.5, True, "100"])
def test_capacities_that_are_none(wait: Callable[..., DataStream], capacity: Any) -> None:
    retry = [RETRY] if wait in RETRYING_WAITS else []
    with pytest.raises(InvalidArgumentError, match="capacity of an asynchronous operator"):
        wait(numbers(), square, SECOND, *retry, capacity)


@pytest.mark.parametrize("wait", WAITS)
def test_timeouts_below_0(wait: Callable[..., DataStream]) -> None:
    with pytest.raises((InvalidArgumentError, InvalidDurationError)):
        wait(numbers(), square, -1)


@pytest.mark.parametrize("wait", RETRYING_WAITS)
def test_retries_need_a_timeout(wait: Callable[..., DataStream]) -> None:
    with pytest.raises(
        InvalidArgumentError, match="timeout of an asynchronous operator that tries"
    ):
        wait(numbers(), square, 0, RETRY)


@pytest.mark.parametrize("wait", RETRYING_WAITS)
@pytest.mark.parametrize("strategy", [None, 3, AsyncRetryStrategy])
def test_retries_need_a_strategy(wait: Callable[..., DataStream], strategy: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="no AsyncRetryStrategy"):
        wait(numbers(), square, SECOND, strategy)


@pytest.mark.parametrize("wait", RETRYING_WAITS)
def test_retries(wait: Callable[..., DataStream]) -> None:
    class Flaky(AsyncFunction[int, int]):
        def open(self, runtime_context: Any) -> None:
            self.seen: set[int] = set()

        async def async_invoke(self, value: int) -> list[int]:
            if value not in self.seen:
                self.seen.add(value)
                raise ConnectionResetError
            return [value]

    assert sorted(wait(numbers(), Flaky(), SECOND, RETRY).execute_and_collect()) == [0, 1, 2]
    never: AsyncRetryStrategy[Any] = AsyncRetryStrategy.no_restart()
    with pytest.raises(UserFunctionError, match="ConnectionResetError"):
        list(wait(numbers(), Flaky(), SECOND, never).execute_and_collect())


async def many(number: int) -> Any:
    yield number


def generator(number: int) -> Iterator[int]:
    yield number


class AsyncTimeout(Square):
    async def timeout(self, value: int) -> list[int]:  # type: ignore[override]
        return []


class Mapper(MapFunction):
    def map(self, value: int) -> int:
        return value


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (None, "neither an AsyncFunction nor callable"),
        (7, "neither an AsyncFunction nor callable"),
        (Mapper(), "neither an AsyncFunction nor callable"),
        (Square, "the class Square"),
        (many, "yields its results"),
        (generator, "yields its results"),
        (lambda *, number: [number], "takes neither"),
        (lambda a, b, c: [], "takes neither"),
        (AsyncTimeout(), "timeout"),
    ],
)
def test_functions_that_are_none(function: Any, text: str) -> None:
    with pytest.raises(InvalidFunctionError, match=text):
        AsyncDataStream.ordered_wait(numbers(), function, SECOND)


def test_what_is_no_stream() -> None:
    with pytest.raises(InvalidArgumentError, match="no stream"):
        AsyncDataStream.ordered_wait([1, 2], square, SECOND)  # type: ignore[arg-type]


def test_what_are_no_options() -> None:
    with pytest.raises(InvalidArgumentError, match="options"):
        AsyncDataStream.ordered_wait(numbers(), square, SECOND, options={})  # type: ignore[arg-type]


def test_batches_that_would_never_be_full() -> None:
    with pytest.raises(InvalidArgumentError, match="never be full"):
        AsyncDataStream.ordered_wait(
            numbers(), square, SECOND, 10, options=AsyncOptions(batching=Batching(11))
        )


@pytest.mark.parametrize(
    "make",
    [
        lambda: RateLimit(0),
        lambda: RateLimit("1"),  # type: ignore[arg-type]
        lambda: RateLimit(float("inf")),
        lambda: RateLimit(1, burst=-1),
        lambda: RateLimit(1, weight=square),  # type: ignore[arg-type]
        lambda: RateLimit(1, weight=3),  # type: ignore[arg-type]
        lambda: ProcessCapacity("server", 0),
        lambda: ResultCache(0),
        lambda: ResultCache(1, time_to_live=0),
        lambda: ResultCache(1, key="name"),  # type: ignore[arg-type]
        lambda: Batching(0),
        lambda: AsyncOptions(attempt_timeout=0),
        lambda: AsyncOptions(retry_after=3),  # type: ignore[arg-type]
        lambda: AsyncOptions(retry_after=square),  # type: ignore[arg-type]
        lambda: AsyncOptions(on_failure="drop"),  # type: ignore[arg-type]
        lambda: AsyncOptions(rate_limit=5),  # type: ignore[arg-type]
        lambda: AsyncOptions(process_capacity=5),  # type: ignore[arg-type]
        lambda: AsyncOptions(cache=5),  # type: ignore[arg-type]
        lambda: AsyncOptions(batching=5),  # type: ignore[arg-type]
        lambda: AsyncOptions(threads=0),
        lambda: OnFailure.fallback("none"),  # type: ignore[arg-type]
        lambda: OnFailure.fallback(("a", 1)),  # type: ignore[arg-type]
        lambda: OnFailure.fallback(power),  # type: ignore[arg-type]
        lambda: AsyncRetryStrategy.fixed_delay(1, 1, None, square),  # type: ignore[arg-type]
        lambda: OnFailure.side_output("failed"),  # type: ignore[arg-type]
    ],
)
def test_options_that_are_none(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        make()


@pytest.mark.parametrize("result", [None, "abc"])
def test_what_is_no_list_of_results(result: Any) -> None:
    async def wrong(value: int) -> Any:
        return result

    with pytest.raises(AsyncResultError, match="Operator 'async wait operator' failed on the rec"):
        list(AsyncDataStream.ordered_wait(numbers(), wrong, SECOND).execute_and_collect())


def test_a_call_that_hangs() -> None:
    async def hangs(value: int) -> list[int]:
        await asyncio.sleep(3600)
        return [value]

    with pytest.raises(AsyncTimeoutError, match="longer than 20 milliseconds"):
        list(AsyncDataStream.unordered_wait(numbers(), hangs, 20).execute_and_collect())


@pytest.mark.parametrize("kind", ["async", "threads", "callback"])
@pytest.mark.parametrize("capacity", [1, 10])
def test_a_job_is_cancelled_while_calls_hang(kind: str, capacity: int) -> None:
    scripts.STARTED.clear()
    scripts.GO_ON.clear()

    async def hangs(value: int) -> list[int]:
        scripts.STARTED.set()
        await asyncio.sleep(3600)
        return [value]

    def hangs_in_thread(value: int) -> list[int]:
        scripts.STARTED.set()
        scripts.GO_ON.wait()
        return [value]

    def never_completes(value: int, result_future: ResultFuture) -> None:
        scripts.STARTED.set()

    function: Any = {"async": hangs, "threads": hangs_in_thread, "callback": never_completes}[kind]
    stream = numbers()
    AsyncDataStream.ordered_wait(stream, function, 0, capacity).print()
    client = stream.get_execution_environment().execute_async()
    assert scripts.STARTED.wait(30)
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    scripts.GO_ON.set()


def test_a_process_capacity_may_have_another_size_in_the_next_job() -> None:
    for calls in (1, 2):
        options = AsyncOptions(process_capacity=ProcessCapacity("resized", calls))
        squares = AsyncDataStream.ordered_wait(numbers(), square, SECOND, options=options)
        assert list(squares.execute_and_collect()) == [0, 1, 4]


def test_declared_names_name_the_results() -> None:
    async def pair(number: int) -> list[tuple[int, int]]:
        return [(number, number * number)]

    declared = Types.ROW_NAMED(["number", "square"], [Types.INT(), Types.INT()])
    rows = AsyncDataStream.ordered_wait(numbers(), pair, SECOND, 10, declared)
    assert rows.get_type() == declared
    squares = rows.map(lambda row: row.square)
    assert list(squares.execute_and_collect()) == [0, 1, 4]
    found = list(rows.execute_and_collect())
    assert isinstance(found[0], Row)
    triple = Types.ROW_NAMED(["a", "b", "c"], [Types.INT()] * 3)
    stream = AsyncDataStream.ordered_wait(numbers(), pair, SECOND, 10, triple)
    with pytest.raises(TypeMismatchError):
        list(stream.execute_and_collect())


def test_side_outputs_of_failed_calls() -> None:
    failed = OutputTag("failed")

    async def odd(number: int) -> list[int]:
        if number % 2 == 0:
            raise ValueError(number)
        return [number]

    stream = AsyncDataStream.ordered_wait(
        numbers(4), odd, SECOND, options=AsyncOptions(on_failure=OnFailure.side_output(failed))
    )
    texts = stream.get_side_output(failed).map(lambda pair: (pair[0], repr(pair[1])))
    both = stream.map(lambda number: (number, "")).union(texts)
    found = sorted(both.execute_and_collect())
    assert found == [(0, "ValueError(0)"), (1, ""), (2, "ValueError(2)"), (3, "")]


class Judge:
    """Changes what it was shown before, and gives out one and the same list."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.seen: list[Any] = []
        self.row = Row(0)

    def __call__(self, shown: Any) -> Any:
        if self.kind == "retry":
            shown[0].append("judged")
        for before in self.seen:
            before.clear()
        self.seen.append(shown)
        self.row[0] = shown[0]
        return {"retry": False, "weight": 1, "key": self.row}[self.kind]


@pytest.mark.parametrize("kind", ["retry", "weight", "key"])
def test_who_judges_records_and_results_changes_none_of_them(kind: str) -> None:
    tries: dict[int, int] = {}

    async def second_time(value: list[int]) -> list[Any]:
        tries[value[0]] = tries.get(value[0], 0) + 1
        if tries[value[0]] == 1:
            raise ValueError
        await asyncio.sleep(0.03 - 0.01 * value[0])
        return [[*value, tries[value[0]]] if kind == "key" else list(value)]

    judge = Judge(kind)
    options = AsyncOptions(
        rate_limit=RateLimit(1000, weight=judge) if kind == "weight" else None,
        cache=ResultCache(10, key=judge) if kind == "key" else None,
    )
    retry: AsyncRetryStrategy[Any] = AsyncRetryStrategy.fixed_delay(
        2, 1, judge if kind == "retry" else None, has_exception_predicate
    )
    records = local_environment().from_collection([[0], [1], [2], [1]])
    stream = AsyncDataStream.ordered_wait_with_retry(
        records, second_time, SECOND, retry, options=options
    )
    added: dict[str, list[Any]] = {"retry": ["judged"], "weight": [], "key": [2]}
    assert list(stream.execute_and_collect()) == [[number, *added[kind]] for number in (0, 1, 2, 1)]


def test_keyed_streams_come_without_keys() -> None:
    keyed = numbers(4).key_by(lambda number: number % 2)
    results = AsyncDataStream.ordered_wait(keyed, square, SECOND)
    assert not results._is_keyed
    assert sorted(results.execute_and_collect()) == [0, 1, 4, 9]


def test_it_is_chained_with_its_neighbours() -> None:
    stream = numbers().map(lambda number: number)
    plan = AsyncDataStream.ordered_wait(stream, square, SECOND).map(str)
    plan.print()
    found = plan.get_execution_environment().get_execution_plan()
    assert found.count("FORWARD") >= 2


def test_epochs_take_up_what_is_under_way() -> None:
    configuration = Configuration().set_string("execution.target", "local")
    configuration.set_string("async.drain-timeout", "0 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    source = TestingSource([[1], [2], [], [3]])
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")

    async def slowly(number: int) -> list[int]:
        await asyncio.sleep(0.02)
        return [number]

    results = AsyncDataStream.ordered_wait(stream, slowly, SECOND).key_by(lambda _: 0).sum()
    assert list(results.execute_and_collect()) == [1, 3, 6]


def test_metrics_are_in_the_result() -> None:
    stream = AsyncDataStream.ordered_wait(numbers(10), square, SECOND)
    stream.map(lambda number: number).add_sink(lambda number: None)
    result = stream.get_execution_environment().execute()
    (found,) = [
        report["user"]
        for report in result.metrics["operators"].values()
        if report["name"] == "async wait operator"
    ]
    assert (found["async.completed"], found["async.in_flight"]) == (10, 0)
    assert {"p50", "p95", "p99", "max"} == found["async.latency"].keys()
