"""The event loop of a process, in its own thread. Nothing here is slower than what it waits for."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.datastream import ResultFuture
from penstock.errors import EventLoopBlockedWarning, EventLoopDiedError, UserFunctionError
from penstock.runtime.async_io.async_wait import AsyncWaitOperator
from penstock.runtime.async_io.function_life import AsyncSettings
from penstock.runtime.async_io.loop.event_loop import EventLoopThread, shared_event_loop
from penstock.runtime.async_io.loop.mailbox import Mailbox
from penstock.runtime.async_io.queue.entries import StreamRecordQueueEntry
from penstock.runtime.context import RuntimeContext
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.timers.processing_time_service import TestProcessingTimeService
from penstock.testing.captured_output import CapturedOutput


@pytest.fixture
def _leaves_no_garbage() -> Iterator[None]:
    """Have asyncio complain of tasks that are never done now, not in whatever test runs later."""
    yield
    gc.collect()


@pytest.fixture
def loop() -> Iterator[EventLoopThread]:
    """A loop that a test may kill."""
    found = EventLoopThread()
    yield found
    if found.is_alive:
        found.call_soon(found.loop.stop)
    found._thread.join(10)
    found.loop.close()


def opened(
    function: Any, loop: EventLoopThread | None = None, **settings: Any
) -> tuple[AsyncWaitOperator, CapturedOutput]:
    operator, output = AsyncWaitOperator(function, AsyncSettings(**settings)), CapturedOutput()
    operator.event_loop = loop
    operator.setup(
        name="Ask",
        context=RuntimeContext("Ask"),
        output=output,
        metrics=OperatorMetrics(),
        to_driver=lambda kind, content: None,
        processing_time=TestProcessingTimeService(),
    )
    operator.open()
    operator.restore(None)
    operator.begin_epoch(Epoch("job"))
    return operator, output


def values(output: CapturedOutput) -> list[Any]:
    return [record.value for record in output.main]  # type: ignore[union-attr]


def test_there_is_one_for_the_process() -> None:
    assert shared_event_loop() is shared_event_loop()


def test_a_new_one_takes_the_place_of_one_that_died(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.runtime.async_io.loop import event_loop

    monkeypatch.setattr(event_loop, "_OF_PROCESS", {})
    first = shared_event_loop()
    first.call_soon(first.loop.stop)
    first._thread.join(10)
    second = shared_event_loop()
    assert second is not first
    second.call_soon(second.loop.stop)
    second._thread.join(10)
    for found in (first, second):
        found.loop.close()


def test_a_fork_does_not_inherit_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.runtime.async_io.loop import event_loop

    monkeypatch.setattr(event_loop, "_OF_PROCESS", {os.getpid() + 1: object()})
    found = shared_event_loop()
    assert found.is_alive
    found.call_soon(found.loop.stop)
    found._thread.join(10)
    found.loop.close()


def test_coroutines_run_on_it_and_raise_here(loop: EventLoopThread) -> None:
    async def where(error: Exception | None) -> int:
        if error is not None:
            raise error
        return threading.get_ident()

    assert loop.run(where(None)) == loop._thread.ident
    with pytest.raises(KeyError):
        loop.run(where(KeyError()))


@pytest.mark.parametrize("ordered", [True, False])
def test_results_come_from_the_tasks_own_thread(*, ordered: bool) -> None:
    async def ask(value: int) -> list[tuple[int, int]]:
        await asyncio.sleep(0.001 * (value % 3))
        return [(value, threading.get_ident())]

    operator, output = opened(ask, ordered=ordered, capacity=10)
    threads = set()
    collect = output.collect

    def spy(block: Block) -> None:
        threads.add(threading.get_ident())
        collect(block)

    output.collect = spy  # type: ignore[method-assign]
    operator.process_block(Block([*range(100)]))
    operator.end_input()
    found = values(output)
    assert sorted(value for value, _ in found) == [*range(100)]
    if ordered:
        assert [value for value, _ in found] == [*range(100)]
    assert threads == {threading.get_ident()}
    assert threading.get_ident() not in {thread for _, thread in found}
    operator.close()


def test_callbacks_from_another_thread() -> None:
    def ask(value: int, result_future: ResultFuture) -> None:
        threading.Thread(target=result_future.complete, args=([value],)).start()

    operator, output = opened(ask, capacity=5)
    operator.process_block(Block([*range(20)]))
    operator.end_input()
    assert values(output) == [*range(20)]
    operator.close()


def test_plain_functions_run_in_a_bounded_pool() -> None:
    lock = threading.Lock()
    running, most, names = 0, 0, set()
    all_here = threading.Barrier(4, timeout=10)

    def ask(value: int) -> list[int]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            names.add(threading.current_thread().name)
        all_here.wait()
        with lock:
            running -= 1
        return [value]

    operator, output = opened(ask, capacity=4)
    operator.process_block(Block([*range(16)]))
    operator.end_input()
    assert values(output) == [*range(16)]
    assert most == 4
    assert all(name.startswith("penstock-async") for name in names)
    operator.close()


@pytest.mark.usefixtures("_leaves_no_garbage")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("how", ["stop", "exit"])
def test_a_loop_that_dies(loop: EventLoopThread, how: str) -> None:
    async def exits() -> None:
        sys.exit(3)

    async def kill(value: str) -> list[str]:
        running = asyncio.get_running_loop()
        if how == "stop":
            running.stop()
        else:
            value_task = running.create_task(exits())
            await asyncio.wait([value_task])
        await asyncio.sleep(1000)
        return [value]

    operator, _ = opened(kill, loop, capacity=1)
    operator.process_block(Block(["a"]))
    with pytest.raises(EventLoopDiedError) as caught:
        operator.end_input()
    assert ("SystemExit: 3" if how == "exit" else "was stopped") in str(caught.value)
    with pytest.raises(EventLoopDiedError):
        operator.process_block(Block(["b"]))
    with pytest.raises(EventLoopDiedError):
        operator.close()


def test_a_function_that_exits_does_not_kill_the_loop(loop: EventLoopThread) -> None:
    async def leave(value: str) -> list[str]:
        sys.exit(value)

    operator, _ = opened(leave, loop)
    operator.process_block(Block([]))
    operator._put(StreamRecordQueueEntry("a", None, (b"", 0)))
    with pytest.raises(UserFunctionError, match="SystemExit"):
        operator.end_input()
    assert loop.is_alive
    operator.close()


def test_a_function_that_blocks_is_named_in_a_warning(loop: EventLoopThread) -> None:
    pause = threading.Event()

    async def blocks_the_loop(value: str) -> list[str]:
        while not loop.reports:
            pause.wait(0.01)
        return [value]

    operator, output = opened(blocks_the_loop, loop)
    operator.process_block(Block(["a"]))
    with pytest.warns(EventLoopBlockedWarning) as caught:
        operator.end_input()
    text = str(caught[0].message)
    assert "operator 'Ask'" in text
    assert "in blocks_the_loop" in text
    assert "pause.wait(0.01)" in text
    assert "invoker.py" not in text
    assert values(output) == ["a"]
    operator.close()


def test_many_short_calls_in_one_turn_are_nobodys_fault(loop: EventLoopThread) -> None:
    pause = threading.Event()

    async def is_short(number: int) -> list[int]:
        pause.wait(0.001)
        return [number]

    operator, output = opened(is_short, loop, capacity=700)
    operator.process_block(Block([*range(700)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", EventLoopBlockedWarning)
        operator.end_input()
    assert len(values(output)) == 700
    operator.close()


def test_mail_of_one_turn_comes_together(loop: EventLoopThread) -> None:
    mailbox: Mailbox[int] = Mailbox(loop)
    assert not mailbox.wait(0.001)

    def post() -> None:
        for number in range(3):
            mailbox.post(number)

    loop.call_soon(post)
    assert mailbox.wait(None)
    assert mailbox.take() == [0, 1, 2]
    assert mailbox.take() == []
    assert not mailbox.wait(0.001)
