"""Sessions of event time with one gap under the default trigger, a block at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from functools import partial
from operator import itemgetter
from typing import Any, Final, cast

from penstock.common.typeinfo.types import Types
from penstock.runtime.exchange.elements import Block
from penstock.runtime.keys.key_types import VOID_NAMESPACE
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.objects.mutability import IMMUTABLE_TYPES, Kept, given
from penstock.runtime.state.descriptors import ValueStateDescriptor
from penstock.runtime.state.states import KeyedListState
from penstock.runtime.state.tables import Keep, ValueView
from penstock.runtime.timers.internal_timer import InternalTimer, new_timer
from penstock.runtime.timestamp import MAX_TIMESTAMP
from penstock.runtime.windows.assigners.session import EventTimeSessionWindows
from penstock.runtime.windows.operator.window_contents import JoinedContents
from penstock.runtime.windows.operator.window_operator import WindowOperator, WindowSet
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger

_SESSIONS: Final = ValueStateDescriptor("window-sessions", Types.PICKLED_BYTE_ARRAY())
_END: Final = itemgetter(1)

Session = list[Any]
"""Start and end of a session, and what is held of its records. It changes in place: it is the set's own."""


class Sessions(WindowSet):
    """Does what `GeneralWindows` does, for sessions whose gap and trigger are known.

    A key has one list of its sessions, in order of time, that is read and written once a block.

    A record that makes a session longer does not move its timer: a timer that fires too early registers
    the next. So a key has a timer that is not after the first end or cleanup of its sessions, and maybe
    others, at which there is nothing to do.
    """

    layout = "sessions"

    def __init__(self, operator: WindowOperator) -> None:
        super().__init__(operator)
        self._gap: int = operator.assigner.session_gap  # type: ignore[attr-defined]
        self._state = operator.state.get_state(_SESSIONS)

    @staticmethod
    def can_run(assigner: Any, trigger: Any, contents: Any, call: Any) -> bool:  # noqa: ARG004
        are_known = type(assigner) is EventTimeSessionWindows and type(trigger) is EventTimeTrigger
        return are_known and contents.evictor is None

    def begin_epoch(self) -> None:
        contents, kept = self._operator.contents, self._operator.kept
        self._records: _InSession | _InLists = _InLists(kept)
        if isinstance(contents, JoinedContents):
            self._records = _InSession(contents, kept.hold)

    def put(self, block: Block) -> None:
        operator, view = self._operator, self._state.view
        known: dict[Any, list[Session]] = {}
        get, hold, add = view.entries.get, self._state.hold, self._records.add
        gap, passed = self._gap, operator.service.current_watermark + 1
        rest, times, keys = operator.reading(block), block.timestamps, block.keys or ()
        for value, key, timestamp in zip(rest, keys, cast("list[int]", times), strict=True):
            sessions = known.get(key)
            if sessions is None:
                sessions = known[key] = _read(get(key), key, hold)
            end = min(timestamp + gap, MAX_TIMESTAMP)
            if sessions:
                last = sessions[-1]
                if last[0] <= timestamp <= last[1] > passed:
                    last[2] = add(key, last[2], value)
                    last[1] = max(last[1], end)
                    continue
            self._put_in(sessions, key, value, timestamp, end)
            operator.window = None
        operator.being_read = None
        self._records.flush()
        for key, sessions in known.items():
            _write(view, key, sessions)

    def _put_in(
        self, sessions: list[Session], key: Any, value: Any, timestamp: int, end: int
    ) -> None:
        """Put a record into the sessions of its key, whatever becomes of them."""
        operator, records = self._operator, self._records
        operator.state.set_current_key(key)
        watermark = operator.service.current_watermark
        first = bisect_left(sessions, timestamp, key=_END)
        touched = [session for session in sessions[first:] if session[0] <= end]
        start, is_awaited = timestamp, False
        if touched:
            start, last = min(start, touched[0][0]), touched[-1][1]
            end, is_awaited = max(end, last), last > watermark + 1
        window = operator.window = TimeWindow(start, end)
        if operator.is_late(window):
            operator.skip(value, timestamp, [window])
            return
        if touched:
            kept = touched[0][2]
            for _, _, other in touched[1:]:
                kept = records.merge(key, kept, other)
            kept = records.add(key, kept, value)
        else:
            kept = records.first(key, value, sessions)
        sessions[first : first + len(touched)] = [[start, end, kept]]
        if not is_awaited:
            self._register(key, end - 1 if end - 1 > watermark else operator.cleanup_time(window))
        if end - 1 <= watermark:
            operator.fire(window, records.peek(kept))

    def _register(self, key: Any, time: int) -> None:
        if time < MAX_TIMESTAMP:
            self._operator.service.event_time_queue.add(new_timer((time, key, VOID_NAMESPACE)))

    def on_timer(self, timer: InternalTimer, *, is_event_time: bool) -> None:
        now, key, _ = timer
        operator, view = self._operator, self._state.view
        sessions = _read(view.entries.get(key), key, self._state.hold)
        left: list[Session] = []
        next_time = MAX_TIMESTAMP
        for session in sessions:
            start, end, kept = session
            window = operator.window = TimeWindow(start, end)
            if now == end - 1:
                operator.fire(window, self._records.peek(kept))
            cleanup = operator.cleanup_time(window)
            if now >= cleanup:
                self._records.drop(kept)
                operator.forget(window)
                continue
            left.append(session)
            next_time = min(next_time, end - 1 if end - 1 > now else cleanup)
        if len(left) < len(sessions):
            _write(view, key, left)
        self._register(key, next_time)


