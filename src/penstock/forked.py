"""What belongs to this process alone: one that is forked from it, as by a user's function, lets go of it.

Else a driver that has died would keep its ports and its claim to a checkpoint location for as long as such a process
lives, and the next one could not start; and at its end the forked process would cancel the jobs of the other.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol


class _Closeable(Protocol):
    def close(self) -> None: ...


_OWN: Final[weakref.WeakSet[_Closeable]] = weakref.WeakSet()


def not_for_forks(own: _Closeable) -> None:
    """Have something closed in processes that are forked from this one, where that does not touch it here.

    Args:
        own: A socket or the like.
    """
    _OWN.add(own)


def anew_in_forks(own: object) -> None:
    """Have something be as if it had just been made in processes that are forked from this one.

    Args:
        own: An object of a class whose constructor needs no arguments. Threads that it has are not in a fork.
    """
    _at_fork(lambda: _make_anew(own))


def _make_anew(own: object) -> None:
    made = vars(type(own)())
    vars(own).clear()
    vars(own).update(made)


def _let_go() -> None:
    for own in list(_OWN):
        with suppress(OSError):
            own.close()


def _at_fork(call: Callable[[], None]) -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=call)


_at_fork(_let_go)
