"""Draws the pictures of the first page: `python -m scripts.first_page`.

The chains are those of the program on the page. The chart of speed is made of the figures behind the page of
benchmarks.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from html import escape
from typing import Any, Final, NamedTuple

from scripts.generated_part import DOCS

PAGE: Final = DOCS / "index.md"
CHAINS: Final = DOCS / "images" / "chains.svg"
SPEED: Final = DOCS / "images" / "speed.svg"
RESULTS: Final = DOCS / "benchmarks" / "results.json"


class Bar(NamedTuple):
    """A job in the chart.

    Attributes:
        label: What the job does.
        entry: Its entry among the results.
        job: How the name of its row begins.
        against: The other side.
    """

    label: str
    entry: str
    job: str
    against: str


BARS: Final = (
    Bar("Filter and count by key", "chain:1", "map, map", "PyFlink 2.3.0, thread mode"),
    Bar(
        "Reduce in windows of a minute",
        "windows:1",
        "a Python reduce",
        "PyFlink 2.3.0, thread mode",
    ),
    Bar(
        "Bids of each session (Nexmark 11)",
        "nexmark_queries:q11",
        "q11",
        "PyFlink 2.3.0, thread mode",
    ),
    Bar("Highest bids (Nexmark 7)", "nexmark_queries:q7", "q7", "PyFlink 2.3.0, thread mode"),
    Bar(
        "Join of two streams (Nexmark 3)", "nexmark_queries:q3", "q3", "PyFlink 2.3.0, thread mode"
    ),
    Bar("Prices in euros (Nexmark 1)", "nexmark_queries:q1", "q1", "PyFlink 2.3.0, thread mode"),
    Bar(
        "Reading from Kafka", "kafka:1", "messages of 100 bytes read", "PyFlink 2.3.0, thread mode"
    ),
    Bar("Asynchronous calls of 10 ms", "async_io:1", "calls of 10 ms", "PyFlink 2.3.0, unordered"),
)

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP, _BAR = 720, 250, 60, 30, 34, 16
_TICKS: Final = (1, 3, 10, 30, 100)
_STYLE: Final = """
text { font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328; }
.tick { font-size: 11px; fill: #57606a; }
.figure { font-weight: 600; }
.bar { fill: #2e9e6b; }
.grid { stroke: #d0d7de; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.tick { fill: #9198a1; }
.grid { stroke: #3d444d; }
}
"""


def chains() -> str:
    """Return the picture of the chains of the page's program."""
    found = re.search(
        r"```python\n(.+?)^env\.execute", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert found, f"{PAGE} has no program that ends with env.execute"
    names: dict[str, Any] = {}
    exec(found[1], names)  # noqa: S102 - the program on the page
    html = names["env"].explain()._repr_html_()
    picture = re.search(r"<svg.+?</svg>", html, re.DOTALL)
    assert picture, "the plan is no picture"
    return f"{picture[0]}\n"


def speed() -> str:
    """Return the chart of speed."""
    height = _TOP + len(BARS) * _ROW + 10
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {height}">',
            "<title>Throughput in multiples of that of PyFlink, on a logarithmic scale</title>",
            f"<style>{_STYLE}</style>",
            *_axis(height),
            *(part for place, bar in enumerate(BARS) for part in _bar(bar, _TOP + place * _ROW)),
            "</svg>",
            "",
        ]
    )


def _axis(height: int) -> Iterator[str]:
    for tick in _TICKS:
        x, name = _x(tick), "PyFlink" if tick == 1 else f"{tick} times"
        yield f'<line class="grid" x1="{x:.0f}" x2="{x:.0f}" y1="{_TOP - 8}" y2="{height - 8}"/>'
        yield f'<text class="tick" text-anchor="middle" x="{x:.0f}" y="{_TOP - 16}">{name}</text>'


def _bar(bar: Bar, y: int) -> Iterator[str]:
    ratio = ratio_of(bar)
    middle = y + _BAR - 3
    yield f'<text text-anchor="end" x="{_LEFT - 12}" y="{middle}">{escape(bar.label)}</text>'
    width = _x(ratio) - _LEFT
    yield f'<rect class="bar" x="{_LEFT}" y="{y}" width="{width:.0f}" height="{_BAR}" rx="2"/>'
    shown = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
    yield f'<text class="figure" x="{_x(ratio) + 6:.0f}" y="{middle}">{shown}</text>'


def _x(ratio: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log(ratio) / math.log(200)


def ratio_of(bar: Bar) -> float:
    """Return how many times the other side's speed penstock has in a job, the median of its rounds."""
    output = json.loads(RESULTS.read_text(encoding="utf-8"))["entries"][bar.entry]["output"]
    return next(
        float(row["ratio"])
        for row in output["rows"]
        if row["against"] == bar.against and row["job"].startswith(bar.job)
    )


if __name__ == "__main__":
    CHAINS.parent.mkdir(exist_ok=True)
    CHAINS.write_text(chains(), encoding="utf-8")
    SPEED.write_text(speed(), encoding="utf-8")
