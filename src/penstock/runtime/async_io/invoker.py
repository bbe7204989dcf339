"""Runs calls on the event loop: starts them, gives each its time, and settles each once."""

from __future__ import annotations

import asyncio
import pickle
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import copy_context
from functools import partial
from typing import Any

from penstock.errors import AsyncTimeoutError, UserFunctionError
from penstock.runtime.async_io.call import Call, Step
from penstock.runtime.async_io.forms import checked_results
from penstock.runtime.async_io.loop.mailbox import Mailbox
from penstock.runtime.async_io.options import FailureKind, OnFailure

_MOST_AT_ONCE = 1024
"""The most runners that are added at once."""

_PATIENCE = 5.0
"""How long, in seconds, a cancelled call may take to end."""

OnTimeout = Callable[[Any], Any]
"""Takes a record whose call took too long, and returns its results or raises."""


class Invoker:
    """Runs calls on the event loop: starts them, gives each its time, and settles each once.

    A runner is an asyncio task that makes one call after the other. Where a call has to wait, other
    runners take the calls behind it; where calls return at once, one runner makes them all. A call that
    leaves something behind in its runner, such as a context variable, is its last. All methods are for
    the loop's thread.

    Args:
        loop: The event loop.
        mailbox: Takes settled calls.
        step: Makes a call.
        name: The name of the operator.
        timeout: How long a call may take, all attempts together, in seconds; None for no limit.
        on_timeout: Says what comes of a call that took longer.
        on_failure: Says what comes of a call that failed.
        waits_for_permits: Whether a call's time counts only once its `on_admitted` is called.
        capacity: The most calls that run at once; those behind them wait for their turn.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        mailbox: Mailbox[Call],
        step: Step,
        *,
        name: str,
        timeout: float | None,
        on_timeout: OnTimeout,
        on_failure: OnFailure,
        waits_for_permits: bool,
        capacity: int,
    ) -> None:
        self._loop = loop
        self._mailbox = mailbox
        self._step = step
        self._name = name
        self._timeout = timeout
        self._on_timeout = on_timeout
        self._on_failure = on_failure
        self._waits_for_permits = waits_for_permits
        self._capacity = capacity
        self._pending: deque[Call] = deque()
        self._context = copy_context()
        self._variables = tuple(self._context.items())
        self._runners: set[asyncio.Task[None]] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        self._width = 1
        self._is_relief_due = False
        # Calls that run and when their time is over, the earliest first: all have the same timeout.
        self._deadlines: dict[Call, float] = {}
        self._alarm: asyncio.TimerHandle | None = None

    def start(self, calls: Iterable[Call]) -> None:
        """Start calls, or have them wait until others are done."""
        self._pending.extend(calls)
        self._add_runners()

    def _begin(self, call: Call) -> None:
        """Begin to count a call's time, unless that waits for a permit."""
        now = call.seconds = self._loop.time()
        if self._waits_for_permits:
            call.on_admitted = partial(self._begin_time, call)
        elif self._timeout is not None:
            self._deadlines[call] = now + self._timeout
            if self._alarm is None:
                self._set_alarm()

    def _begin_time(self, call: Call) -> None:
        if self._timeout is not None and not call.is_settled:
            self._deadlines[call] = self._loop.time() + self._timeout
            self._set_alarm()

    def _add_runners(self) -> None:
        free = self._capacity - len(self._runners)
        for _ in range(min(self._width, len(self._pending), free)):
            runner = self._loop.create_task(
                self._run(), name=self._name, context=self._context.copy()
            )
            self._runners.add(runner)

    def _relieve(self) -> None:
        """Add runners for what the others, who have to wait, left behind: more every time.

        If they left nothing, their calls return at once, and one runner is enough the next time.
        """
        self._is_relief_due = False
        self._width = min(2 * self._width, _MOST_AT_ONCE) if self._pending else 1
        self._add_runners()

    def _ask_for_relief(self) -> None:
        if self._pending and not self._is_relief_due:
            self._is_relief_due = True
            self._loop.call_soon(self._relieve)

    async def _run(self) -> None:
        """Make calls until none is left to begin, or the runner is no longer fit for another."""
        runner = asyncio.current_task()
        assert runner is not None
        while self._pending:
            call = self._pending.popleft()
            if not call.is_settled and not await self._make(call, runner):
                break
        # At once, and not when the loop finds the task done: its place may be needed before.
        self._runners.discard(runner)

    async def _make(self, call: Call, runner: asyncio.Task[None]) -> bool:
        """Make a call; return whether the runner may make another."""
        if self._pending and not self._is_relief_due:
            self._ask_for_relief()
        self._begin(call)
        call.task = runner
        try:
            results = await self._step(call)
        except asyncio.CancelledError as error:
            if call.is_settled:
                return False
            self._fail(call, error)
        except BaseException as error:
            if asyncio.current_task(self._loop) is not runner:
                raise  # the loop is gone, and what ran on it is thrown away
            self._fail(call, error)
        else:
            if call.is_settled:
                return False  # its end came just before its cancellation, which may yet strike
            call.results = results
            self._settle(call)
        if self._is_as_new(runner):
            return True
        self._runners.discard(runner)
        self._ask_for_relief()
        return False

    def _is_as_new(self, runner: asyncio.Task[None]) -> bool:
        """Return whether the last call left nothing in a runner that the next one would meet."""
        found, own = copy_context(), self._variables
        if runner.cancelling() or len(found) != len(own):
            return False
        # Not by all(): a generator for each call would cost as much as all else here.
        for variable, value in own:  # noqa: SIM110
            if found.get(variable) is not value:
                return False
        return True

    def _fail(self, call: Call, error: BaseException) -> None:
        if not call.is_settled:
            _settle_failure(call, error, self._on_failure)
            self._settle(call)

    def _settle(self, call: Call) -> None:
        call.is_settled = True
        call.task = None
        call.seconds = self._loop.time() - call.seconds
        self._deadlines.pop(call, None)
        self._mailbox.post(call)

    def _set_alarm(self) -> None:
        if self._alarm is None and self._deadlines:
            first = next(iter(self._deadlines.values()))
            self._alarm = self._loop.call_at(first, self._expire)

    def _expire(self) -> None:
        """Give up the calls whose time is over."""
        self._alarm = None
        now = self._loop.time()
        over = []
        for call, deadline in self._deadlines.items():
            if deadline > now:
                break
            over.append(call)
        for call in over:
            self._time_out(call)
        self._set_alarm()

    def _time_out(self, call: Call) -> None:
        call.has_timed_out = True
        task = call.task
        try:
            call.results = checked_results(self._on_timeout(call.given()))
        except AsyncTimeoutError:
            assert self._timeout is not None
            error = AsyncTimeoutError(
                f"The call took longer than {round(self._timeout * 1000)} milliseconds, and was "
                "cancelled.",
                hint="Give it more time, define timeout() on the function, or say what follows with "
                "AsyncOptions(on_failure=...).",
            )
            _settle_failure(call, error, self._on_failure)
        except BaseException as error:  # noqa: BLE001 - who waits is told
            _settle_failure(call, error, self._on_failure)
        self._settle(call)
        self._dismiss(task)

    def give_up(self, calls: Iterable[Call]) -> None:
        """Cancel calls that nobody waits for any more, and tell nobody."""
        for call in calls:
            if not call.is_settled:
                task = call.task
                call.is_settled = True
                call.task = None
                self._deadlines.pop(call, None)
                self._dismiss(task)

    def _dismiss(self, runner: asyncio.Task[None] | None) -> None:
        """Cancel a runner in the midst of a call; its place is free, however long it takes to go."""
        if runner is None:
            return
        runner.cancel()
        self._runners.discard(runner)
        self._leaving.add(runner)
        runner.add_done_callback(self._leaving.discard)
        self._ask_for_relief()

    async def close(self) -> None:
        """Cancel what runs, and wait a moment for it to end."""
        self._pending.clear()
        self._deadlines.clear()
        if self._alarm is not None:
            self._alarm.cancel()
        runners = [*self._runners, *self._leaving]
        for runner in runners:
            runner.cancel()
        if runners:
            await asyncio.wait(runners, timeout=_PATIENCE)


def _settle_failure(call: Call, error: BaseException, on_failure: OnFailure) -> None:
    """Write down what comes of a failed call: results, a value for a side output, or the error.

    Args:
        call: The call.
        error: What it failed with.
        on_failure: What the user wants.
    """
    call.has_failed = True
    if on_failure.kind is FailureKind.FAIL:
        call.error = error
        return
    call.failure = error
    if on_failure.kind is FailureKind.FALLBACK:
        try:
            results = on_failure.results
            call.results = checked_results(
                results(call.given(), error) if callable(results) else results
            )
        except BaseException as second:  # noqa: BLE001 - it is what fails the job
            call.error = second
    elif on_failure.kind is FailureKind.SIDE_OUTPUT:
        assert on_failure.tag is not None
        call.aside = on_failure.tag.tag_id, (call.value, _portable_error(error))


def _portable_error(error: BaseException) -> BaseException:
    """Return an error without its traceback, in a form that survives pickling."""
    try:
        found = pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - pickling runs code of the error's class
        found = None
    if type(found) is type(error):
        return found
    return UserFunctionError("".join(traceback.format_exception_only(error)).strip())
