"""The forms a function may have that the asynchronous operator calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.async_io.async_kit import scripted, values
from tests.runtime.async_io.scripts import Ask, Scripted

from penstock.datastream import (
    AsyncFunction,
    ResultFuture,
)
from penstock.errors import (
    AsyncResultError,
    UserFunctionError,
)
from penstock.testing import AsyncFunctionHarness


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
            (lambda future: future.complete(lambda: ["a", "b"]), ["a", "b"]),
            (lambda future: [future.complete(["a"]), future.complete(lambda: 1 / 0)], ["a"]),
            (lambda future: None, ["late"]),
        ],
        ids=["once", "twice", "then failed", "supplied", "supplied too late", "never"],
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
            (lambda future: future.complete(lambda: None), AsyncResultError, "None"),
            (lambda future: future.complete(lambda: 1 / 0), UserFunctionError, "ZeroDivision"),
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
