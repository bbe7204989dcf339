"""How the command writes things."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from penstock.runtime.elements import MAX_TIMESTAMP, MIN_TIMESTAMP


def write(text: str = "") -> None:
    """Write a line."""
    sys.stdout.write(f"{text}\n")


def write_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows in columns, numbers to the right."""
    texts = [[_text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    is_number = [
        bool(rows) and all(isinstance(cell, int | Size | None) for cell in column)
        for column in zip(*rows, strict=True)
    ] or [False] * len(names)
    for row in ([name.upper() for name in names], *texts):
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        ]
        write("  ".join(cells).rstrip())


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
