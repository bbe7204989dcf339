"""Random blocks."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from penstock.runtime.exchange.elements import Block

timestamps = st.none() | st.integers(-(2**62), 2**62)
values = st.integers(-1000, 1000) | st.text(max_size=3)


@st.composite
def blocks(
    draw: st.DrawFn,
    values: st.SearchStrategy[Any] = values,
    *,
    min_size: int = 0,
    max_size: int = 20,
    with_timestamps: bool | None = None,
    with_keys: bool | None = False,
) -> Block:
    """Blocks with and without timestamps and keys; None leaves that to chance."""
    content = draw(st.lists(values, min_size=min_size, max_size=max_size))
    size = len(content)

    def column(strategy: st.SearchStrategy[Any], wanted: bool | None) -> list[Any] | None:
        if not (draw(st.booleans()) if wanted is None else wanted):
            return None
        return draw(st.lists(strategy, min_size=size, max_size=size))

    return Block(content, column(timestamps, with_timestamps), column(st.integers(), with_keys))
