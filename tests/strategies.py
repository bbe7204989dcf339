"""What is drawn in tests of all packages."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from hypothesis import strategies as st


def any_of(*choices: Iterable[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Return tuples of one of each, all as likely as another; the first of each are the simplest.

    That is one draw: with a draw for each, Hypothesis takes longer to draw than most tests to run.
    """
    return st.sampled_from(list(product(*choices)))


def from_zero(least: int, most: int) -> list[int]:
    """Return the integers of a range, those near zero first."""
    return sorted(range(least, most + 1), key=abs)


def many_of(
    choices: Iterable[Any], *, min_size: int = 0, max_size: int
) -> st.SearchStrategy[list[Any]]:
    """Return lists of these, with repetitions; the first are the simplest, and the likelier ones.

    That is one draw, of bytes, each of which stands for a choice: there are at most 256.
    """
    found = list(choices)
    assert 0 < len(found) <= 256
    table = [found[byte % len(found)] for byte in range(256)]
    numbers = st.binary(min_size=min_size, max_size=max_size)

    # No `map`: where one stands in another, Hypothesis tries what it drew for either in the other's place.
    @st.composite
    def chosen(draw: st.DrawFn) -> list[Any]:
        return [table[number] for number in draw(numbers)]

    return chosen()
