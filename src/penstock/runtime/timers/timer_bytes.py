"""Timers as byte strings that are in the order of their timestamps."""

from __future__ import annotations

from typing import Final

from penstock.runtime.job_pickle import dumps, loads
from penstock.runtime.keys.key_types import key_bytes
from penstock.runtime.timers.internal_timer import InternalTimer

_SIGN: Final = 1 << 63
_LENGTH: Final = 8


def entry_of(timer: InternalTimer) -> tuple[bytes, bytes]:
    """Return the bytes that stand for a timer, and what is kept with them.

    Equal timers have equal bytes: the timestamp, its sign flipped so that what is negative comes
    first, then the key and the namespace. These bytes tell of keys which are equal, not which object
    the key is. So the key and the namespace themselves are kept with them.

    Example:
        >>> early, late = InternalTimer(-1, "a", None), InternalTimer(1, "a", None)
        >>> entry_of(early) < entry_of(late)
        True
    """
    _, key, namespace = timer
    return name_of(timer), dumps((key, namespace))


def name_of(timer: InternalTimer) -> bytes:
    """Return the bytes that stand for a timer."""
    timestamp, key, namespace = timer
    return (timestamp + _SIGN).to_bytes(_LENGTH, "big") + key_bytes(key) + key_bytes(namespace)


def timer_of(name: bytes, kept: bytes) -> InternalTimer:
    """Return the timer that the bytes stand for.

    Example:
        >>> timer_of(*entry_of(InternalTimer(-1, "a", None)))
        InternalTimer(timestamp=-1, key='a', namespace=None)
    """
    key, namespace = loads(kept)
    return InternalTimer(int.from_bytes(name[:_LENGTH], "big") - _SIGN, key, namespace)
