"""One window for all records of a key."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from penstock.runtime.keys.window_values import GlobalWindow
from penstock.runtime.windows.assigners.assigner import WindowAssigner
from penstock.runtime.windows.serializers import GlobalWindowSerializer
from penstock.runtime.windows.triggers.global_triggers import EndOfStreamTrigger, NeverTrigger
from penstock.runtime.windows.triggers.trigger import Trigger

_WINDOWS: Final = (GlobalWindow.get(),)


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """Puts all records of a key in one window, which never ends.

    Without a trigger of yours, or `create_with_end_of_stream_trigger`, there are no results.

    Args:
        default_trigger: The trigger where the program names none. Default: a `NeverTrigger`.

    Example:
        >>> from penstock.datastream.window import GlobalWindows
        >>> GlobalWindows.create()
        GlobalWindows()
    """

    def __init__(self, *, default_trigger: Trigger[Any, GlobalWindow] | None = None) -> None:
        self._default_trigger = default_trigger

    @staticmethod
    def create() -> GlobalWindows:
        """Return windows without a trigger.

        Returns:
            The assigner.
        """
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """Return windows that fire once, when the input ends.

        Returns:
            The assigner.
        """
        return GlobalWindows(default_trigger=EndOfStreamTrigger())

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[GlobalWindow]:
        """Return the one window."""
        return _WINDOWS

    def get_default_trigger(self, env: Any) -> Trigger[Any, GlobalWindow]:
        """Return the trigger that the assigner was made with, else a `NeverTrigger`."""
        return self._default_trigger or NeverTrigger()

    def get_window_serializer(self) -> GlobalWindowSerializer:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False."""
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"
