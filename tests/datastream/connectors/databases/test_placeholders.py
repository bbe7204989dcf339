from __future__ import annotations

import pytest

from penstock.datastream.connectors.databases.placeholders import with_placeholders


@pytest.mark.parametrize(
    ("sql", "expected", "count"),
    [
        ("values (?, ?)", "values (%s, %s)", 2),
        ("values ('?', '''?''', ?)", "values ('?', '''?''', %s)", 1),
        ('update "t?" set "a""?" = ?', 'update "t?" set "a""?" = %s', 1),
        ("select ? -- why?\n, ?", "select %s -- why?\n, %s", 2),
        ("select /* ? 'a */ ?", "select /* ? 'a */ %s", 1),
        ("select a ?? 'b', c ??| d, ?::int", "select a ? 'b', c ?| d, %s::int", 1),
        ("select $$ ? $$, $body$ ? $$ ? $body$, ?", "select $$ ? $$, $body$ ? $$ ? $body$, %s", 1),
        ("select E'it\\'s ?', ?", "select E'it\\'s ?', %s", 1),
        ("select 'a\\', ?", "select 'a\\', %s", 1),
        ("a like '1%' and b % 2 = ?", "a like '1%%' and b %% 2 = %s", 1),
        ("select `a?`, ?", "select `a?`, %s", 1),
    ],
)
def test_stand_where_a_value_does(sql: str, expected: str, count: int) -> None:
    assert with_placeholders(sql, "format") == (expected, count)


def test_of_mysql_know_backslashes() -> None:
    sql = r"""values ('it\'s ?', "\"?", ?)"""
    assert with_placeholders(sql, "pyformat", has_backslashes=True) == (
        r"""values ('it\'s ?', "\"?", %s)""",
        1,
    )


@pytest.mark.parametrize(
    ("paramstyle", "expected"),
    [
        ("qmark", "a like '%' and b in (?, ?)"),
        ("numeric", "a like '%' and b in (:1, :2)"),
        ("named", "a like '%' and b in (:p1, :p2)"),
        ("pyformat", "a like '%%' and b in (%s, %s)"),
    ],
)
def test_are_those_of_the_client(paramstyle: str, expected: str) -> None:
    assert with_placeholders("a like '%' and b in (?, ?)", paramstyle) == (expected, 2)
