from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.plain_text import Size, counted, in_columns, without_logins


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (12_340_000, "12.3 MB"),
        (999_960, "1.0 MB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert str(Size(size)) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 epochs"), (1, "1 epoch"), (1200, "1,200 epochs")]
)
def test_numbers_of_things(number: int, text: str) -> None:
    assert counted(number, "epoch") == text


def test_columns() -> None:
    rows = [("", "ms", "note"), ("map", "1,234", ""), ("reduce", "5", "slow")]
    assert in_columns(rows, [False, True, False]) == [
        "           ms  note",
        "map     1,234",
        "reduce      5  slow",
    ]


WORDS = st.text("ab", min_size=1)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS)), st.tuples(*[st.booleans()] * 3))
def test_each_cell_is_in_its_column(
    rows: list[tuple[str, str, str]], is_right: tuple[bool, bool, bool]
) -> None:
    lines = in_columns(rows, is_right)
    assert [tuple(line.split()) for line in lines] == rows
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] or [0] * 3
    for line, row in zip(lines, rows, strict=True):
        begin = 0
        for cell, width, right in zip(row, widths, is_right, strict=True):
            part = line[begin : begin + width]
            assert part.endswith(cell) if right else part.startswith(cell)
            begin += width + 2


@pytest.mark.parametrize(
    ("addresses", "text"),
    [
        ("http://me:secret@a:1,https://me@b", "http://a:1,https://b"),
        ("jdbc:oracle:thin:me/secret@//db:1/shop", "jdbc:oracle:thin://db:1/shop"),
        ("jdbc:oracle:thin:@db:1/shop", "jdbc:oracle:thin:@db:1/shop"),
        ("http://a:1/b@c", "http://a:1/b@c"),
        ("the till's own file", "the till's own file"),
    ],
)
def test_addresses_are_shown_without_logins(addresses: str, text: str) -> None:
    assert without_logins(addresses) == text
