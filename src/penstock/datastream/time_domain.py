"""Which clock a timer follows."""

from __future__ import annotations

from penstock.runtime.time_domain import TimeDomain

__all__ = ["TimeDomain"]
