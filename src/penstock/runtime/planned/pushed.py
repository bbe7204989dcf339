"""Records that come to the driver by themselves, and go to tasks with the plan of an epoch."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.record_size import RecordSize
from penstock.runtime.planned.planned_source import Piece, Plan, Planner

_MOST_WAITING: Final = 1 << 14
"""How many records may wait for an epoch, or fewer if they are large: what brings them has to wait then."""
_SECONDS_TO_END: Final = 5.0

_T = TypeVar("_T")


class Inbox(Generic[_T]):
    """Takes what a thread brings, until it is fetched for an epoch."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[_T] = []
        self._size = RecordSize()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether nobody fetches anything any more."""
        return self._is_closed

    def put(self, *values: _T) -> None:
        """Take values, in their order; wait if too many are waiting already."""
        with self._changed:
            self._changed.wait_for(self._has_room)
            if not self._is_closed:
                self._waiting += values
                self._size.look_at(Block(list(values)))

    def _has_room(self) -> bool:
        most = min(_MOST_WAITING, self._size.most_held)
        return self._is_closed or len(self._waiting) < most

    def fetch(self) -> list[_T]:
        """Return what has come since the last time."""
        with self._changed:
            found, self._waiting = self._waiting, []
            self._size = RecordSize()
            self._changed.notify_all()
            return found

    def rest(self, seconds: float) -> None:
        """Wait for some seconds, or until it is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed, seconds)

    def close(self) -> None:
        """Take nothing any more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


class Bringer(ABC, Generic[_T]):
    """Brings records to the driver."""

    @abstractmethod
    def run(self, inbox: Inbox[_T]) -> None:
        """Bring all there is, in a thread of its own, until there is no more or the inbox is closed.

        Raises:
            PenstockError: If it cannot.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Let `run` return soon; called from another thread."""


class PushPlanner(Planner, Generic[_T]):
    """Plans to read what was brought. The state is how many records were, in all.

    Args:
        bringer: Brings them.
        as_content: Makes of some of them what a piece has to read.
    """

    def __init__(
        self, bringer: Bringer[_T], as_content: Callable[[Sequence[_T]], Any] = list
    ) -> None:
        self._bringer = bringer
        self._as_content = as_content
        self._inbox: Inbox[_T] = Inbox()
        # What no plan has yet, as what makes the content of a piece may fail.
        self._fetched: list[_T] = []
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def plan(self, state: Any, parallelism: int) -> Plan:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="source", daemon=True)
            self._thread.start()
        has_ended = not self._thread.is_alive()
        self._fetched += self._inbox.fetch()
        if self._fetched:
            piece, count = Piece(self._as_content(self._fetched)), len(self._fetched)
            self._fetched = []
            return Plan((piece,), (state or 0) + count)
        if not has_ended:
            return Plan(state=state)
        if self._error is not None:
            error, self._error = self._error, None
            # If the job is restarted, it is tried again.
            self._thread = None
            raise error
        return Plan(state=state, is_over=True)

    def _run(self) -> None:
        try:
            self._bringer.run(self._inbox)
        except BaseException as error:  # noqa: BLE001 - the job raises it
            self._error = error

    def close(self) -> None:
        self._inbox.close()
        if self._thread is not None and self._thread.is_alive():
            self._bringer.cancel()
            self._thread.join(_SECONDS_TO_END)
