"""Gives a function several records at once."""

from __future__ import annotations

import asyncio
from typing import Any

from penstock.errors import AsyncResultError
from penstock.runtime.async_io.forms import AsyncCall, frozen
from penstock.runtime.user_code import record_text


class Batches:
    """Gathers records, calls a function with a list of them, and gives each record its own answer.

    Args:
        function: Takes a list of records and returns a list of answers.
        size: The most records of a batch.
        wait: How long the first record of a batch waits for others, in milliseconds.
    """

    def __init__(self, function: AsyncCall, size: int, wait: int) -> None:
        self._function = function
        self._size = size
        self._seconds = wait / 1000
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, value: Any) -> Any:
        """Return the answer for a record."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((value, future))
        if len(self._waiting) >= self._size:
            self._send()
        elif self._timer is None:
            self._timer = loop.call_later(self._seconds, self._send)
        answer = await future
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        # Whoever gave up waiting has cancelled its future.
        batch = [found for found in self._waiting if not found[1].done()]
        self._waiting = []
        if not batch:
            return
        task = asyncio.get_running_loop().create_task(self._run(batch))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        left = len(batch)

        def on_done(_: asyncio.Future[Any]) -> None:
            nonlocal left
            left -= 1
            if not left:
                task.cancel()  # without effect if it is done

        for _, future in batch:
            future.add_done_callback(on_done)

    async def _run(self, batch: list[tuple[Any, asyncio.Future[Any]]]) -> None:
        values = [value for value, _ in batch]
        try:
            found = _checked(await self._function(values), len(values))
            answers = [frozen(answer) for answer in found]
        except BaseException as error:  # noqa: BLE001 - it is the answer for each
            answers = [error] * len(values)
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)


def _checked(answers: Any, records: int) -> Any:
    if isinstance(answers, (list, tuple)) and len(answers) == records:
        return answers
    raise AsyncResultError(
        f"The function returned {record_text(answers)} for a batch of {records} records.",
        hint="Return a list with one answer for each record, in order: a list of results or an "
        "exception.",
    )
