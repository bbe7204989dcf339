"""What is kept of the records of sessions, beside their starts and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from penstock.runtime.mutability import IMMUTABLE_TYPES, Kept, given
from penstock.runtime.operators.window_contents import (
    AggregatedRecords,
    ListedRecords,
    ReducedRecords,
    WindowContents,
)
from penstock.runtime.state.states import KeyedListState
from penstock.runtime.state.tables import ABSENT, Keep

Session = list[Any]
"""The start and the end of a session, and what is held of what is kept of its records.

It changes in place, and belongs to nobody but the operator.
"""


class SessionContents(Protocol):
    """Keeps the records of sessions: what is held of that in the session itself is the `kept` here."""

    def first(self, key: Any, value: Any, sessions: Iterable[Session]) -> Any:
        """Return what is kept of the first record of a session.

        Args:
            key: The key.
            value: The record.
            sessions: The other sessions of the key.
        """

    def add(self, key: Any, kept: Any, value: Any) -> Any:
        """Return what is kept when a record was added."""

    def merge(self, key: Any, kept: Any, other: Any) -> Any:
        """Return what is kept of two sessions that became one."""

    def peek(self, key: Any, kept: Any) -> Any:
        """Return what the contents of the window are, as `WindowContents.result` takes them: a copy."""

    def drop(self, key: Any, kept: Any) -> None:
        """Drop what is kept elsewhere."""

    def flush(self) -> None:
        """Write what was not written yet."""


def read_sessions(held: Any, key: Any, hold: Keep) -> list[Session]:
    """Return the sessions of a key, as they are worked on, of what is in the state."""
    sessions: list[Session] = given(held) or []
    for session in sessions:
        if type(session[2]) not in IMMUTABLE_TYPES:
            session[2] = hold(session[2], key)
    return sessions


def write_sessions(sessions: list[Session], key: Any, keep: Keep) -> Any:
    """Return what to set in the state for the sessions of a key.

    Args:
        sessions: The sessions.
        key: The key.
        keep: Returns what to set there for a value that may be changed later.
    """
    if Kept not in [type(session[2]) for session in sessions]:
        return sessions
    return keep([[start, end, given(kept)] for start, end, kept in sessions], key)


def session_contents(contents: WindowContents, lists: Any, hold: Keep) -> SessionContents:
    """Return what keeps such contents.

    Args:
        contents: What a window keeps.
        lists: The state of that, if it is lists.
        hold: Returns what to hold of a value.
    """
    if isinstance(contents, ReducedRecords):
        return _ReducedSessions(contents.function.call, hold)
    if isinstance(contents, AggregatedRecords):
        return _AggregatedSessions(contents.function.function, hold)
    return _ListedSessions(lists)


def can_keep(contents: WindowContents) -> bool:
    """Whether there is something for contents of this kind."""
    return isinstance(contents, (ReducedRecords, AggregatedRecords, ListedRecords))


class _InSession:
    """Keeps all in the session itself."""

    def peek(self, key: Any, kept: Any) -> Any:
        return given(kept)

    def drop(self, key: Any, kept: Any) -> None:
        """There is nothing elsewhere."""

    def flush(self) -> None:
        """There is nothing to write."""


class _ReducedSessions(_InSession):
    def __init__(self, reduce: Callable[[Any, Any], Any], hold: Keep) -> None:
        self._reduce = reduce
        self._hold = hold

    def first(self, key: Any, value: Any, sessions: Iterable[Session]) -> Any:
        return value if type(value) in IMMUTABLE_TYPES else self._hold(value, key)

    def add(self, key: Any, kept: Any, value: Any) -> Any:
        result = self._reduce(kept.value() if type(kept) is Kept else kept, value)
        return result if type(result) in IMMUTABLE_TYPES else self._hold(result, key)

    def merge(self, key: Any, kept: Any, other: Any) -> Any:
        return self.add(key, kept, given(other))


class _AggregatedSessions(_InSession):
    def __init__(self, function: Any, hold: Keep) -> None:
        self._function = function
        self._hold = hold

    def first(self, key: Any, value: Any, sessions: Iterable[Session]) -> Any:
        return self.add(key, self._function.create_accumulator(), value)

    def add(self, key: Any, kept: Any, value: Any) -> Any:
        result = self._function.add(value, kept.value() if type(kept) is Kept else kept)
        return result if type(result) in IMMUTABLE_TYPES else self._hold(result, key)

    def merge(self, key: Any, kept: Any, other: Any) -> Any:
        return self._hold(self._function.merge(given(kept), given(other)), key)


class _ListedSessions:
    """Keeps the records in a state of lists, and in the session the namespace in which they are.

    It is a number that no other session of the key has at the time, so that most sessions of most
    keys are in the first namespace. Records are written by the block.
    """

    def __init__(self, lists: KeyedListState) -> None:
        self._lists = lists
        self._new: dict[int, dict[Any, list[Any]]] = {}

    def first(self, key: Any, value: Any, sessions: Iterable[Session]) -> int:
        taken = {kept for _, _, kept in sessions}
        place = next(number for number in range(len(taken) + 1) if number not in taken)
        return self.add(key, place, value)

    def add(self, key: Any, kept: int, value: Any) -> int:
        by_key = self._new.get(kept)
        if by_key is None:
            by_key = self._new[kept] = {}
        records = by_key.get(key)
        if records is None:
            by_key[key] = [value]
        else:
            records.append(value)
        return kept

    def merge(self, key: Any, kept: int, other: int) -> int:
        moved = self._taken(key, other)
        if moved is not ABSENT:
            self._enter(kept)
            self._lists.view.extend(key, moved)
        return kept

    def peek(self, key: Any, kept: int) -> Any:
        self._enter(kept)
        return self._lists.view.get(key) or ABSENT

    def drop(self, key: Any, kept: int) -> None:
        self._taken(key, kept)

    def _taken(self, key: Any, kept: int) -> Any:
        found = self.peek(key, kept)
        self._lists.view.remove(key)
        return found

    def _enter(self, place: int) -> None:
        self.flush()
        self._lists.set_current_namespace(place)

    def flush(self) -> None:
        if not self._new:
            return
        for place, by_key in self._new.items():
            self._lists.set_current_namespace(place)
            extend = self._lists.view.extend
            for key, records in by_key.items():
                extend(key, records)
        self._new = {}
