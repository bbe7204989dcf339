"""Ctrl-C is never lost where the main thread waits, and leaves nothing locked."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from penstock.common.completable_future import CompletableFuture
from penstock.datastream.streams.closeable_iterator import Results
from penstock.interruptible import postponed, wait_until

SECONDS = 30


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_it_is_answered_at_the_end() -> None:
    done = []

    def run() -> None:
        with postponed():
            ctrl_c()
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert done == [1]


def test_it_is_answered_where_that_is_asked_for() -> None:
    done = []

    def run() -> None:
        with postponed() as answer:
            answer()
            ctrl_c()
            done.append(1)
            answer()
            done.append(2)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert done == [1]


def test_without_it_nothing_is_answered() -> None:
    with postponed() as answer:
        answer()


def test_a_handler_of_ones_own_answers_with_the_frame_that_was_interrupted() -> None:
    found: list[FrameType | None] = []

    def handler(number: int, frame: FrameType | None) -> None:
        found.append(frame)

    signal.signal(signal.SIGINT, handler)
    with postponed():
        ctrl_c()
        assert found == []
    (frame,) = found
    assert frame is not None
    assert signal.getsignal(signal.SIGINT) is handler
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_who_ignores_it_goes_on_to_ignore_it() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with postponed() as answer:
        ctrl_c()
        answer()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_another_thread_waits_as_it_would() -> None:
    found: list[bool] = []

    def wait() -> None:
        found.append(wait_until(lambda seconds: True))
        found.append(wait_until(threading.Event().wait, 0.0))

    thread = threading.Thread(target=wait)
    thread.start()
    thread.join(SECONDS)
    assert found == [True, False]


def test_a_wait_ends_with_what_it_waits_for_or_with_its_time() -> None:
    event = threading.Event()
    assert not wait_until(event.wait, 0.0)
    threading.Timer(0.0, event.set).start()
    assert wait_until(event.wait, SECONDS)
    assert wait_until(event.wait)


def test_no_instruction_of_a_wait_is_interrupted() -> None:
    """Wherever in it Ctrl-C comes, what is called then comes to its end, and the wait to its own."""
    calls = []

    def is_there(seconds: float) -> bool:
        ctrl_c()
        calls.append(seconds)
        return False

    with pytest.raises(KeyboardInterrupt):
        wait_until(is_there)
    assert len(calls) == 1


def test_of_something_that_came_too_it_is_told_all_the_same() -> None:
    def is_there(seconds: float) -> bool:
        ctrl_c()
        return True

    with pytest.raises(KeyboardInterrupt):
        wait_until(is_there)


@pytest.mark.parametrize("ask", [CompletableFuture.result, CompletableFuture.exception])
def test_whoever_waits_for_a_future_can_be_interrupted_and_waits_again(ask: object) -> None:
    assert callable(ask)
    may_end = threading.Event()
    future = CompletableFuture(lambda: may_end.wait(SECONDS))
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        ask(future)
    may_end.set()
    assert future.result()


def test_whoever_waits_for_results_can_be_interrupted_and_waits_again() -> None:
    results = Results()
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        results.take()
    results.put([1])
    results.end()
    assert (results.take(), results.take()) == ([1], None)
