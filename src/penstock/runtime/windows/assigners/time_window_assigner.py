"""What assigners of windows in time have in common, by event time and by processing time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import Any

from penstock.errors import InvalidTimestampError
from penstock.runtime.keys.window_values import TimeWindow
from penstock.runtime.user_code import record_text
from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.serializers import TimeWindowSerializer
from penstock.runtime.windows.triggers.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.runtime.windows.triggers.trigger import Trigger


def without_timestamp(
    operator: str, assigner: Any, record: Any, where: str | None = None
) -> InvalidTimestampError:
    """Return what to raise for a record that has to have a timestamp, and maybe has a key."""
    key = "" if where is None else f", with {where}"
    return InvalidTimestampError(
        f"Operator {operator!r} puts records into {assigner!r} by their timestamps, and the record "
        f"{record_text(record)} has none{key}.",
        hint="Call assign_timestamps_and_watermarks() before, with a strategy that has a timestamp "
        "assigner; or use windows by processing time.",
    )


class TimeWindowAssigner(WindowAssigner[Any, TimeWindow]):
    """Puts records into windows by one of their times."""

    @abstractmethod
    def _windows_at(
        self, time: int, element: Any, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """Return the windows of a record, given its time in milliseconds."""

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()


class EventTimeWindowAssigner(TimeWindowAssigner):
    """Puts records into windows by their timestamps."""

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """Return the windows of the record's timestamp.

        Raises:
            InvalidTimestampError: If the record has no timestamp.
        """
        if timestamp is None:
            operator = context.get_runtime_context().get_task_name()
            raise without_timestamp(operator, self, element)
        return self._windows_at(timestamp, element, context)

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return an `EventTimeTrigger`."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Return True."""
        return True


class ProcessingTimeWindowAssigner(TimeWindowAssigner):
    """Puts records into windows by the clock of the machine."""

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """Return the windows of the time that the clock shows."""
        return self._windows_at(context.get_current_processing_time(), element, context)

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Return a `ProcessingTimeTrigger`."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Return False."""
        return False
