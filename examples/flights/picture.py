"""Delay against wind as a picture: a page of HTML that needs nothing else."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING

from report import MOST_WIND, WIND_STEP, Class, wind_classes, wind_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streams import WindyDeparture

AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}
LEFT, RIGHT, TOP, BOTTOM = 60, 640, 24, 364
LARGEST = 16  # the radius of the point with the most departures
GRID = 5  # minutes
SPACING = 17  # between names

PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Delay against wind</title>
<style>
  :root {{ --page: #fcfcfb; --ink: #1f1f1c; --soft: #66655f; --grid: #e4e3dd;
          --EWR: #2a78d6; --JFK: #c2571a; --LGA: #1a8a6b }}
  @media (prefers-color-scheme: dark) {{
    :root {{ --page: #1a1a19; --ink: #f2f1ec; --soft: #a9a8a0; --grid: #34332f;
            --EWR: #5b9df0; --JFK: #e5854d; --LGA: #3db892 }} }}
  body {{ margin: 2.5rem auto; max-width: 760px; padding: 0 1rem; background: var(--page);
         color: var(--ink); font: 16px/1.5 system-ui, sans-serif }}
  h1 {{ margin: 0; font-size: 1.4rem; line-height: 1.3 }}
  p {{ margin: .3rem 0 1.2rem; color: var(--soft) }}
  svg {{ display: block; width: 100%; height: auto; font-size: 13px }}
  text {{ fill: var(--soft) }}
  .grid {{ stroke: var(--grid) }}
  .line {{ fill: none; stroke-width: 2 }}
  circle {{ fill-opacity: .8; stroke: var(--page) }}
  .name {{ font-weight: 600 }}
</style>
<h1>The stronger the wind, the later the planes</h1>
<p>Mean delay of {departures:,} departures from New York in 2013, by the wind in the hour before.
The larger a point, the more departures.</p>
<svg viewBox="0 0 740 420" role="img" aria-label="Mean delay by wind speed, for each airport">
{drawing}
</svg>
"""


def draw(departures: list[WindyDeparture]) -> str:
    """The page."""
    classes = {
        airport: wind_classes(it for it in departures if it.origin == airport)
        for airport in AIRPORTS
    }
    drawing = "\n".join(shapes(classes))
    return PAGE.format(departures=len(departures), drawing=drawing)


def shapes(classes: dict[str, list[Class]]) -> Iterator[str]:
    points = [point for line in classes.values() for point in line]
    top = ceil(max(point.delay for point in points) / GRID) * GRID
    most = max(point.departures for point in points)

    def x(wind: float) -> float:
        return LEFT + (RIGHT - LEFT) * wind / (MOST_WIND + WIND_STEP)

    def y(delay: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * delay / top

    def middle(point: Class) -> tuple[float, float]:
        return round(x(point.least + WIND_STEP / 2), 1), round(y(point.delay), 1)

    for delay in range(0, top + 1, GRID):
        yield f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y(delay)}" y2="{y(delay)}"/>'
        yield f'<text x="{LEFT - 10}" y="{y(delay) + 4}" text-anchor="end">{delay}</text>'
    for wind in range(0, MOST_WIND + 1, WIND_STEP):
        place = f'x="{x(wind + WIND_STEP / 2)}" y="{BOTTOM + 20}"'
        yield f'<text {place} text-anchor="middle">{wind_name(wind)}</text>'
    yield f'<text x="{LEFT - 32}" y="{TOP - 12}">minutes late</text>'
    yield f'<text x="{RIGHT}" y="{BOTTOM + 44}" text-anchor="end">wind, miles per hour</text>'
    for airport, line in classes.items():
        color = f"var(--{airport})"
        path = " ".join(f"{px},{py}" for px, py in map(middle, line))
        yield f'<polyline class="line" style="stroke: {color}" points="{path}"/>'
        for point in line:
            px, py = middle(point)
            radius = max(3.0, round(LARGEST * sqrt(point.departures / most), 1))
            what = f"{AIRPORTS[airport]}: {point.departures:,} departures, {point.delay:.1f} min"
            yield (
                f'<circle cx="{px}" cy="{py}" r="{radius}" style="fill: {color}">'
                f"<title>{what}</title></circle>"
            )
    above = 0.0
    for airport in sorted(classes, key=lambda airport: -classes[airport][-1].delay):
        px, py = middle(classes[airport][-1])
        above = max(py + 4, above + SPACING)
        style = f'class="name" style="fill: var(--{airport})"'
        yield f'<text {style} x="{px + 14}" y="{above}">{AIRPORTS[airport]}</text>'
