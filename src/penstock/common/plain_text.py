"""Numbers, sizes, spans, addresses and tables as text, for people to read, and the room that a text takes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

_SHOWN_BYTES: Final = 200
_LONGEST_NAME: Final = 60
_LOGIN: Final = re.compile(r"(?<=//)[^/\s]+@|(?<=:)(?:[^\d/:@][^/:@]*/[^/@]*@)+")
_SPANS: Final = ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s"))
"""Units of time with their seconds, and the next smaller ones with theirs."""


class Size(int):
    """A number of bytes."""

    def __str__(self) -> str:
        if self < 1000:
            return f"{int(self)} B"
        size = float(self)
        for unit in ("kB", "MB", "GB", "TB"):
            size /= 1000
            if size < 999.95 or unit == "TB":
                break
        return f"{size:.1f} {unit}"


def counted(number: int, what: str) -> str:
    """Return a number of things: `1 epoch`, `1,200 epochs`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def span_text(millis: int) -> str:
    """Return a length of time as people say it, in its two greatest units.

    Args:
        millis: The length in milliseconds.

    Example:
        >>> span_text(400), span_text(12_300), span_text(200_000), span_text(-93_600_000)
        ('0.4 s', '12 s', '3 min 20 s', '-1 d 2 h')
    """
    sign, millis = ("-" if millis < 0 else ""), abs(millis)
    if millis < 9_950:
        return f"{sign}{millis / 1000:.1f} s"
    seconds = (millis + 500) // 1000
    for size, unit, part, smaller in _SPANS:
        if seconds >= size:
            rest = seconds % size // part
            return f"{sign}{seconds // size:,} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{sign}{seconds} s"


def lag_text(millis: int) -> str:
    """Return how far something is behind, or ahead, as people say it.

    Args:
        millis: How far it is behind, in milliseconds; below 0 if it is ahead.

    Example:
        >>> lag_text(3600), lag_text(-90_000)
        ('3.6 s behind', '1 min 30 s ahead')
    """
    return f"{span_text(abs(millis))} {'behind' if millis >= 0 else 'ahead'}"


def rate_text(per_second: float) -> str:
    """Return a rate as people say it: with a fraction if it is small.

    Args:
        per_second: The rate, of whatever there is in a second.

    Example:
        >>> rate_text(0.5), rate_text(1234.5)
        ('0.5', '1,234')
    """
    is_small = 0.05 <= per_second < 9.95
    return f"{per_second:,.1f}" if is_small else f"{per_second:,.0f}"


def without_logins(addresses: str) -> str:
    """Return addresses without users and passwords: neither //user:password@host nor Oracle's :user/password@host.

    Example:
        >>> without_logins("jdbc:postgresql://writer:secret@db/shop")
        'jdbc:postgresql://db/shop'
    """
    return _LOGIN.sub("", addresses)


def shown_bytes(message: bytes) -> str:
    """Return bytes as Python writes them; of many the first, and how many there are.

    Example:
        >>> shown_bytes(b"abc" * 1000)[-20:]
        "cab'... (3000 bytes)"
    """
    if len(message) <= _SHOWN_BYTES:
        return repr(bytes(message))
    return f"{bytes(message[:_SHOWN_BYTES])!r}... ({len(message)} bytes)"


def in_columns(rows: Iterable[Sequence[str]], is_right: Sequence[bool]) -> list[str]:
    """Return a line for each row, with its cells below those of the row before.

    Args:
        rows: The cells of each row.
        is_right: Of each column, whether its cells end below each other; else they begin there.
    """
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [
        [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_right, strict=True)
        ]
        for row in rows
    ]
    return ["  ".join(cells).rstrip() for cells in aligned]


def one_line(text: str) -> str:
    r"""Return a text without line breaks and control characters.

    Example:
        >>> one_line("red \x1b[31m\nflights")
        'red [31m flights'
    """
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def encodable(text: str) -> str:
    """Return a text in which question marks stand for what UTF-8 cannot hold: halves of characters."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def shown_name(name: str) -> str:
    r"""Return the name of a job as it is told to people: in one line, and not too long a one.

    Example:
        >>> shown_name("red \x1b[31m\nflights")
        'red [31m flights'
        >>> len(shown_name(1000 * "flights "))
        60
    """
    return fitted(one_line(name), _LONGEST_NAME)


def text_width(text: str) -> int:
    """Return how many letters' room a text takes; a Chinese letter takes two."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    marks = sum(unicodedata.combining(letter) != 0 for letter in text)
    return len(text) + wide - marks


def fitted(text: str, columns: int) -> str:
    """Return a text, or the beginning of it that has room in so many columns, with an ellipsis.

    Example:
        >>> fitted("clicks per user", 9)
        'clicks p…'
    """
    if text_width(text) <= columns:
        return text
    while text and text_width(text) >= columns:
        text = text[:-1]
    return text + "…" if columns > 0 else ""
