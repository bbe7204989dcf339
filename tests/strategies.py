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
