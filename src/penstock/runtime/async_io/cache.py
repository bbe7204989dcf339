"""Keeps results, and calls once for each key."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from penstock.runtime.async_io.call import Call, Results, Step
from penstock.runtime.async_io.forms import frozen
from penstock.runtime.objects.mutability import copied_if_possible


class _Flight:
    """A call under way for a key, and who waits for it.

    Attributes:
        call: The call.
        task: What runs it.
        waiting: The calls of the records that wait.
        is_admitted: Whether no limit holds it back any more.
    """

    def __init__(self, value: Any) -> None:
        self.call = Call(value)
        self.call.on_admitted = self._on_admitted
        self.task: asyncio.Task[Any]
        self.waiting: list[Call] = []
        self.is_admitted = False

    def _on_admitted(self) -> None:
        self.is_admitted = True
        for call in self.waiting:
            if call.on_admitted is not None:
                call.on_admitted()

    def join(self, call: Call) -> None:
        """Let another record wait for it."""
        self.waiting.append(call)
        if self.is_admitted and call.on_admitted is not None:
            call.on_admitted()


class CachedCalls:
    """Keeps the results of the keys that were last asked for, and calls once for each key.

    Args:
        step: Makes the call where one is needed.
        size: The most keys.
        time_to_live: How long a result is good for, in milliseconds; None for ever.
        key: Returns the key of a record; None for the record itself.
        time: The clock, in seconds.
    """

    def __init__(
        self,
        step: Step,
        *,
        size: int,
        time_to_live: int | None,
        key: Callable[[Any], Hashable] | None,
        time: Callable[[], float],
    ) -> None:
        self._step = step
        self._size = size
        self._seconds = float("inf") if time_to_live is None else time_to_live / 1000
        self._key = key
        self._time = time
        self._known: OrderedDict[Hashable, tuple[Results, float]] = OrderedDict()
        self._flights: dict[Hashable, _Flight] = {}

    async def __call__(self, call: Call) -> Any:
        """Return the results for a record: copies of known ones, or of those of a call."""
        # Who makes a key may keep it, and the record.
        key = call.value if self._key is None else copied_if_possible(self._key(call.given()))
        found = self._known.get(key)
        if found is not None:
            results, since = found
            if self._time() - since < self._seconds:
                self._known.move_to_end(key)
                return frozen(results)
            del self._known[key]
        return await self._fly(key, call)

    async def _fly(self, key: Hashable, call: Call) -> Any:
        flight = self._flights.get(key)
        is_first = flight is None
        if flight is None:
            flight = self._flights[key] = _Flight(call.value)
            flight.task = asyncio.get_running_loop().create_task(self._run(key, flight))
        flight.join(call)
        try:
            results, error = await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            flight.waiting.remove(call)
            if not flight.waiting:
                self._forget(key, flight)
                flight.task.cancel()
            raise
        if is_first:
            call.attempts = flight.call.attempts
        if error is not None:
            raise error
        return frozen(results)

    async def _run(self, key: Hashable, flight: _Flight) -> tuple[Any, BaseException | None]:
        try:
            results = await self._step(flight.call)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            self._forget(key, flight)
            return None, error
        self._forget(key, flight)
        self._known[key] = results, self._time()
        if len(self._known) > self._size:
            self._known.popitem(last=False)
        return results, None

    def _forget(self, key: Hashable, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