def _read(held: Any, key: Any, hold: Keep) -> list[Session]:
    """Return the sessions of a key, as they are worked on, of what is in the state."""
    sessions: list[Session] = given(held) or []
    for session in sessions:
        if type(session[2]) not in IMMUTABLE_TYPES:
            session[2] = hold(session[2], key)
    return sessions


def _write(view: ValueView, key: Any, sessions: list[Session]) -> None:
    """Set the sessions of a key in the state."""
    entries, mark, keep = view
    if not sessions:
        if entries.pop(key, None) is not None:
            mark(key)
        return
    if Kept in [type(session[2]) for session in sessions]:
        sessions = keep([[start, end, given(kept)] for start, end, kept in sessions], key)
    entries[key] = sessions
    mark(key)


class _InSession:
    """Keeps what the records of a session are joined to in the session itself."""

    def __init__(self, contents: JoinedContents, hold: Keep) -> None:
        self._call, self._create = contents.function.call, contents.create
        self._merge, self._hold = contents.merge, hold

    def first(self, key: Any, value: Any, sessions: list[Session]) -> Any:
        """Return what to hold of the first record of a session, where the key has these other sessions."""
        if self._create is not None:
            return self.add(key, self._create(), value)
        return value if type(value) in IMMUTABLE_TYPES else self._hold(value, key)

    def add(self, key: Any, kept: Any, value: Any) -> Any:
        """Return what to hold when a record was added."""
        before = kept.value() if type(kept) is Kept else kept
        result = self._call(before, value) if self._create is None else self._call(value, before)
        return result if type(result) in IMMUTABLE_TYPES else self._hold(result, key)

    def merge(self, key: Any, kept: Any, other: Any) -> Any:
        """Return what to hold of two sessions that became one."""
        return self._hold(self._merge(given(kept), given(other)), key)

    def peek(self, kept: Any) -> Any:
        """Return what is kept of a session of the current key: a copy."""
        return given(kept)

    def drop(self, kept: Any) -> None:
        """Drop what is kept elsewhere of a session of the current key."""

    def flush(self) -> None:
        """Write what was not written yet."""


class _InLists:
    """Keeps the records of sessions in a state of lists, and in the session the namespace in which they are.

    It is a number that no other session of the key has at the time, so that most sessions of most
    keys are in the first namespace. Records are written by the block.
    """

    def __init__(self, lists: KeyedListState) -> None:
        self._lists = lists
        self._new: dict[int, dict[Any, list[Any]]] = defaultdict(partial(defaultdict, list))

    def first(self, key: Any, value: Any, sessions: list[Session]) -> int:
        taken = {kept for _, _, kept in sessions}
        place = next(number for number in range(len(taken) + 1) if number not in taken)
        return self.add(key, place, value)

    def add(self, key: Any, kept: int, value: Any) -> int:
        self._new[kept][key].append(value)
        return kept

    def merge(self, key: Any, kept: int, other: int) -> int:
        self.flush()
        self._lists.merge_namespaces(kept, (other,))
        return kept

    def peek(self, kept: int) -> Any:
        self.flush()
        self._lists.set_current_namespace(kept)
        return self._lists.peek()

    def drop(self, kept: int) -> None:
        self.flush()
        self._lists.set_current_namespace(kept)
        self._lists.clear()

    def flush(self) -> None:
        for place, by_key in self._new.items():
            self._lists.set_current_namespace(place)
            extend = self._lists.view.extend
            for key, records in by_key.items():
                extend(key, records)
        self._new.clear()
