"""Which clock a timer follows."""

from __future__ import annotations

from penstock.runtime.timers.internal_timer import TimeDomain

__all__ = ["TimeDomain"]
