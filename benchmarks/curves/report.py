"""The figures of curves as a file, as pictures, and on a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict

from benchmarks.curves.measure import Point, PointFigures, Span, Sweep
from benchmarks.kit import pictures


class Taken(TypedDict):
    """At which commit and on what machine figures were taken, and whether by the quick form."""

    commit: str
    machine: dict[str, str]
    is_quick: bool


class SweepFigures(Taken):
    """A curve as it is in the file."""

    name: str
    axis: str
    where: str
    command: str
    points: list[PointFigures]


def figures_of(sweep: Sweep, points: Sequence[Point], taken: Taken) -> SweepFigures:
    """A curve as it is in the file."""
    return {
        "name": sweep.name,
        "axis": sweep.axis,
        "where": sweep.where,
        "command": sweep.command + (" --quick" if taken["is_quick"] else ""),
        "points": [point.figures() for point in points],
        **taken,
    }


def write(sweeps: Iterable[SweepFigures], page: Path) -> None:
    """Draws curves beside a page, and writes each of them between its marks there.

    Args:
        sweeps: The curves.
        page: The page; what it has no marks for is added at its end.
    """
    text = page.read_text() if page.exists() else ""
    for sweep in sweeps:
        picture = page.parent / f"growth-{sweep['name']}.svg"
        draw(sweep, picture)
        begin, end = f"<!-- {sweep['name']} -->", f"<!-- end of {sweep['name']} -->"
        new = f"{begin}\n\n{section(sweep, picture.name)}\n\n{end}"
        if begin in text:
            text = re.sub(f"{begin}.*?{end}", lambda _, new=new: new, text, flags=re.DOTALL)  # type: ignore[misc]
        else:
            text += f"{new}\n"
    if text:
        page.write_text(text)


def draw(sweep: SweepFigures, picture: Path) -> None:
    """Draws a curve: its throughput, and its epoch time."""
    points = sweep["points"]
    pictures.growth(
        [point["x"] for point in points],
        {
            "records/s": [_bounds(point["records_per_second"]) for point in points],
            "epoch, ms": [_bounds(point["epoch_ms"]) for point in points],
        },
        picture,
        x_label=sweep["axis"],
    )


def section(sweep: SweepFigures, picture: str) -> str:
    """What the page says of a curve: its picture, its figures, and what measures it again."""
    lines = [
        f"![Throughput and epoch time by {sweep['axis']}]({picture})",
        "",
        f"`{sweep['command']}`: {sweep['where']}; commit {sweep['commit']}. Medians, with least and most.",
        "",
        f"| {sweep['axis']} | records/s | epoch, ms | epochs of |",
        "|---:|---:|---:|---:|",
    ]
    for point in sweep["points"]:
        rates, times = point["records_per_second"], point["epoch_ms"]
        lines.append(
            f"| {point['x']:,} | {_cell(rates, 0)} | {_cell(times, 1)} | {point['records']:,} |"
        )
    return "\n".join(lines)


def _cell(span: Span, digits: int) -> str:
    median, least, most = (
        f"{value:,.{digits}f}" for value in (span["median"], span["min"], span["max"])
    )
    return f"**{median}** ({least} to {most})"


def _bounds(span: Span) -> tuple[float, float, float]:
    return span["min"], span["median"], span["max"]
