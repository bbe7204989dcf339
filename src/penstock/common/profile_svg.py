"""A profile as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from penstock.common.cost import Cost
from penstock.common.job_profile import JobProfile, label

_ROW: Final = 26.0
_BAR: Final = 16.0
_MARGIN: Final = 16.0
_NAMES: Final = 280.0
_BARS: Final = 420.0
_FIGURES: Final = 130.0
_LEGEND: Final = 140.0
_BY_ROW: Final = 6

_COLORS: Final = {
    Cost.USER: "#2da44e",
    Cost.FRAMEWORK: "#0969da",
    Cost.STATE: "#8250df",
    Cost.SERIALIZATION: "#bf8700",
    Cost.EXCHANGE: "#e16f24",
    Cost.SNAPSHOT: "#bf3989",
    Cost.WAITING: "#8c959f",
    Cost.PLANNING: "#cf222e",
    Cost.SCHEDULING: "#ff8182",
    Cost.RESULTS: "#953800",
    Cost.COMMIT: "#4d2d00",
    Cost.TRIGGER: "#57606a",
}
_STYLE: Final = """
.penstock-profile { max-width: 100%; height: auto; }
.penstock-profile text { font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328; }
.penstock-profile .ground { fill: #ffffff; }
.penstock-profile .small { font-size: 11px; fill: #57606a; }
@media (prefers-color-scheme: dark) {
.penstock-profile text { fill: #e6edf3; }
.penstock-profile .ground { fill: #0d1117; }
.penstock-profile .small { fill: #9198a1; }
}
"""


def profile_svg(profile: JobProfile) -> str:
    """Return a profile as a self-contained SVG picture.

    A bar is an operator, the tasks of a level, or the driver; its parts are costs, as long as their times.
    """
    bars = [
        *((label(row), row.times) for row in profile.operators),
        *((row.name, row.times) for row in profile.levels),
        ("driver", profile.driver),
    ]
    costs = list(profile.by_cost())
    legend_rows = -(-len(costs) // _BY_ROW)
    width = 2 * _MARGIN + _NAMES + _BARS + _FIGURES
    height = 2 * _MARGIN + _ROW * (len(bars) + 1 + legend_rows)
    size = f'width="{width:.0f}" height="{height:.0f}"'
    view = f'viewBox="0 0 {width:.0f} {height:.0f}"'
    longest = max((sum(times.values()) for _, times in bars), default=0.0)
    title = str(profile).partition("\n")[0]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="penstock-profile" role="img" {size} {view}>',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" {size} rx="6"/>',
        _text(_MARGIN, _MARGIN + _BAR, title),
    ]
    for index, (name, times) in enumerate(bars):
        parts += _bar(_MARGIN + _ROW * (index + 1), name, times, longest, profile.total)
    parts += _legend(_MARGIN + _ROW * (len(bars) + 1), costs)
    return "\n".join([*parts, "</svg>"])


def _bar(
    y: float, name: str, times: Mapping[Cost, float], longest: float, total: float
) -> Iterator[str]:
    yield _text(_MARGIN, y + _BAR - 3, name)
    x = _MARGIN + _NAMES
    for cost in Cost:
        time = times.get(cost, 0.0)
        if time:
            width = _BARS * time / longest
            yield "<g>"
            yield f"<title>{escape(name)}: {cost.value} {time:,.1f} ms</title>"
            yield _box(x, y, width, _COLORS[cost])
            yield "</g>"
            x += width
    sum_ = sum(times.values())
    if sum_:
        yield _text(x + 6, y + _BAR - 3, f"{sum_:,.1f} ms, {100 * sum_ / total:.1f} %", "small")


def _legend(y: float, costs: list[Cost]) -> Iterator[str]:
    for index, cost in enumerate(costs):
        row, column = divmod(index, _BY_ROW)
        x, top = _MARGIN + _LEGEND * column, y + _ROW * row
        yield _box(x, top, _BAR, _COLORS[cost])
        yield _text(x + _BAR + 6, top + _BAR - 3, cost.value, "small")


def _box(x: float, y: float, width: float, color: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_BAR:.1f}" fill="{color}"/>'


def _text(x: float, y: float, text: str, css: str = "") -> str:
    css = f' class="{css}"' if css else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{css}>{escape(text)}</text>'
