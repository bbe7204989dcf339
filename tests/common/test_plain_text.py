from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.plain_text import (
    Size,
    counted,
    fitted,
    in_columns,
    one_line,
    span_text,
    text_width,
    without_logins,
)


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
        ("http://me:se@cr,et@a:1/b, ask me@b", "http://a:1/b, ask me@b"),
        ("jdbc:oracle:thin:me/secret@//db:1/shop", "jdbc:oracle:thin://db:1/shop"),
        ("jdbc:oracle:thin:@db:1/shop", "jdbc:oracle:thin:@db:1/shop"),
        ("http://a:1/b@c", "http://a:1/b@c"),
        ("the till's own file", "the till's own file"),
    ],
)
def test_addresses_are_shown_without_logins(addresses: str, text: str) -> None:
    assert without_logins(addresses) == text


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "0.0 s"),
        (9_949, "9.9 s"),
        (9_950, "10 s"),
        (59_499, "59 s"),
        (59_500, "1 min"),
        (3_599_499, "59 min 59 s"),
        (3_600_000, "1 h"),
        (7_380_000, "2 h 3 min"),
        (86_400_000, "1 d"),
        (400_000_000_000, "4,629 d 15 h"),
        (-1_500, "-1.5 s"),
    ],
)
def test_a_span_is_told_in_two_units(millis: int, text: str) -> None:
    assert span_text(millis) == text


@given(st.text())
def test_one_line_has_nothing_that_moves_a_terminal(text: str) -> None:
    assert one_line(text).isprintable()


@given(st.text(), st.integers(-1, 30))
def test_what_is_fitted_fits(text: str, columns: int) -> None:
    found = fitted(text, columns)
    assert text_width(found) <= max(columns, 0) or found == text
    assert text_width(text) > columns or found == text


def test_wide_letters_are_cut_as_a_whole() -> None:
    assert fitted("航班每小时", 6) == "航班…"
    assert text_width("航班…") == 5


def test_a_text_that_fits_stays_as_it_is() -> None:
    assert fitted("flights", 7) == "flights"
    assert fitted("flights", 6) == "fligh…"
    assert fitted("flights", 1) == "…"
    assert fitted("flights", 0) == ""
