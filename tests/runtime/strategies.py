"""Random blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from tests.strategies import any_of, from_zero, many_of

from penstock.runtime.exchange.elements import Block

_POWERS = [sign * 2**power for power in range(6, 63, 4) for sign in (1, -1)]
_NUMBERS = [*from_zero(-20, 20), *_POWERS]
_TEXTS = ["", "a", "b", "0", "ab", "abc", "\n", "\0", "ä", "€", "😀"]
VALUES: list[Any] = [*_NUMBERS, *_TEXTS, *from_zero(-1000, -990), *_TEXTS]
_TIMES = [None, *(time for number in _NUMBERS for time in (number, None))]
# Each time with some keys.
TIMES_AND_KEYS = [
    (_TIMES[place % len(_TIMES)], _NUMBERS[place % len(_NUMBERS)]) for place in range(256)
]


def blocks(
    values: Sequence[Any] | st.SearchStrategy[Any] = VALUES,
    *,
    min_size: int = 0,
    max_size: int = 20,
    with_timestamps: bool | None = None,
    with_keys: bool | None = False,
) -> st.SearchStrategy[Block]:
    """Blocks with and without timestamps and keys; None leaves that to chance."""
    if isinstance(values, st.SearchStrategy):
        contents = st.lists(values, min_size=min_size, max_size=max_size)
    else:
        contents = many_of(values, min_size=min_size, max_size=max_size)

    def choices(wanted: bool | None) -> list[bool]:
        return [False, True] if wanted is None else [wanted]

    forms = any_of(choices(with_timestamps), choices(with_keys))
    times_and_keys = many_of(TIMES_AND_KEYS, min_size=max_size, max_size=max_size)

    @st.composite
    def block(draw: st.DrawFn) -> Block:
        content = draw(contents)
        is_timed, is_keyed = draw(forms)
        more = draw(times_and_keys)[: len(content)]
        times, keys = zip(*more, strict=True) if content else ((), ())
        return Block(content, list(times) if is_timed else None, list(keys) if is_keyed else None)

    return block()
