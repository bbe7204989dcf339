"""How the command writes things."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from penstock.common.plain_text import in_columns
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP


def write(text: str = "") -> None:
    """Write a line, with escapes for what a terminal would take for commands: names are whatever their owners like."""
    sys.stdout.write(f"{harmless(text)}\n")


def harmless(text: str) -> str:
    """Return a text of one line or more with escapes for all that is not printed."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(letter: str) -> str:
    return letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1]


def write_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows in columns, numbers to the right."""
    texts = ([_text(cell) for cell in row] for row in rows)
    is_number = [
        all(isinstance(cell, int | None) for cell in column) for column in zip(*rows, strict=True)
    ] or [False] * len(names)
    for line in in_columns([[name.upper() for name in names], *texts], is_number):
        write(line)


def _text(cell: Any) -> str:
    return "-" if cell is None else str(cell).replace("\n", "\\n")


def moment(millis: int) -> str:
    """Return a time of the clock as text, in UTC."""
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def watermark(timestamp: int | None) -> Any:
    """Return what is shown of a watermark: milliseconds, `end` after the last, None before the first."""
    if timestamp is None or timestamp <= MIN_TIMESTAMP:
        return None
    return "end" if timestamp >= MAX_TIMESTAMP else timestamp
