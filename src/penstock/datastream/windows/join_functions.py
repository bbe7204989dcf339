"""The functions that a join of two streams by key and window consists of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

from penstock.datastream.functions.window_functions import WindowFunction
from penstock.runtime.context import RuntimeContext
from penstock.runtime.objects.mutability import are_immutable, given, kept
from penstock.runtime.user_code import UserFunction

Tagged = tuple[int, Any]
"""A record of either stream: 0 for the first or 1 for the second, and the record."""


class Tag:
    """Puts the number of its stream before a record."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __call__(self, value: Any) -> Tagged:
        """Return a record with the number before it."""
        return self._number, value


class KeyOfTagged:
    """Takes the key from a record of either stream."""

    def __init__(self, first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
        self._keys = first, second

    def __call__(self, tagged: Tagged) -> Any:
        """Return the key of a record."""
        return self._keys[tagged[0]](tagged[1])


class BothSides(WindowFunction[Any, Any, Any, Any]):
    """Calls a function of the user with what both streams have of a window.

    Args:
        function: The function.
        method: Its method.
    """

    def __init__(self, function: Any, method: str) -> None:
        self._function = UserFunction(function, method)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the user's function, if it has an `open`, and look up what to call."""
        self._call = self._function.call
        self._function.open(runtime_context)

    def close(self) -> None:
        """Close the user's function, if it has a `close`."""
        self._function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[Tagged]) -> Iterable[Any] | None:
        """Tell the records of the two streams apart, and return the results of both."""
        sides: tuple[list[Any], list[Any]] = ([], [])
        for number, value in inputs:
            sides[number].append(value)
        return self._results(*sides)

    @abstractmethod
    def _results(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """Return the results of a window."""


def _pairs(first: list[Any], second: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield all pairs, each of records of its own if they can be changed."""
    if are_immutable(first) and are_immutable(second):
        return product(first, second)
    held = product(list(map(kept, first)), list(map(kept, second)))
    return ((given(one), given(other)) for one, other in held)


class JoinedPairs(BothSides):
    """One result for each pair."""

    def _results(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        return (self._call(one, other) for one, other in _pairs(first, second))


class FlatJoinedPairs(BothSides):
    """Any number of results for each pair."""

    def _results(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        for one, other in _pairs(first, second):
            yield from self._call(one, other) or ()


class CoGrouped(BothSides):
    """Any number of results for all records."""

    def _results(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        return self._call(first, second)  # type: ignore[no-any-return]
