from __future__ import annotations

import asyncio

import pytest

from penstock.errors import UnsupportedOperationError
from penstock.runtime.async_io.loop.mailbox import Mailbox
from penstock.runtime.async_io.loop.manual_event_loop import ManualEventLoop


@pytest.fixture
def loop():  # type: ignore[no-untyped-def]
    found = ManualEventLoop(1000)
    yield found
    found.close()


def test_time_stands_still_until_it_is_moved(loop: ManualEventLoop) -> None:
    seen: list[str] = []
    loop.loop.call_later(0.5, seen.append, "half")
    loop.loop.call_later(1, seen.append, "one")
    loop.call_soon(seen.append, "now")
    loop.run_ready()
    assert (seen, loop.now) == (["now"], 1000)
    loop.advance_to(1999)
    assert (seen, loop.now) == (["now", "half"], 1999)
    loop.advance_to(2000)
    assert seen == ["now", "half", "one"]
    loop.advance_to(5000)
    assert (loop.now, loop.time()) == (5000, 5.0)


def test_a_wait_moves_the_time(loop: ManualEventLoop) -> None:
    mailbox: Mailbox[str] = Mailbox(loop)
    loop.loop.call_later(3600, mailbox.post, "mail")
    assert not mailbox.wait(60)
    assert loop.now == 61_000
    assert mailbox.wait(None)
    assert (mailbox.take(), loop.now) == (["mail"], 3_601_000)
    assert not mailbox.wait(1)
    assert loop.now == 3_602_000


def test_a_wait_for_nothing(loop: ManualEventLoop) -> None:
    mailbox: Mailbox[str] = Mailbox(loop)
    with pytest.raises(UnsupportedOperationError, match="never comes"):
        mailbox.wait(None)

    async def forever() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(UnsupportedOperationError, match="never comes"):
        loop.run(forever())


def test_a_signal_does_not_stop_who_waits_for_something_else(loop: ManualEventLoop) -> None:
    mailbox: Mailbox[str] = Mailbox(loop)
    loop.loop.call_later(1, mailbox.post, "early")

    async def later() -> str:
        await asyncio.sleep(10)
        return "late"

    assert loop.run(later()) == "late"
    assert mailbox.take() == ["early"]


def test_plain_functions_run_at_once(loop: ManualEventLoop) -> None:
    async def divide(by: int) -> float:
        return await asyncio.get_running_loop().run_in_executor(None, lambda: 1 / by)

    assert loop.run(divide(2)) == 0.5
    with pytest.raises(ZeroDivisionError):
        loop.run(divide(0))
