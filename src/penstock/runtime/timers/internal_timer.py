"""One timer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, final


@final
class InternalTimer(NamedTuple):
    """A timer of an operator. Equal timers are one timer.

    Attributes:
        timestamp: When it fires, in milliseconds of event time or of processing time.
        key: The key that was current when it was registered.
        namespace: What it belongs to under that key, for instance a window.
    """

    timestamp: int
    key: Any
    namespace: Any


new_timer: Callable[[tuple[int, Any, Any]], InternalTimer] = partial(tuple.__new__, InternalTimer)
"""Makes a timer of its timestamp, key and namespace, in half of the time."""
