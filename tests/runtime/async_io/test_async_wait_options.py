"""Limits, caches and batches of asynchronous calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.runtime.async_io.async_kit import metrics, scripted, values
from tests.runtime.async_io.scripts import Ask, ServerError, retries

from penstock.datastream import (
    AsyncFunction,
    AsyncOptions,
    Batching,
    OnFailure,
    ProcessCapacity,
    RateLimit,
    ResultCache,
)
from penstock.errors import (
    AsyncResultError,
    InvalidArgumentError,
    UserFunctionError,
)
from penstock.testing import AsyncFunctionHarness


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
            pytest.raises(InvalidArgumentError, match="The weight of a call cannot be"),
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
