"""How a job starts, and what it lets go of at its end, whatever its epochs run on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def releasing() -> Iterator[ExitStack]:
    """Give what a job takes on its way to the start; if it does not get there, all of it is let go of."""
    taken = ExitStack()
    try:
        yield taken
    except BaseException:
        taken.close()
        raise
