"""Events that come one by one, as from the sources of either engine: a number in the source is one event.

`Nexmark` makes a thousand events of each number: so few records leave a source that what it costs to bring
one to a Python function does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.nexmark.events import CHUNK, GROUP, Nexmark

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.nexmark.events import Record


class OneByOne:
    """Makes the event of a number, in the same interface.

    Args:
        nexmark: Makes the chunks.
    """

    def __init__(self, nexmark: Nexmark) -> None:
        self.disorder = nexmark.disorder
        self.persons_of = OfKind(nexmark.persons_of, 0, 1)
        self.auctions_of = OfKind(nexmark.auctions_of, 1, 3)
        self.bids_of = OfKind(nexmark.bids_of, 4, 46)


class OfKind:
    """Makes the event of a number if it is of one kind: those of a chunk are made together and kept.

    Args:
        make: Makes those of a chunk.
        first: The place of the first in each group.
        share: How many there are in a group.
    """

    def __init__(self, make: Callable[[int], list[Record]], first: int, share: int) -> None:
        self._make = make
        self._first = first
        self._share = share
        self._chunk: int | None = None

    def __call__(self, number: int) -> tuple[Record, ...]:
        """The event alone, or nothing."""
        chunk = number // CHUNK
        if chunk != self._chunk:
            self._places = self._in_their_places(self._make(chunk))
            self._chunk = chunk
        return self._places[number % CHUNK]

    def _in_their_places(self, events: list[Record]) -> list[tuple[Record, ...]]:
        places: list[tuple[Record, ...]] = [()] * CHUNK
        for place in range(self._share):
            places[self._first + place :: GROUP] = zip(events[place :: self._share], strict=True)
        return places
