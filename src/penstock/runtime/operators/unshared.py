"""Copies of values that may be changed by whoever gets them."""

from __future__ import annotations

import pickle
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Any, Final

_UNCHANGING: Final = frozenset(
    {int, float, bool, complex, str, bytes, type(None), Decimal, date, datetime, timedelta}
)


def unshared(values: list[Any]) -> list[Any]:
    """Return the values, as copies unless they are such as never change."""
    kinds = set(map(type, values))
    if kinds == {tuple}:
        kinds = set(map(type, chain.from_iterable(values)))
    if kinds <= _UNCHANGING:
        return values
    copies: list[Any] = pickle.loads(pickle.dumps(values, pickle.HIGHEST_PROTOCOL))
    return copies
