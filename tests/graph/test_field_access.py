"""Functions that read a field are told from all others, without running anything of theirs."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from penstock.common.rows.field_reader import ColumnTimestamp
from penstock.graph.field_access import accessed_field

CALLS: list[Any] = []
GLOBAL = "name"


def named(row: Any) -> Any:
    return row.name


def with_side_effect(row: Any) -> Any:
    CALLS.append(row)
    return row.name


def closure() -> Any:
    field = "name"
    return lambda row: row[field]


@pytest.mark.parametrize(
    ("function", "field"),
    [
        (lambda row: row.name, "name"),
        (lambda row: row["a name"], "a name"),
        (lambda row: row[0], 0),
        (lambda row: row[300], 300),
        (named, "name"),
        (operator.itemgetter("name"), "name"),
        (operator.itemgetter(2), 2),
        (operator.attrgetter("name"), "name"),
        (ColumnTimestamp("name"), "name"),
    ],
)
def test_finds_the_field(function: Any, field: Any) -> None:
    assert accessed_field(function, 1) == field


@pytest.mark.parametrize(
    "function",
    [
        lambda row: row,
        lambda row: 1,
        lambda row: row.name + 1,
        lambda row: row.name.first,
        lambda row: row[0][1],
        lambda row: (row.name, row.place),
        lambda row: row.name or row.place,
        lambda row: row.name if row.place else None,
        lambda row: int(row.name),
        lambda row: row[GLOBAL],
        lambda row: row[0:1],
        lambda row: row[0.5],
        lambda row: row.as_dict,
        lambda row: row._values,
        lambda row, other=0: row.name,
        lambda *rows: rows[0],
        closure(),
        with_side_effect,
        operator.itemgetter(0, 1),
        operator.attrgetter("name.first"),
        str.upper,
        len,
        None,
    ],
)
def test_finds_none(function: Any) -> None:
    assert accessed_field(function, 1) is None
    assert not CALLS


def test_looks_at_the_first_of_two_arguments() -> None:
    assert accessed_field(lambda row, timestamp: row.time, 2) == "time"
    assert accessed_field(lambda row, timestamp: timestamp, 2) is None
    assert accessed_field(lambda row: row.time, 2) is None
