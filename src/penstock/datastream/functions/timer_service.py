"""The timers of a key, as functions see them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.runtime.operators.keyed_process import UserTimers
from penstock.runtime.operators.process import NoTimers

__all__ = ["TimerService"]


class TimerService(ABC):
    """Tells the time, and registers and deletes timers of the current key.

    A timer is known by its key and its time: registering it twice makes one timer, and deleting one
    that is not there does nothing. Event-time timers fire when the watermark reaches their time, those
    left at the end of bounded input included. Processing-time timers fire when the clock has passed
    their time, with or without new input, and never after the end of input.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the time in milliseconds since the epoch; it never goes back."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the last watermark in milliseconds; -2**63 before the first, 2**63 - 1 at the end."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Register a timer that fires when the clock has passed a time.

        Args:
            timestamp: Milliseconds since the epoch.

        Raises:
            UnsupportedOperationError: If the stream has no keys. So do the methods below.
            InvalidTimerError: If the time is no 64-bit integer. So do the methods below.
        """

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Register a timer that fires when the watermark reaches a time.

        Args:
            timestamp: Milliseconds since the epoch. For a time that the watermark has reached already,
                the timer fires with the next watermark.
        """

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete the processing-time timer for a time, if there is one.

        Args:
            timestamp: Milliseconds since the epoch.
        """

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete the event-time timer for a time, if there is one.

        Args:
            timestamp: Milliseconds since the epoch.
        """


TimerService.register(UserTimers)
TimerService.register(NoTimers)
