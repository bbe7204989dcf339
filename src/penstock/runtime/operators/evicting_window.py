"""Windows with an evictor, which takes records out of a window around the call of its function."""

from __future__ import annotations

from typing import Any

from penstock.common.typeinfo import Types
from penstock.runtime.operators.merging_window import MergingWindowOperator
from penstock.runtime.operators.window import WindowOperator
from penstock.runtime.operators.window_contents import STATE_NAME, WindowContents
from penstock.runtime.operators.window_contexts import EvictorContext
from penstock.runtime.state.descriptors import ListStateDescriptor, StateDescriptor
from penstock.runtime.windowing.evictor import Evictor, TimestampedValue


class TimestampedRecords(WindowContents):
    """Keeps the records with their timestamps, for an evictor to choose from.

    Args:
        contents: Says what the function of the window is given for the records that are left.
    """

    what_is_kept = "with their records and timestamps, for an evictor"

    def __init__(self, contents: WindowContents) -> None:
        self._contents = contents
        self.open = contents.open  # type: ignore[method-assign]
        self.close = contents.close  # type: ignore[method-assign]

    def descriptor(self) -> StateDescriptor:
        return ListStateDescriptor(STATE_NAME, Types.PICKLED_BYTE_ARRAY())

    def result(self, kept: Any) -> list[Any] | None:
        return self.result_of_records([element.value for element in kept])

    def result_of_records(self, records: list[Any]) -> list[Any] | None:
        return self._contents.result_of_records(records)


class EvictingWindowOperator(WindowOperator):
    """Keeps all records of a window, even where they are reduced: they are joined when it fires.

    A window of which nothing is left has its function called with nothing, unless it is to reduce.
    One that fires without having had records is cleaned up like any other (Flink's never is, if that
    happens with its last record).

    Args:
        *arguments: See `WindowOperator`.
        evictor: Takes records out of windows.
        **options: See `WindowOperator`.
    """

    def __init__(self, *arguments: Any, evictor: Evictor[Any, Any], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.contents = TimestampedRecords(self.contents)
        self.sorts_in_batch = True
        self.evictor = evictor

    def open(self) -> None:
        super().open()
        self._evictor_context = EvictorContext(self.context, self._service)

    def _add(self, value: Any, timestamp: int | None) -> None:
        self._add_to_kept(TimestampedValue(value, timestamp))

    def _fire(self, window: Any) -> None:
        elements: list[TimestampedValue] = self._kept.get()  # type: ignore[attr-defined]
        if not elements:
            return
        known = elements.copy()
        self.evictor.evict_before(elements, len(known), window, self._evictor_context)
        values = self._result(elements)
        if values is not None:
            self._emit(window, values)
        self.evictor.evict_after(elements, len(elements), window, self._evictor_context)
        if len(elements) != len(known):
            # What is left stays as it was, whatever was done to the records that were given out.
            kept: list[TimestampedValue] = self._kept.get()  # type: ignore[attr-defined]
            as_kept = dict(zip(map(id, known), kept, strict=True))
            left = [as_kept.get(id(element), element) for element in elements]
            self._kept.update(left)  # type: ignore[attr-defined]


class EvictingMergingWindowOperator(EvictingWindowOperator, MergingWindowOperator):
    """Windows that merge, with an evictor."""
