"""Calls that take too long, are tried again, or fail."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.runtime.async_io import scripts
from tests.runtime.async_io.async_kit import BOTH, FAILED, metrics, scripted, values
from tests.runtime.async_io.scripts import Ask, Scripted, ServerError, is_server_error, retries

from penstock.common import Row
from penstock.datastream import (
    AsyncOptions,
    AsyncRetryStrategy,
    Batching,
    OnFailure,
    ProcessCapacity,
    ResultCache,
    ResultFuture,
)
from penstock.errors import (
    AsyncResultError,
    AsyncTimeoutError,
    UnsupportedOperationError,
    UserFunctionError,
)
from penstock.runtime.exchange.elements import Block
from penstock.testing import AsyncFunctionHarness


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
        "result",
        [
            *(None, "abc", b"abc", {"a": 1}, 7, Point(1, 2), Row(1, 2), Row(a=1), Record()),
            *(("a", 1), (), {1, 2}, frozenset(), deque([1]), range(2)),
        ],
        ids=lambda result: type(result).__name__,
    )
    @pytest.mark.parametrize(
        "form", ["async", "plain", "callback", "fallback", "cached", "batched"]
    )
    def test_what_is_no_list_of_results(self, form: str, result: Any) -> None:
        async def wrong(value: Any) -> Any:
            if form == "fallback":
                raise ServerError
            return [result] if form == "batched" else result

        def completes(value: Any, future: ResultFuture) -> None:
            future.complete(result)

        functions = {"plain": lambda value: result, "callback": completes}
        options = {
            "cached": AsyncOptions(cache=ResultCache(10)),
            "batched": AsyncOptions(batching=Batching(1)),
            "fallback": AsyncOptions(on_failure=OnFailure.fallback(lambda ask, error: result)),
        }
        with AsyncFunctionHarness(functions.get(form, wrong), options=options.get(form)) as harness:
            with pytest.raises(AsyncResultError) as caught:
                harness.process_element("a")
            assert f"returned {result!r}, where a list of results is due" in str(caught.value)
            assert "Operator 'AsyncWait' failed on the record" in str(caught.value)
            assert "Hint: return [result]" in str(caught.value)

    def test_a_generator_is_no_list(self) -> None:
        async def several(value: int) -> Any:
            return (number for number in range(value))

        with (
            AsyncFunctionHarness(several) as harness,
            pytest.raises(AsyncResultError, match="returned <generator object"),
        ):
            harness.process_element(3)

    def test_a_list_of_another_class(self) -> None:
        class Results(list[Any]):
            pass

        async def several(value: int) -> Any:
            return Results(range(value))

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
