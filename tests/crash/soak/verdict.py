"""What a soak comes to: `python -m tests.crash.soak.verdict soak.csv soak.svg`.

With the paths of both in `docs/`, it is written into the page of the crash test as well.

A series is flat if the straight line through its second half rises by no more than its bound.
"""

from __future__ import annotations

import csv
import math
import re
import statistics
import sys
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

Points = list[tuple[float, float]]
"""Pairs of a time in seconds and a value."""


class Bound(NamedTuple):
    """How much a series may rise.

    Attributes:
        title: What it is.
        unit: Its unit.
        share: By which share of its median.
        least: By how much in any case.
    """

    title: str
    unit: str
    share: float
    least: float

    def of(self, median: float) -> float:
        """Return the most by which a series of a median may rise."""
        return max(self.share * median, self.least)


SERIES: Final = {
    "driver_mb": Bound("Memory of the driver's Python", "MB", 0.05, 4),
    "jvm_mb": Bound("Memory of the JVM", "MB", 0.05, 24),
    "jvm_heap_mb": Bound("Java's heap after a full collection", "MB", 0.05, 4),
    "workers_mb": Bound("Memory of the workers", "MB", 0.05, 8),
    "epoch_ms": Bound("Time of an epoch", "ms", 0.1, 5),
    "metadata_kb": Bound("Metadata of an epoch", "KB", 0.05, 2),
    "checkpoints_files": Bound("Files of the checkpoints", "", 0.1, 10),
    "checkpoints_kb": Bound("Size of the checkpoints", "KB", 0.1, 100),
    "output_files": Bound("Files of the sink, those read removed", "", 0.1, 10),
    "output_kb": Bound("Size of the sink's files", "KB", 0.1, 300),
    "temporary_files": Bound("Temporary files", "", 0.1, 5),
    "temporary_kb": Bound("Size of the temporary files", "KB", 0.1, 500),
}
"""What is measured, and what counts as flat."""


class Verdict(NamedTuple):
    """What is said of a series.

    Attributes:
        bound: What it is, and may rise by.
        median: Its median over the second half.
        rise: By how much the line through its second half rises.
        most: By how much it may.
    """

    bound: Bound
    median: float
    rise: float
    most: float

    @property
    def is_flat(self) -> bool:
        return self.rise <= self.most

    @property
    def text(self) -> str:
        word = "flat" if self.is_flat else "GROWS"
        unit = f" {self.bound.unit}" if self.bound.unit else ""
        return (
            f"{self.bound.title}: {self.median:,.0f}{unit}, {self.rise:+.1f}{unit} in the second half, "
            f"at most {self.most:.1f}{unit}: {word}"
        )


def read(path: Path) -> dict[str, Points]:
    """Return the series of a CSV file."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        name: [(float(row["seconds"]), float(row[name])) for row in rows if row[name]]
        for name in ("epoch", *SERIES)
    }


def verdict(name: str, points: Points) -> Verdict | None:
    """Return what is to be said of a series; None if it has too few points."""
    bound = SERIES[name]
    half = (points[0][0] + points[-1][0]) / 2 if points else math.inf
    second = [point for point in points if point[0] >= half]
    if len(second) < 3:
        return None
    median = statistics.median(value for _, value in second)
    slope, _ = statistics.linear_regression(*zip(*second, strict=True))
    return Verdict(bound, median, slope * (second[-1][0] - second[0][0]), bound.of(median))


def tell(table: Path, picture: Path) -> int:
    """Print what a soak comes to, draw it, and return 0 if all of it is flat, else 1."""
    series = read(table)
    found = {name: verdict(name, series[name]) for name in SERIES}
    epochs = series["epoch"]
    minutes = epochs[-1][0] / 60
    print(f"{epochs[-1][1]:,.0f} epochs in {minutes:.0f} minutes.")
    for name, one in found.items():
        print(one.text if one else f"{SERIES[name].title}: too few samples")
    picture.write_text(drawn(series, found.values()))
    page = picture.with_name("crash-test.md")
    if page.exists():
        text = _report(
            f"{epochs[-1][1]:,.0f} epochs in {minutes:.0f} minutes", table, picture, found
        )
        page.write_text(_PLACE.sub(lambda _: text, page.read_text()))
    return 0 if all(one is not None and one.is_flat for one in found.values()) else 1


def _report(length: str, table: Path, picture: Path, found: Mapping[str, Verdict | None]) -> str:
    """Return what the page says of a soak."""
    rows = [
        f"| {one.bound.title} | {one.median:,.0f} {one.bound.unit} | {one.rise:+,.1f} | {one.most:,.1f} |"
        for one in found.values()
        if one is not None
    ]
    head = [f"{length}; [what was measured]({table.name}).", "", f"![The soak]({picture.name})", ""]
    head += ["| What | Median | Rise in the second half | At most |", "|---|---:|---:|---:|"]
    return "\n".join([*head, *rows]) + "\n"


_PLACE: Final = re.compile(r"(?<=<!-- soak -->\n).*(?=<!-- end of soak -->)", re.DOTALL)
_WIDTH: Final = 260
_HEIGHT: Final = 90
_GAP: Final = 34
_COLUMNS: Final = 3


def drawn(series: dict[str, Points], verdicts: Iterable[Verdict | None]) -> str:
    """Return a picture of all series, in SVG."""
    panels = []
    for place, (name, one) in enumerate(zip(SERIES, verdicts, strict=True)):
        x = _GAP + place % _COLUMNS * (_WIDTH + _GAP)
        y = _GAP + place // _COLUMNS * (_HEIGHT + 2 * _GAP)
        panels.append(f'<g transform="translate({x},{y})">{_panel(name, series[name], one)}</g>')
    rows = math.ceil(len(SERIES) / _COLUMNS)
    width, height = _COLUMNS * (_WIDTH + _GAP) + _GAP, rows * (_HEIGHT + 2 * _GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">'
        f'<rect width="{width}" height="{height}" fill="white"/>{"".join(panels)}</svg>\n'
    )


def _panel(name: str, points: Points, one: Verdict | None) -> str:
    bound = SERIES[name]
    title = f'<text y="-8" font-weight="bold">{escape(bound.title)}</text>'
    frame = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#ccc"/>'
    if not points:
        return title + frame
    most = max(value for _, value in points) * 1.15 or 1.0
    last = points[-1][0] or 1.0
    line = " ".join(
        f"{seconds / last * _WIDTH:.1f},{_HEIGHT - value / most * _HEIGHT:.1f}"
        for seconds, value in points
    )
    color = "#1f77b4" if one is not None and one.is_flat else "#d62728"
    curve = f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="1.2"/>'
    rise = "" if one is None else f", {one.rise:+.1f} in the second half"
    below = f'<text y="{_HEIGHT + 14}" fill="#555">{points[-1][1]:,.0f} {bound.unit}{rise}</text>'
    time = f'<text x="{_WIDTH}" y="{_HEIGHT + 14}" text-anchor="end" fill="#555">{last / 60:.0f} min</text>'
    return title + frame + curve + below + time


if __name__ == "__main__":
    sys.exit(tell(Path(sys.argv[1]), Path(sys.argv[2])))
