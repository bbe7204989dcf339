"""The asynchronous operator, in virtual time: nobody sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from tests.runtime.async_io import scripts
from tests.runtime.async_io.scripts import Ask, Scripted, ServerError, is_server_error, retries

from penstock.common import Row
from penstock.datastream import (
    AsyncFunction,
    AsyncOptions,
    AsyncRetryStrategy,
    Batching,
    OnFailure,
    OutputTag,
    ProcessCapacity,
    RateLimit,
    ResultCache,
    ResultFuture,
)
from penstock.errors import (
    AsyncResultError,
    AsyncTimeoutError,
    InvalidArgumentError,
    UnsupportedOperationError,
    UserFunctionError,
)
from penstock.runtime.elements import Block
from penstock.testing import AsyncFunctionHarness, StreamRecord, Watermark, WatermarkStatus


class Stop(BaseException):
    """What some libraries end a function with."""


def stop(error: BaseException) -> list[Any]:
    raise error


class Point(NamedTuple):
    x: int
    y: int


class Record:
    """A row as some database clients give it."""

    def keys(self) -> list[str]:
        return ["a", "b"]

    def __iter__(self) -> Iterator[int]:
        return iter([1, 2])

    def __repr__(self) -> str:
        return "<Record a=1 b=2>"


FAILED = OutputTag("failed")
BOTH = pytest.mark.parametrize("ordered", [True, False])


def scripted(**options: Any) -> AsyncFunctionHarness:
    return AsyncFunctionHarness(Scripted(), **options)


def values(harness: AsyncFunctionHarness) -> list[Any]:
    """What came out since the last call: values, and watermarks as `w1`."""
    found = [
        element.value if isinstance(element, StreamRecord) else f"w{element.timestamp}"
        for element in harness.get_output()
        if not isinstance(element, WatermarkStatus)
    ]
    harness.clear_output()
    return found


def metrics(harness: AsyncFunctionHarness) -> dict[str, Any]:
    return {
        name.removeprefix("async."): value
        for name, value in harness.operator.metrics.user.take().items()
    }


class TestOrder:
    def put_the_example(self, harness: AsyncFunctionHarness) -> None:
        harness.process_watermark(1)
        for name, delay in [("r1", 30), ("r2", 20), ("r3", 10)]:
            harness.process_element(Ask(name, (delay,)))
        harness.process_watermark(2)
        harness.process_element(Ask("r4", (5,)))

    def test_ordered(self) -> None:
        with scripted() as harness:
            self.put_the_example(harness)
            assert values(harness) == ["w1"]
            harness.set_processing_time(29)
            assert values(harness) == []
            harness.set_processing_time(30)
            assert values(harness) == ["r1", "r2", "r3", "w2", "r4"]

    def test_unordered(self) -> None:
        with scripted(ordered=False) as harness:
            self.put_the_example(harness)
            assert values(harness) == ["w1"]
            harness.set_processing_time(10)
            assert values(harness) == ["r3"]
            harness.set_processing_time(29)
            assert values(harness) == ["r2"]
            harness.set_processing_time(30)
            assert values(harness) == ["r1", "w2", "r4"]

    @BOTH
    def test_results_have_their_records_timestamps(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered) as harness:
            harness.process_element(Ask("a", (20,)), timestamp=7)
            harness.process_element(Ask("b", (20,)))
            harness.end_input()
            assert harness.get_output() == [
                StreamRecord("a", 7),
                StreamRecord("b"),
                Watermark(2**63 - 1),
            ]

    def test_a_change_of_status_keeps_its_place(self) -> None:
        with scripted() as harness:
            harness.process_element(Ask("a", (20,)))
            harness.process_watermark_status(WatermarkStatus.IDLE)
            assert harness.get_output() == []
            harness.set_processing_time(20)
            assert harness.get_output() == [StreamRecord("a"), WatermarkStatus.IDLE]

    def test_several_results_or_none(self) -> None:
        async def spread(number: int) -> list[int]:
            return [number] * number

        with AsyncFunctionHarness(spread) as harness:
            for number in (2, 0, 1):
                harness.process_element(number, timestamp=number)
            assert harness.get_output() == [
                *[StreamRecord(2, 2), StreamRecord(2, 2)],
                StreamRecord(1, 1),
            ]


class TestCapacity:
    @BOTH
    def test_a_full_queue_makes_the_task_wait(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered, capacity=2) as harness:
            for name in range(6):
                harness.process_element(Ask(name, (10,)))
            assert harness.get_processing_time() == 20
            assert sorted(values(harness)) == [0, 1, 2, 3]
            assert harness.function.most_running == 2
            harness.end_input()
            assert harness.function.most_running == 2

    @pytest.mark.parametrize("settings", [{"capacity": 0}, {"timeout": -1}])
    def test_what_the_harness_is_not_given(self, settings: dict[str, int]) -> None:
        with pytest.raises(InvalidArgumentError):
            scripted(**settings)

    def test_watermarks_take_room(self) -> None:
        with scripted(capacity=2) as harness:
            harness.process_element(Ask("a", (10,)))
            harness.process_watermark(1)
            assert harness.get_processing_time() == 0
            harness.process_watermark(2)
            assert harness.get_processing_time() == 10

    @BOTH
    def test_a_block_larger_than_the_capacity(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered, capacity=3) as harness:
            harness._entry.collect(Block([Ask(name, (10,)) for name in range(20)]))
            harness.end_input()
            assert values(harness)[:-1] == [*range(20)]
            assert harness.function.most_running == 3
            # Each begins when another ends, and not only when there is room in the queue.
            assert [time for _, time in harness.function.times] == [n // 3 * 10 for n in range(20)]

    def test_calls_that_do_not_end_when_cancelled_take_no_place(self) -> None:
        async def stubborn(value: int) -> list[int]:
            while value < 3:
                try:
                    await asyncio.sleep(10)
                    break
                except asyncio.CancelledError:
                    continue
            return [value]

        drop = AsyncOptions(on_failure=OnFailure.drop())
        with AsyncFunctionHarness(stubborn, timeout=100, capacity=1, options=drop) as harness:
            harness._entry.collect(Block([0, 1, 2, 3, 4]))
            harness.end_input()
            assert values(harness)[:-1] == [3, 4]

    def test_one_at_a_time(self) -> None:
        with scripted(capacity=1, ordered=False) as harness:
            for name in range(3):
                harness.process_element(Ask(name, (10,)))
                harness.process_watermark(name)
            harness.end_input()
            assert values(harness)[:-1] == [0, "w0", 1, "w1", 2, "w2"]


class TestTimeout:
    @BOTH
    def test_a_call_that_takes_too_long_is_cancelled_and_fails(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered, timeout=100) as harness:
            harness.process_element(Ask("slow", (1000,)))
            harness.set_processing_time(99)
            with pytest.raises(AsyncTimeoutError) as caught:
                harness.set_processing_time(100)
            assert "longer than 100 milliseconds" in str(caught.value)
            assert "Operator 'AsyncWait' failed on the record Ask(name='slow'" in str(caught.value)
            assert caught.value.operator == "AsyncWait"
            assert harness.function.cancelled == ["slow"]
            assert harness.function.running == 0

    def test_what_timeout_returns_takes_the_place_of_the_results(self) -> None:
        with scripted(timeout=100) as harness:
            harness.process_element(Ask("slow", (1000,), late=("sorry", "again")), timestamp=3)
            harness.process_element(Ask("fast", (10,)))
            harness.set_processing_time(2000)
            assert values(harness) == ["sorry", "again", "fast"]
            assert metrics(harness)["timed_out"] == 1

    def test_what_comes_in_time_is_not_timed_out(self) -> None:
        with scripted(timeout=100) as harness:
            harness.process_element(Ask("fast", (99,), late=("sorry",)))
            harness.set_processing_time(1000)
            assert values(harness) == ["fast"]
            assert metrics(harness)["timed_out"] == 0

    def test_time_counts_from_when_there_was_room(self) -> None:
        with scripted(timeout=100, capacity=1) as harness:
            for name in range(5):
                harness.process_element(Ask(name, (60,)))
            harness.end_input()
            assert values(harness)[:-1] == [0, 1, 2, 3, 4]

    def test_a_place_is_free_at_once(self) -> None:
        with scripted(timeout=100, capacity=1, ordered=False) as harness:
            harness.process_element(Ask("hangs", (10**9,), late=()))
            harness.process_element(Ask("next", (10,)))
            assert harness.get_processing_time() == 100
            harness.end_input()
            assert values(harness)[:-1] == ["next"]

    def test_a_timeout_that_raises(self) -> None:
        class Raises(Scripted):
            def timeout(self, value: Ask) -> list[Any]:
                raise KeyError("not in time")

        with AsyncFunctionHarness(Raises(), timeout=100) as harness:
            harness.process_element(Ask("slow", (1000,)))
            with pytest.raises(UserFunctionError, match=r"KeyError: 'not in time'"):
                harness.set_processing_time(100)

    @pytest.mark.parametrize("error", [Stop, asyncio.CancelledError])
    def test_a_timeout_that_raises_what_is_no_exception(self, error: type[BaseException]) -> None:
        class Raises(Scripted):
            def timeout(self, value: Ask) -> list[Any]:
                raise error

        with AsyncFunctionHarness(Raises(), timeout=100) as harness:
            harness.process_element(Ask("slow", (1000,)))
            with pytest.raises(UserFunctionError, match=error.__name__):
                harness.set_processing_time(100)

    def test_no_timeout(self) -> None:
        with scripted() as harness:
            harness.process_element(Ask("slow", (10**9,)))
            harness.end_input()
            assert values(harness)[:-1] == ["slow"]

    def test_who_ignores_its_cancellation_is_not_heard_any_more(self) -> None:
        async def stubborn(value: str) -> list[str]:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                await asyncio.sleep(10)
            return [value]

        drop = AsyncOptions(on_failure=OnFailure.drop())
        with AsyncFunctionHarness(stubborn, timeout=100, options=drop) as harness:
            harness.process_element("a")
            harness.end_input()
            harness_output = values(harness)
            assert harness_output[:-1] == []

    def test_an_attempt_that_takes_too_long_is_tried_again(self) -> None:
        with scripted(
            timeout=1000,
            retry=AsyncRetryStrategy.fixed_delay(1, 50, None, is_timeout),
            options=AsyncOptions(attempt_timeout=100),
        ) as harness:
            harness.process_element(Ask("a", (500, 20)))
            harness.end_input()
            assert values(harness)[:-1] == ["a"]
            assert harness.function.times == [("a", 0), ("a", 150)]
            assert harness.function.cancelled == ["a"]

    def test_an_attempt_that_takes_too_long_fails_without_retries(self) -> None:
        with scripted(timeout=1000, options=AsyncOptions(attempt_timeout=100)) as harness:
            harness.process_element(Ask("a", (500,)))
            with pytest.raises(AsyncTimeoutError, match="Attempt 1 took longer than 100 mill"):
                harness.end_input()

    def test_a_timeout_error_of_the_functions_own_is_not_ours(self) -> None:
        async def fails(value: str) -> list[str]:
            raise TimeoutError("by the server")

        with (
            AsyncFunctionHarness(fails, options=AsyncOptions(attempt_timeout=100)) as harness,
            pytest.raises(UserFunctionError, match="by the server"),
        ):
            harness.process_element("a")


def is_timeout(error: Exception) -> bool:
    return isinstance(error, AsyncTimeoutError)


class TestRetries:
    def test_tries_are_one_more_than_the_attempts(self) -> None:
        with scripted(timeout=10_000, retry=retries(3)) as harness:
            harness.process_element(Ask("a", failures=3))
            harness.end_input()
            assert values(harness)[:-1] == ["a"]
            assert harness.function.times == [("a", 0), ("a", 100), ("a", 200), ("a", 300)]
            assert metrics(harness)["retried"] == 3

    def test_the_last_failure_fails(self) -> None:
        with scripted(timeout=10_000, retry=retries(3)) as harness:
            harness.process_element(Ask("a", failures=4))
            with pytest.raises(UserFunctionError, match="ServerError: no answer for a"):
                harness.end_input()
            assert harness.function.calls["a"] == 4

    def test_results_that_are_not_good_enough(self) -> None:
        with scripted(timeout=10_000, retry=retries(2)) as harness:
            harness.process_element(Ask("a", failures=2, raises=False))
            harness.process_element(Ask("b", failures=3, raises=False))
            harness.end_input()
            assert values(harness)[:-1] == ["a"]

    def test_other_errors_fail_at_once(self) -> None:
        async def fails(value: str) -> list[str]:
            raise KeyError(value)

        with AsyncFunctionHarness(fails, timeout=1000, retry=retries(3)) as harness:
            with pytest.raises(UserFunctionError, match="KeyError"):
                harness.process_element("a")
            assert harness.get_processing_time() == 0

    def test_the_timeout_counts_for_all_attempts(self) -> None:
        with scripted(timeout=250, retry=retries(100)) as harness:
            harness.process_element(Ask("a", failures=1000, late=("late",)))
            harness.process_element(Ask("b", failures=1))
            harness.set_processing_time(10_000)
            assert values(harness) == ["late", "b"]
            assert harness.function.calls == {"a": 3, "b": 2}

    def test_what_timeout_gives_is_not_tried_again(self) -> None:
        with scripted(timeout=50, retry=retries(3)) as harness:
            harness.process_element(Ask("a", (1000,), late=()))
            harness.set_processing_time(5000)
            assert values(harness) == []
            assert harness.function.calls["a"] == 1

    def test_records_do_not_share_their_delays(self) -> None:
        strategy: AsyncRetryStrategy[Any] = AsyncRetryStrategy.exponential_backoff(
            4, 100, 800, 2, None, is_server_error
        )
        with scripted(timeout=10_000, retry=strategy) as harness:
            for name in "ab":
                harness.process_element(Ask(name, failures=4))
            harness.end_input()
            for name in "ab":
                times = [time for asked, time in harness.function.times if asked == name]
                assert times == [0, 100, 300, 700, 1500]

    def test_jitter_lies_around_the_delay(self) -> None:
        strategy: AsyncRetryStrategy[Any] = AsyncRetryStrategy.exponential_backoff(
            9, 1000, 1000, 1, None, is_server_error, jitter=0.2
        )
        waits = {strategy.get_backoff_time_millis(1) for _ in range(200)}
        assert len(waits) > 50
        assert min(waits) >= 800
        assert max(waits) <= 1200

    def test_the_server_says_when(self) -> None:
        def wish(outcome: Any) -> int | None:
            return 1234 if "b" in str(outcome) else None

        options = AsyncOptions(retry_after=wish)
        with scripted(timeout=10_000, retry=retries(1), options=options) as harness:
            for name in "ab":
                harness.process_element(Ask(name, failures=1))
            harness.end_input()
            assert harness.function.times[2:] == [("a", 100), ("b", 1234)]

    def test_at_the_end_retries_go_on(self) -> None:
        with scripted(timeout=10**6, retry=retries(5, 1000)) as harness:
            harness.process_element(Ask("a", failures=5))
            harness.end_input()
            assert values(harness)[:-1] == ["a"]
            assert harness.get_processing_time() == 5000

    def test_at_the_end_one_last_attempt_as_in_java(self) -> None:
        options = AsyncOptions(retry_at_end=False, on_failure=OnFailure.side_output(FAILED))
        with scripted(timeout=10**6, retry=retries(5, 1000), options=options) as harness:
            harness.process_element(Ask("lucky", failures=1))
            harness.process_element(Ask("not", failures=2))
            harness.process_element(Ask("running", (10,), failures=1))
            harness.end_input()
            assert harness.function.times[3:] == [("lucky", 0), ("not", 0)]
            assert harness.get_processing_time() == 10
            failed = [record.value[0].name for record in harness.get_side_output(FAILED)]
            assert failed == ["not", "running"]
            assert values(harness)[:-1] == ["lucky"]

    def test_a_predicate_that_raises(self) -> None:
        strategy: AsyncRetryStrategy[Any] = AsyncRetryStrategy.fixed_delay(1, 1, None, int)  # type: ignore[arg-type]
        with (
            scripted(timeout=1000, retry=strategy) as harness,
            pytest.raises(UserFunctionError, match="TypeError"),
        ):
            harness.process_element(Ask("a", failures=1))


class TestFailure:
    def test_the_job_fails_at_once(self) -> None:
        with scripted() as harness:
            harness.process_element(Ask("slow", (1000,)))
            with pytest.raises(UserFunctionError) as caught:
                harness.process_element(Ask("a", failures=1))
            assert "ServerError: no answer for a" in str(caught.value)
            assert "raise ServerError" in str(caught.value)
            assert "runtime/async_io/invoker" not in str(caught.value)
            assert caught.value.record == repr(Ask("a", failures=1))

    def test_a_function_that_exits(self) -> None:
        async def exits(value: str) -> list[str]:
            raise SystemExit(3)

        with AsyncFunctionHarness(exits) as harness, pytest.raises(UserFunctionError):
            harness.process_element("a")

    @pytest.mark.parametrize("error", [Stop, KeyboardInterrupt, GeneratorExit])
    @pytest.mark.parametrize(
        "options",
        [
            AsyncOptions(),
            AsyncOptions(batching=Batching(1)),
            AsyncOptions(cache=ResultCache(1)),
            AsyncOptions(process_capacity=ProcessCapacity("server", 1)),
            AsyncOptions(on_failure=OnFailure.fallback(lambda value, error: stop(error))),
        ],
        ids=["plain", "batched", "cached", "limited", "fallback"],
    )
    def test_a_function_that_raises_what_is_no_exception(
        self, error: type[BaseException], options: AsyncOptions
    ) -> None:
        async def raises(value: str) -> list[str]:
            raise error

        with (
            AsyncFunctionHarness(raises, options=options) as harness,
            pytest.raises(UserFunctionError, match=error.__name__),
        ):
            harness.process_element("a")

    def test_what_a_call_leaves_in_its_context_no_other_meets(self) -> None:
        async def counts(value: str) -> list[str]:
            before = scripts.WHO.get()
            scripts.WHO.set(value)
            return [f"{before} {value}"]

        with AsyncFunctionHarness(counts) as harness:
            harness.operator.process_block(Block(["a", "b", "c"]))
            harness.end_input()
            assert values(harness)[:-1] == ["nobody a", "nobody b", "nobody c"]

    def test_a_cancellation_that_comes_too_late_strikes_no_other(self) -> None:
        async def cancels_the_next(value: str) -> list[str]:
            if value == "a":
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            else:
                await asyncio.sleep(0)
            return [value]

        with AsyncFunctionHarness(cancels_the_next) as harness:
            harness.operator.process_block(Block(["a", "b", "c"]))
            harness.end_input()
            assert values(harness)[:-1] == ["a", "b", "c"]

    def test_a_function_that_cancels_itself(self) -> None:
        async def cancels(value: str) -> list[str]:
            raise asyncio.CancelledError

        with (
            AsyncFunctionHarness(cancels) as harness,
            pytest.raises(UserFunctionError, match="CancelledError"),
        ):
            harness.process_element("a")

    @pytest.mark.parametrize(
        ("on_failure", "expected"),
        [
            (OnFailure.drop(), ["ok"]),
            (OnFailure.fallback(["x", "y"]), ["x", "y", "ok"]),
            (OnFailure.fallback(lambda ask, error: [f"{ask.name}: {error}"]), None),
        ],
    )
    def test_dropped_or_replaced(self, on_failure: OnFailure, expected: list[str] | None) -> None:
        with scripted(options=AsyncOptions(on_failure=on_failure)) as harness:
            harness.process_element(Ask("a", failures=1))
            harness.process_element(Ask("ok"))
            assert values(harness) == (expected or ["a: no answer for a", "ok"])
            found = metrics(harness)
            assert (found["failed"], found["completed"], found["in_flight"]) == (1, 1, 0)

    def test_timeouts_are_failures_too(self) -> None:
        options = AsyncOptions(on_failure=OnFailure.fallback(["late"]))
        with scripted(timeout=10, options=options) as harness:
            harness.process_element(Ask("a", (1000,)))
            harness.end_input()
            assert values(harness)[:-1] == ["late"]

    def test_a_side_output_gets_record_and_error(self) -> None:
        options = AsyncOptions(on_failure=OnFailure.side_output(FAILED))
        with scripted(options=options) as harness:
            ask = Ask("a", failures=1)
            harness.process_element(ask, timestamp=4)
            ((value, error),) = [record.value for record in harness.get_side_output(FAILED)]
            assert value == ask
            assert type(error) is ServerError
            assert harness.get_side_output(FAILED)[0].timestamp == 4

    def test_an_error_that_cannot_be_pickled_comes_as_its_text(self) -> None:
        class Picky(Exception):
            def __init__(self, one: int, two: int) -> None:
                super().__init__("picky")

        async def fails(value: str) -> list[str]:
            raise Picky(1, 2)

        options = AsyncOptions(on_failure=OnFailure.side_output(FAILED))
        with AsyncFunctionHarness(fails, options=options) as harness:
            harness.process_element("a")
            ((_, error),) = [record.value for record in harness.get_side_output(FAILED)]
            assert type(error) is UserFunctionError
            assert "Picky: picky" in str(error)

    def test_a_fallback_that_raises(self) -> None:
        options = AsyncOptions(on_failure=OnFailure.fallback(lambda ask, error: ask.nothing))
        with (
            scripted(options=options) as harness,
            pytest.raises(UserFunctionError, match="nothing"),
        ):
            harness.process_element(Ask("a", failures=1))

    @pytest.mark.parametrize(
        "result", [None, "abc", b"abc", {"a": 1}, 7, Point(1, 2), Row(1, 2), Row(a=1), Record()]
    )
    def test_what_is_no_list_of_results(self, result: Any) -> None:
        async def wrong(value: Any) -> Any:
            return value

        with AsyncFunctionHarness(wrong) as harness:
            with pytest.raises(AsyncResultError) as caught:
                harness.process_element(result)
            assert f"returned {result!r}, where a list of results is due" in str(caught.value)
            assert "Operator 'AsyncWait' failed on the record" in str(caught.value)

    def test_what_can_be_iterated_is_a_list(self) -> None:
        async def several(value: int) -> Any:
            return (number for number in range(value))

        with AsyncFunctionHarness(several) as harness:
            harness.process_element(3)
            assert values(harness) == [0, 1, 2]

    def test_nothing_would_ever_happen(self) -> None:
        async def hangs(value: str) -> list[str]:
            await asyncio.get_running_loop().create_future()
            return [value]

        with AsyncFunctionHarness(hangs) as harness:
            harness.process_element("a")
            with pytest.raises(UnsupportedOperationError, match="what never comes"):
                harness.end_input()


class Later(AsyncFunction[Any, Any]):
    """In callback form: completes as the record says."""

    def async_invoke(  # type: ignore[override]
        self, value: Callable[[ResultFuture], None], result_future: ResultFuture
    ) -> None:
        asyncio.get_running_loop().call_later(0.01, value, result_future)

    def timeout(self, value: Any, result_future: ResultFuture) -> None:  # type: ignore[override]
        result_future.complete(["late"])


class TestForms:
    @pytest.mark.parametrize(
        ("complete", "expected"),
        [
            (lambda future: future.complete(["a", "b"]), ["a", "b"]),
            (lambda future: [future.complete(["a"]), future.complete(["b"])], ["a"]),
            (
                lambda future: [future.complete(["a"]), future.complete_exceptionally(KeyError())],
                ["a"],
            ),
            (lambda future: None, ["late"]),
        ],
        ids=["once", "twice", "then failed", "never"],
    )
    def test_callbacks(self, complete: Any, expected: list[str]) -> None:
        with AsyncFunctionHarness(Later(), timeout=100) as harness:
            harness.process_element(complete)
            harness.set_processing_time(1000)
            assert values(harness) == expected

    @pytest.mark.parametrize(
        ("complete", "error", "text"),
        [
            (
                lambda future: future.complete_exceptionally(KeyError("x")),
                UserFunctionError,
                "KeyE",
            ),
            (lambda future: future.complete_exceptionally("x"), AsyncResultError, "no exception"),
            (lambda future: future.complete(None), AsyncResultError, "None"),
            (
                lambda future: future.complete_exceptionally(StopIteration()),
                UserFunctionError,
                "Stop",
            ),
        ],
    )
    def test_callbacks_that_fail(self, complete: Any, error: type[Exception], text: str) -> None:
        with AsyncFunctionHarness(Later(), timeout=100) as harness:
            harness.process_element(complete)
            with pytest.raises(error, match=text):
                harness.set_processing_time(1000)

    def test_a_callback_function_that_raises(self) -> None:
        def raises(value: str, result_future: ResultFuture) -> None:
            raise KeyError(value)

        with AsyncFunctionHarness(raises) as harness, pytest.raises(UserFunctionError):
            harness.process_element("a")

    def test_a_timeout_callback_that_does_not_complete(self) -> None:
        class Forgets(Later):
            def timeout(self, value: Any, result_future: ResultFuture) -> None:  # type: ignore[override]
                pass

        with AsyncFunctionHarness(Forgets(), timeout=100) as harness:
            harness.process_element(lambda future: None)
            with pytest.raises(AsyncResultError, match="had not completed"):
                harness.set_processing_time(1000)

    def test_plain_functions(self) -> None:
        with AsyncFunctionHarness(lambda number: [number, -number]) as harness:
            harness.process_element(1)
            assert values(harness) == [1, -1]

    def test_a_plain_function_that_returns_a_coroutine(self) -> None:
        async def slowly(number: int) -> list[int]:
            await asyncio.sleep(1)
            return [number]

        def begins(number: int) -> Any:
            return slowly(number)

        with AsyncFunctionHarness(begins) as harness:
            harness.process_element(1)
            harness.end_input()
            assert values(harness)[:-1] == [1]

    def test_plain_functions_that_raise(self) -> None:
        def raises(value: Any) -> Any:
            raise StopIteration(value)

        with (
            AsyncFunctionHarness(raises) as harness,
            pytest.raises(UserFunctionError),
        ):
            harness.process_element(1)

    def test_open_and_close_on_the_loop(self) -> None:
        class WithClient(Scripted):
            async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
                await asyncio.sleep(1)
                super().open(runtime_context)
                self.loop = asyncio.get_running_loop()

            async def close(self) -> None:  # type: ignore[override]
                await asyncio.sleep(1)
                super().close()

        with AsyncFunctionHarness(WithClient()) as harness:
            harness.process_element(Ask("a"))
            assert values(harness) == ["a"]
            function = harness.function
        assert function.is_closed

    def test_an_open_that_raises(self) -> None:
        class Broken(Scripted):
            async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
                raise OSError("no server")

        with pytest.raises(UserFunctionError, match="no server"):
            AsyncFunctionHarness(Broken())

    def test_closing_cancels_what_runs(self) -> None:
        harness = scripted()
        harness.process_element(Ask("a", (1000,)))
        function = harness.function
        harness.close()
        assert function.cancelled == ["a"]
        assert function.is_closed


class TestEpochs:
    @BOTH
    def test_calls_that_end_in_time_are_waited_for(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered) as harness:
            harness.process_element(Ask("a", (9_999,)))
            harness.snapshot()
            assert values(harness) == ["a"]
            assert harness.operator.next_wake_up() is None

    @BOTH
    def test_a_call_that_hangs_is_waited_for_once(self, *, ordered: bool) -> None:
        with scripted(ordered=ordered, drain_timeout=1000) as harness:
            harness.process_element(Ask("hangs", (30_000,)))
            harness.snapshot()
            assert harness.get_processing_time() == 1000
            harness.snapshot()
            assert harness.get_processing_time() == 1000
            harness.set_processing_time(30_000)
            assert values(harness) == ["hangs"]
            assert harness.function.calls == {"hangs": 1}

    def test_unordered_records_pass_a_call_that_hangs(self) -> None:
        with scripted(ordered=False, drain_timeout=1000) as harness:
            harness.process_element(Ask("hangs", (30_000,)))
            harness.snapshot()
            for name in range(3):
                harness.process_element(Ask(name, (10,)))
                harness.snapshot()
            assert values(harness) == [0, 1, 2]
            assert harness.get_processing_time() == 1030

    def test_another_copy_calls_again_and_keeps_order(self) -> None:
        with scripted(drain_timeout=1000) as harness:
            harness.process_element(Ask("a", (5_000,)), timestamp=1)
            harness.process_watermark(1)
            harness.process_element(Ask("b", (10,)), timestamp=2)
            snapshot = harness.snapshot()
            old = harness.function
            harness.restore(snapshot)
            assert old.cancelled == ["a"]
            harness.end_input()
            assert values(harness)[:-1] == ["a", "w1", "b"]
            assert harness.function.calls == {"a": 1, "b": 1}

    def test_an_epoch_that_was_given_up_leaves_nothing(self) -> None:
        with scripted(drain_timeout=1000) as harness:
            harness.process_element(Ask("a", (5_000,)))
            taken = harness.operator.snapshot
            harness.snapshot()
            committed = taken()
            # An attempt that ends nowhere, and then another one.
            harness.process_element(Ask("b", (50_000,)))
            harness.operator.restore(committed)
            harness.operator.begin_epoch(next(harness._epochs))
            harness.process_element(Ask("c", (10,)))
            harness.end_input()
            assert values(harness)[:-1] == ["a", "c"]
            assert harness.function.cancelled == ["b"]
            assert harness.function.calls["a"] == 1

    def test_what_was_emitted_in_an_epoch_that_was_given_up_is_called_again(self) -> None:
        with scripted(drain_timeout=1000) as harness:
            harness.process_element(Ask("a", (5_000,)))
            harness.snapshot()
            committed = harness.operator.snapshot()
            harness.set_processing_time(5_000)
            assert values(harness) == ["a"]
            harness.operator.restore(committed)
            harness.operator.begin_epoch(next(harness._epochs))
            harness.end_input()
            assert values(harness)[:-1] == ["a"]

    def test_more_than_the_capacity_can_be_taken_up(self) -> None:
        with scripted(capacity=10, drain_timeout=0) as harness:
            for name in range(10):
                harness.process_element(Ask(name, (100,)))
            snapshot = harness.snapshot()
        with scripted(capacity=3) as smaller:
            smaller.restore(snapshot)
            smaller.end_input()
            assert values(smaller)[:-1] == [*range(10)]
            assert smaller.function.most_running == 3

    def test_failures_of_calls_that_nobody_waits_for_are_not_heard(self) -> None:
        with scripted(drain_timeout=0) as harness:
            harness.process_element(Ask("a", (100,), failures=1))
            harness.snapshot()
            harness.operator.restore(None)
            harness.operator.begin_epoch(next(harness._epochs))
            harness.end_input()
            assert values(harness) == ["w9223372036854775807"]

    def test_wake_ups_come_later_and_later(self) -> None:
        with scripted(drain_timeout=0) as harness:
            harness.process_element(Ask("a", (60_000,)))
            harness.snapshot()
            waits = []
            for now in (0, 1000, 30_000):
                harness.set_processing_time(now)
                wake_up = harness.operator.next_wake_up()
                assert wake_up is not None
                waits.append(wake_up - now)
            assert waits == [50, 250, 1000]

    def test_records_that_cannot_be_pickled(self) -> None:
        async def waits(value: Any) -> list[Any]:
            await asyncio.sleep(100)
            return []

        from penstock.errors import ValueNotSerializableError

        with AsyncFunctionHarness(waits, drain_timeout=0) as harness:
            harness.process_element(lambda: None)
            with pytest.raises(ValueNotSerializableError, match="AsyncWait"):
                harness.snapshot()


class TestLimits:
    def test_a_rate_limit(self) -> None:
        options = AsyncOptions(rate_limit=RateLimit(10, burst=2))
        with scripted(options=options) as harness:
            for name in range(5):
                harness.process_element(Ask(name))
            harness.end_input()
            assert [time for _, time in harness.function.times] == [0, 0, 100, 200, 300]

    def test_weights(self) -> None:
        options = AsyncOptions(
            rate_limit=RateLimit(1000, burst=500, weight=lambda ask: len(ask.name) * 100)
        )
        with scripted(options=options) as harness:
            for name in ("a" * 5, "b" * 3, "c" * 2):
                harness.process_element(Ask(name))
            harness.end_input()
            assert [time for _, time in harness.function.times] == [0, 300, 500]

    def test_waiting_for_a_token_is_not_the_calls_fault(self) -> None:
        options = AsyncOptions(rate_limit=RateLimit(1, burst=1))
        with scripted(timeout=500, options=options) as harness:
            for name in range(4):
                harness.process_element(Ask(name, (400,)))
            harness.end_input()
            assert values(harness)[:-1] == [0, 1, 2, 3]

    def test_each_attempt_takes_a_token(self) -> None:
        options = AsyncOptions(rate_limit=RateLimit(1, burst=1))
        with scripted(timeout=60_000, retry=retries(2, 10), options=options) as harness:
            harness.process_element(Ask("a", failures=2))
            harness.end_input()
            assert harness.function.times == [("a", 0), ("a", 1000), ("a", 2000)]

    def test_a_process_capacity_is_shared(self) -> None:
        options = AsyncOptions(process_capacity=ProcessCapacity("server", 2))
        with scripted(options=options) as harness:
            for name in range(6):
                harness.process_element(Ask(name, (10,)))
            harness.end_input()
            assert harness.function.most_running == 2
            assert harness.get_processing_time() == 30
            shared = harness._event_loop.shared
            assert [*shared] == ["capacity of server"]
        assert shared == {}

    @pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), "many", None])
    def test_weights_that_are_none(self, weight: Any) -> None:
        options = AsyncOptions(rate_limit=RateLimit(1, weight=lambda ask: weight))
        with (
            scripted(options=options) as harness,
            pytest.raises(UserFunctionError, match="The weight of a call cannot be"),
        ):
            harness.process_element(Ask("a"))

    def test_who_waits_for_another_attempt_holds_no_place(self) -> None:
        options = AsyncOptions(process_capacity=ProcessCapacity("server", 1))
        with scripted(timeout=60_000, retry=retries(1, 1000), options=options) as harness:
            harness.process_element(Ask("a", failures=1))
            harness.process_element(Ask("b", (10,)))
            harness.end_input()
            assert harness.function.times == [("a", 0), ("b", 0), ("a", 1000)]

    def test_a_place_is_given_back_when_a_call_is_cancelled(self) -> None:
        options = AsyncOptions(process_capacity=ProcessCapacity("server", 1))
        with scripted(timeout=100, options=options) as harness:
            harness.process_element(Ask("hangs", (10**6,), late=()))
            harness.process_element(Ask("b", (10,)))
            harness.end_input()
            assert values(harness)[:-1] == ["b"]


class TestCache:
    def cached(
        self, harness_options: dict[str, Any] | None = None, **options: Any
    ) -> AsyncFunctionHarness:
        cache = ResultCache(**{"size": 10, "key": lambda ask: ask.name, **options})
        return scripted(options=AsyncOptions(cache=cache), **(harness_options or {}))

    def test_equal_keys_are_asked_for_once(self) -> None:
        with self.cached() as harness:
            for name in "aba":
                harness.process_element(Ask(name, (10,)))
            harness.set_processing_time(50)
            harness.process_element(Ask("a", (10,)))
            assert values(harness) == ["a", "b", "a", "a"]
            assert harness.function.calls == {"a": 1, "b": 1}
            assert metrics(harness)["cached"] == 2

    def test_results_grow_old(self) -> None:
        with self.cached(time_to_live=100) as harness:
            for now in (0, 99, 100):
                harness.set_processing_time(now)
                harness.process_element(Ask("a"))
            assert harness.function.times == [("a", 0), ("a", 100)]

    def test_the_least_recently_used_goes_first(self) -> None:
        with self.cached(size=2) as harness:
            for name in "abacab":
                harness.process_element(Ask(name))
            assert harness.function.calls == {"a": 1, "b": 2, "c": 1}

    def test_failures_are_not_kept(self) -> None:
        options = AsyncOptions(
            cache=ResultCache(10, key=lambda ask: ask.name), on_failure=OnFailure.drop()
        )
        with scripted(options=options) as harness:
            for _ in range(2):
                harness.process_element(Ask("a", failures=1))
            assert values(harness) == ["a"]

    def test_all_who_wait_for_a_call_hear_of_its_failure(self) -> None:
        options = AsyncOptions(
            cache=ResultCache(10, key=lambda ask: ask.name), on_failure=OnFailure.fallback(["no"])
        )
        with scripted(options=options) as harness:
            for _ in range(3):
                harness.process_element(Ask("a", (10,), failures=1))
            harness.end_input()
            assert values(harness)[:-1] == ["no", "no", "no"]
            assert harness.function.calls == {"a": 1}

    def test_who_gives_up_does_not_end_the_call_of_others(self) -> None:
        with self.cached({"timeout": 100}) as harness:
            harness.process_element(Ask("a", (150,), late=("late",)))
            harness.set_processing_time(60)
            harness.process_element(Ask("a", (150,), late=("late",)))
            harness.end_input()
            assert values(harness)[:-1] == ["late", "a"]
            assert harness.function.calls == {"a": 1}

    def test_the_last_who_gives_up_ends_the_call(self) -> None:
        with self.cached({"timeout": 100}) as harness:
            harness.process_element(Ask("a", (1000,), late=()))
            harness.set_processing_time(100)
            assert harness.function.cancelled == ["a"]

    def test_keys_that_cannot_be_hashed(self) -> None:
        with (
            self.cached(key=lambda ask: [ask.name]) as harness,
            pytest.raises(UserFunctionError, match="unhashable"),
        ):
            harness.process_element(Ask("a"))


class TestBatches:
    def batched(self, size: int = 3, wait: int = 10, **options: Any) -> AsyncFunctionHarness:
        class Doubled(AsyncFunction[Any, Any]):
            def open(self, runtime_context: Any) -> None:
                self.batches: list[list[int]] = []

            async def async_invoke(self, value: list[int]) -> Any:
                self.batches.append(value)
                await asyncio.sleep(0.05)
                return [
                    ServerError(str(x)) if x < 0 and len(self.batches) == 1 else [2 * x]
                    for x in value
                ]

        return AsyncFunctionHarness(
            Doubled(),
            options=AsyncOptions(batching=Batching(size, wait), **options.pop("more", {})),
            **options,
        )

    def test_as_many_as_wanted_or_as_came_in_time(self) -> None:
        with self.batched() as harness:
            for number in range(5):
                harness.process_element(number)
            assert harness.function.batches == [[0, 1, 2]]
            harness.set_processing_time(10)
            assert harness.function.batches == [[0, 1, 2], [3, 4]]
            harness.end_input()
            assert values(harness)[:-1] == [0, 2, 4, 6, 8]

    def test_one_record_fails_and_no_other(self) -> None:
        with self.batched(more={"on_failure": OnFailure.fallback(["no"])}) as harness:
            for number in (1, -1, 2):
                harness.process_element(number)
            harness.end_input()
            assert values(harness)[:-1] == [2, "no", 4]

    def test_one_record_is_tried_again_in_a_later_batch(self) -> None:
        with self.batched(timeout=1000, retry=retries(1, 20)) as harness:
            for number in (1, -1, 2):
                harness.process_element(number)
            harness.end_input()
            assert values(harness)[:-1] == [2, -2, 4]
            assert harness.function.batches == [[1, -1, 2], [-1]]

    def test_who_gave_up_does_not_come_in_a_batch(self) -> None:
        with self.batched(wait=100, timeout=50, more={"on_failure": OnFailure.drop()}) as harness:
            harness.process_element(1)
            harness.set_processing_time(60)
            harness.process_element(2)
            harness.process_element(3)
            harness.set_processing_time(100)
            assert harness.function.batches == [[2, 3]]

    @pytest.mark.parametrize("answers", [None, [], [[1]], "ab"])
    def test_as_many_answers_as_records(self, answers: Any) -> None:
        async def wrong(records: list[Any]) -> Any:
            return records[0]

        with AsyncFunctionHarness(wrong, options=AsyncOptions(batching=Batching(2))) as harness:
            harness.process_element(answers)
            with pytest.raises(AsyncResultError, match="for a batch of 2 records"):
                harness.process_element(answers)

    def test_a_batch_that_raises_fails_for_each(self) -> None:
        async def raises(records: list[Any]) -> Any:
            raise ServerError

        options = AsyncOptions(batching=Batching(2), on_failure=OnFailure.fallback(["no"]))
        with AsyncFunctionHarness(raises, options=options) as harness:
            for number in range(2):
                harness.process_element(number)
            assert values(harness) == ["no", "no"]


def test_waiting_for_the_end_does_not_make_the_queue_full() -> None:
    with scripted(capacity=10) as harness:
        harness.process_element(Ask("a", (10,)))
        harness.end_input()
        assert metrics(harness)["queue"].summary()["max"] == 10


def test_metrics() -> None:
    with scripted(timeout=1000, retry=retries(1, 10), ordered=False, capacity=4) as harness:
        harness.process_element(Ask("a", (20,)))
        harness.process_element(Ask("b", (20,), failures=1))
        harness.process_element(Ask("c", (10**6,), late=()))
        found = metrics(harness)
        assert (found["in_flight"], found["completed"]) == (3, 0)
        assert found["queue"].summary()["max"] == 75.0
        harness.end_input()
        found = metrics(harness)
        assert (found["in_flight"], found["completed"], found["retried"]) == (-3, 3, 1)
        assert (found["timed_out"], found["failed"], found["cached"]) == (1, 0, 0)
        assert found["latency"].summary()["max"] == 1000.0
        assert found["latency"].percentile(0.3) == pytest.approx(20, rel=0.06)
