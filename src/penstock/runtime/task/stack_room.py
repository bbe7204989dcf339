"""Room for the frames of deep call stacks.

CPython keeps the frames of Python functions in chunks of 16 KB, and gets a chunk from the system when a call
does not fit into the last one; when the call returns, the chunk goes back. A loop that calls a function just
there does so each time. Measured: in a chain of 24 maps a record then takes 20 microseconds in place of one.
A function whose own frame is large has a large chunk, and what it calls finds room there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

_SLOTS: Final = 1 << 15
"""Of a frame, 8 bytes each: the chunk is the next power of two, and has as much left for others. That is
enough for as deep a stack as Python allows. The system gives memory only where it is used."""
_END: Final = object()


def with_room(function: Callable[..., T], *arguments: object) -> T:
    """Call a function with room on the stack for whatever it calls.

    Example:
        >>> with_room(max, 2, 7)
        7
    """
    return function(*arguments)


with_room.__code__ = with_room.__code__.replace(co_stacksize=_SLOTS)


def iterated_with_room(items: Iterable[T]) -> Iterator[T]:
    """Yield items, each made with room on the stack.

    Example:
        >>> list(iterated_with_room(map(abs, [1, -2])))
        [1, 2]
    """
    iterator = iter(items)
    while (item := with_room(next, iterator, _END)) is not _END:
        yield item
