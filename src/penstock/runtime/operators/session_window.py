"""Sessions of event time with one gap under the default trigger, a block at a time."""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter
from typing import Any, Final

from penstock.common.typeinfo import Types
from penstock.runtime.elements import MAX_TIMESTAMP, Block
from penstock.runtime.epoch import Epoch
from penstock.runtime.operators.session_contents import (
    Session,
    read_sessions,
    session_contents,
    write_sessions,
)
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.state.descriptors import ValueStateDescriptor
from penstock.runtime.state.tables import VOID_NAMESPACE
from penstock.runtime.timers.internal_timer import InternalTimer
from penstock.runtime.user_code import FAILURES, failing_record
from penstock.runtime.windowing.window import TimeWindow

_SESSIONS: Final = ValueStateDescriptor("window-sessions", Types.PICKLED_BYTE_ARRAY())
_END: Final = itemgetter(1)


class SessionWindowOperator(WindowOperator):
    """Does what `MergingWindowOperator` does, for sessions whose gap and trigger are known.

    A key has one list of its sessions, in order of time, that is read and written once a block.

    A record that makes a session longer does not move its timer: a timer that fires too early registers
    the next. So a key has a timer that is not after the first end or cleanup of its sessions, and maybe
    others, at which there is nothing to do.
    """

    merges = True
    shows_order = False
    how_kept = "as sessions with one gap under the default trigger"

    def open(self) -> None:
        super().open()
        self._gap: int = self.assigner.session_gap  # type: ignore[attr-defined]
        self._sessions = self.state.get_state(_SESSIONS)

    def begin_epoch(self, epoch: Epoch) -> None:
        super().begin_epoch(epoch)
        self._records = session_contents(self.contents, self._kept, self._kept.hold)

    def process_block(self, block: Block) -> None:
        if block.timestamps is None or block.keys is None or None in block.timestamps:
            super().process_block(block)  # which tells what is wrong
            return
        known: dict[Any, list[Session]] = {}
        entries, mark, keep = self._sessions.view
        hold = self._sessions.hold
        add, gap, passed = self._records.add, self._gap, self._service.current_watermark + 1
        rest = iter(block.values)
        key = None
        try:
            for value, key, timestamp in zip(rest, block.keys, block.timestamps, strict=True):
                sessions = known.get(key)
                if sessions is None:
                    sessions = known[key] = read_sessions(entries.get(key), key, hold)
                end = min(timestamp + gap, MAX_TIMESTAMP)  # type: ignore[operator]
                if sessions:
                    last = sessions[-1]
                    if last[0] <= timestamp <= last[1] > passed:
                        last[2] = add(key, last[2], value)
                        last[1] = max(last[1], end)
                        continue
                self._put_in(sessions, key, value, timestamp, end)  # type: ignore[arg-type]
        except FAILURES as error:
            raise self._record_failure(error, key, failing_record(block, rest)) from error
        self._records.flush()
        for key, sessions in known.items():
            if sessions:
                entries[key] = write_sessions(sessions, key, keep)
                mark(key)
            elif entries.pop(key, None) is not None:
                mark(key)
        self._collector.flush()

    def _record_failure(self, error: BaseException, key: Any, record: str | None) -> Exception:
        if key != self.state.current_key:
            self.state.set_current_key(key)
            self._window = None
        return self._failure(error, record)

    def _put_in(
        self, sessions: list[Session], key: Any, value: Any, timestamp: int, end: int
    ) -> None:
        """Put a record into the sessions of its key, whatever becomes of them."""
        self.state.set_current_key(key)
        watermark = self._service.current_watermark
        first = bisect_left(sessions, timestamp, key=_END)
        touched = [session for session in sessions[first:] if session[0] <= end]
        is_awaited = False
        start = timestamp
        if touched:
            start = min(start, touched[0][0])
            is_awaited = touched[-1][1] > watermark + 1
            end = max(end, touched[-1][1])
        window = self._window = TimeWindow(start, end)
        cleanup = self._cleanup_time(window)
        if cleanup <= watermark:
            self._skip(value, timestamp)
            return
        kept = self._merged(key, touched, value, sessions)
        sessions[first : first + len(touched)] = [[start, end, kept]]
        if not is_awaited:
            self._register(key, end - 1 if end - 1 > watermark else cleanup)
        if end - 1 <= watermark:
            self._fire_session(key, window, kept)

    def _merged(self, key: Any, touched: list[Session], value: Any, sessions: list[Session]) -> Any:
        """Return what is kept of the sessions that a record touched, and of the record."""
        if not touched:
            return self._records.first(key, value, sessions)
        kept = touched[0][2]
        for _, _, other in touched[1:]:
            kept = self._records.merge(key, kept, other)
        return self._records.add(key, kept, value)

    def _register(self, key: Any, time: int) -> None:
        if time < MAX_TIMESTAMP:
            self._service.event_time_queue.add(InternalTimer(time, key, VOID_NAMESPACE))

    def _fire_session(self, key: Any, window: TimeWindow, kept: Any) -> None:
        found = self._records.peek(key, kept)
        values = self._result(found)
        if values is not None:
            self._emit(window, values)

    def on_event_time(self, timer: InternalTimer) -> None:
        now, key, _ = timer
        entries, mark, keep = self._sessions.view
        sessions = read_sessions(entries.get(key), key, self._sessions.hold)
        left: list[Session] = []
        next_time = MAX_TIMESTAMP
        try:
            for session in sessions:
                start, end, kept = session
                window = self._window = TimeWindow(start, end)
                if now == end - 1:
                    self._fire_session(key, window, kept)
                cleanup = self._cleanup_time(window)
                if now == cleanup:
                    self._records.drop(key, kept)
                    self._window_context.current = window
                    self.call.clear(self._window_context)
                    continue
                left.append(session)
                next_time = min(next_time, end - 1 if end - 1 > now else cleanup)
        except FAILURES as error:
            raise self._failure(error, None) from error
        if len(left) < len(sessions):
            if left:
                entries[key] = write_sessions(left, key, keep)
            else:
                entries.pop(key, None)
            mark(key)
        self._register(key, next_time)
