"""Windows that merge, such as sessions."""

from __future__ import annotations

from typing import Any, Final

from penstock.common.typeinfo import Types
from penstock.errors import LateMergedWindowError
from penstock.runtime.elements import Block
from penstock.runtime.mutability import given
from penstock.runtime.operators.merging_window_set import MergingWindowSet
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.state.descriptors import MapStateDescriptor
from penstock.runtime.user_code import record_text

_WINDOWS: Final = MapStateDescriptor(
    "merging-window-set", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY()
)


class MergingWindowOperator(WindowOperator):
    """Merges windows as the assigner says.

    Contents stay in the state of one of the windows that became one. Which of them, and which windows a
    key has, is state too.
    """

    merges = True
    how_kept = "as windows that merge"

    def open(self) -> None:
        super().open()
        self._set_state = self.state.get_state(_WINDOWS)

        self._sets: dict[Any, MergingWindowSet] = {}

    def process_block(self, block: Block) -> None:
        try:
            super().process_block(block)
            for key, known in self._sets.items():
                self.state.set_current_key(key)
                known.persist()
        finally:
            self._sets.clear()

    def _current_set(self) -> MergingWindowSet:
        return MergingWindowSet(self.assigner, self._set_state)  # type: ignore[arg-type]

    def _set_of_block(self) -> MergingWindowSet:
        """Return the windows of the current key, which are read and written once a block."""
        key = self.state.current_key
        known = self._sets.get(key)
        if known is None:
            known = self._sets[key] = self._current_set()
        return known

    def _process(self, value: Any, timestamp: int | None) -> None:
        windows = self._windows_of(value, timestamp)
        known = self._set_of_block()
        held = self._held_for(windows, value)
        is_skipped = True
        for window in windows:
            self._window = window
            whole = self._window = known.add(window, self._merge)
            if self._is_late(whole):
                known.retire(whole)
                continue
            is_skipped = False
            self._put(given(held), timestamp, whole, known.state_window(whole))
        if is_skipped:
            self._skip(value, timestamp)

    def _merge(self, whole: Any, parts: list[Any], place: Any, others: list[Any]) -> None:
        """Make one window of several: the trigger first, then their contents."""
        self._window = whole
        now = (
            self._service.current_watermark
            if self._is_event_time
            else self._service.current_processing_time()
        )
        if self._cleanup_time(whole) <= now:
            raise LateMergedWindowError(
                f"Operator {self.name!r}, {self._where()}: the window would be made of "
                f"{record_text(parts)}, and it is late already: the "
                f"{'watermark' if self._is_event_time else 'time'} is {now}.",
                hint="A merged window must not end before the windows that became it: look at "
                f"merge_windows of {type(self.assigner).__name__}.",
            )
        context = self._trigger_context
        context.window, context.merged = whole, parts
        self.trigger.on_merge(whole, context)
        for part in parts:
            if part != whole:
                context.window = part
                self.trigger.clear(part, context)
                self._delete_cleanup(part)
        self._kept.merge_namespaces(place, others)

    def _place_of(self, window: Any) -> Any:
        return self._current_set().state_window(window)

    def _clear_all(self, window: Any) -> None:
        super()._clear_all(window)
        known = self._sets.get(self.state.current_key) or self._current_set()
        known.retire(window)
        known.persist()
