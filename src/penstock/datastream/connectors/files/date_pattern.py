"""Times as text by a pattern of letters, as Java's DateTimeFormatter has them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Final

from penstock.errors import InvalidArgumentError

_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")

_FIELDS: Final[dict[str, Callable[[datetime.datetime], int]]] = {
    "y": lambda time: time.year,
    "u": lambda time: time.year,
    "M": lambda time: time.month,
    "d": lambda time: time.day,
    "D": lambda time: time.timetuple().tm_yday,
    "H": lambda time: time.hour,
    "m": lambda time: time.minute,
    "s": lambda time: time.second,
}


class DatePattern:
    """Makes texts of times: `yyyy-MM-dd--HH` makes `2024-05-17--09`.

    Args:
        pattern: Letters y or u (year), M (month), d (day), D (day of the year), H, m, s, S (fractions
            of a second), as many as there are digits; anything else but letters as it is; letters
            between apostrophes.

    Raises:
        InvalidArgumentError: If the pattern has other letters.
    """

    def __init__(self, pattern: str) -> None:
        self._parts: list[Callable[[datetime.datetime], str]] = []
        end = 0
        for token in _TOKEN.finditer(pattern):
            if token.start() != end:
                break
            end = token.end()
            self._parts.append(_part(token, pattern))
        if end != len(pattern):
            raise InvalidArgumentError(
                f"The pattern {pattern!r} has an apostrophe that is not closed.",
                hint="Write '' for an apostrophe.",
            )

    def format(self, time: datetime.datetime) -> str:
        """Return the text of a time."""
        return "".join(part(time) for part in self._parts)


def _part(token: re.Match[str], pattern: str) -> Callable[[datetime.datetime], str]:
    text, quoted, letter = token[0], token[1], token[2]
    if quoted is not None:
        literal = quoted.replace("''", "'") or "'"
        return lambda _: literal
    if letter is None:
        return lambda _: text
    width = len(text)
    if letter in "yu" and width == 2:
        return lambda time: f"{time.year % 100:02d}"
    if letter == "S" and width <= 6:
        return lambda time: f"{time.microsecond:06d}"[:width]
    if letter not in _FIELDS or (letter == "M" and width > 2):
        raise InvalidArgumentError(
            f"{text!r} in the pattern {pattern!r} is not known.",
            hint="Known are y, u, M and MM, d, D, H, m, s and S; put other letters between apostrophes.",
        )
    field = _FIELDS[letter]
    return lambda time: f"{field(time):0{width}d}"
