"""The timers of a key, under the name of PyFlink's module."""

from __future__ import annotations

from penstock.datastream.functions.timer_service import TimerService

__all__ = [
    "TimerService",
]
