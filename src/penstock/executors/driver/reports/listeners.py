"""Tells listeners of events, and keeps from the job what they raise."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from penstock.common.epoch_listener import EpochListener
from penstock.errors import EpochListenerWarning


def tell_all(listeners: Sequence[EpochListener], method: str, event: Any) -> None:
    """Tell listeners of an event.

    Args:
        listeners: The listeners.
        method: The name of the method that is to hear of it.
        event: The event.
    """
    for listener in listeners:
        try:
            getattr(listener, method)(event)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not the job's
            warnings.warn(
                f"The epoch listener {type(listener).__name__} raised {error!r} in {method}; the job "
                "goes on.",
                EpochListenerWarning,
                stacklevel=1,
            )
