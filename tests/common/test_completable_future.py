from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from penstock.common.completable_future import CompletableFuture


def test_a_result() -> None:
    future = CompletableFuture(lambda: 3)
    assert future.result() == 3
    assert future.exception() is None
    assert future.done()
    assert not future.cancelled()
    assert not future.cancel()
    assert str(future) == "CompletableFuture(3)"


def test_an_error() -> None:
    future: CompletableFuture[int] = CompletableFuture(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        future.result()
    assert isinstance(future.exception(), ZeroDivisionError)
    assert "ZeroDivisionError" in str(future)


@pytest.mark.parametrize("error", [True, False])
def test_waiting_can_be_given_up(error: bool) -> None:
    go_on = threading.Event()

    def compute() -> int:
        go_on.wait()
        return 1 // (not error)

    future = CompletableFuture(compute)
    assert not future.done()
    assert str(future) == "CompletableFuture(not done)"
    assert future.cancel()
    assert future.cancelled()
    go_on.set()
    with pytest.raises(CancelledError):
        future.result()
    assert str(future) == "CompletableFuture(cancelled)"
