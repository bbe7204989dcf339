"""Statements with question marks for values, written with the placeholders that a client knows."""

from __future__ import annotations

import re
from typing import Final

_PARTS: Final = r"""
    (?P<question>\?\??)
  | (?P<percent>%)
  | '(?:[^']|'')*'
  | "(?:[^"]|"")*"
  | `[^`]*`
  | --[^\n]*
  | /\*.*?\*/
  | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$
"""
_ESCAPED: Final = r"[eE]'(?:[^'\\]|\\.|'')*' |"
"""PostgreSQL's literals in which a backslash makes the next character part of them."""
_ALL_ESCAPED: Final = r"""'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" |"""
"""MySQL's literals, which all are so."""
_FLAGS: Final = re.VERBOSE | re.DOTALL
_STANDARD: Final = re.compile(r"(?<!\w)" + _ESCAPED + _PARTS, _FLAGS)
_MYSQL: Final = re.compile(_ALL_ESCAPED + _PARTS, _FLAGS)


def with_placeholders(
    sql: str, paramstyle: str, *, has_backslashes: bool = False
) -> tuple[str, int]:
    """Return a statement with a client's placeholders, and how many there are.

    As with JDBC, a question mark stands for a value where it is not part of a literal, a name or a
    comment; two of them stand for an operator that is a question mark.

    Args:
        sql: The statement.
        paramstyle: The module's `paramstyle`, see PEP 249.
        has_backslashes: Whether a backslash in a literal makes the next character part of it.

    Example:
        >>> with_placeholders("select '?', a ?? ? from b where c like '1%' and d = ?", "format")
        ("select '?', a ? %s from b where c like '1%%' and d = %s", 2)
    """
    doubles_percent = paramstyle in {"format", "pyformat"}
    count = 0

    def replaced(part: re.Match[str]) -> str:
        nonlocal count
        text = part[0]
        if part["question"] == "?":
            count += 1
            return {"qmark": "?", "numeric": f":{count}", "named": f":p{count}"}.get(
                paramstyle, "%s"
            )
        if part["question"] is not None:
            return "?"
        return text.replace("%", "%%") if doubles_percent else text

    pattern = _MYSQL if has_backslashes else _STANDARD
    return pattern.sub(replaced, sql), count
