"""The plan of a job as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from penstock.common.plain_text import one_line, text_width
from penstock.graph.job_graph import JobGraph
from penstock.graph.plan.plan_layout import (
    HEADER,
    MARGIN,
    PADDING,
    ROW,
    ROW_GAP,
    SMALL_LETTER,
    Arrow,
    Box,
    Layout,
    Point,
    lay_out,
    shorten,
)
from penstock.graph.plan.plan_rows import ChainRow, chain_title

_LABEL_HEIGHT: Final = 14.0
_HEAD: Final = 7.0
_ALONG: Final = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)

_STYLE: Final = """
.penstock-plan { max-width: 100%; height: auto; }
.penstock-plan text { font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328; }
.penstock-plan .ground { fill: #ffffff; }
.penstock-plan .chain { fill: #f3f5f8; stroke: #c8d0da; }
.penstock-plan .operator { fill: #ffffff; stroke: #8b949e; }
.penstock-plan .source { stroke: #0969da; stroke-width: 1.8; }
.penstock-plan .sink { stroke: #1a7f37; stroke-width: 1.8; }
.penstock-plan .line { fill: none; stroke: #57606a; stroke-width: 1.4; }
.penstock-plan .head { fill: #57606a; }
.penstock-plan .small { font-size: 11px; fill: #57606a; }
.penstock-plan .label { font-size: 11px; }
@media (prefers-color-scheme: dark) {
.penstock-plan text { fill: #e6edf3; }
.penstock-plan .ground { fill: #0d1117; }
.penstock-plan .chain { fill: #161b22; stroke: #3d444d; }
.penstock-plan .operator { fill: #21262d; stroke: #768390; }
.penstock-plan .source { stroke: #4493f8; }
.penstock-plan .sink { stroke: #3fb950; }
.penstock-plan .line { stroke: #9198a1; }
.penstock-plan .head { fill: #9198a1; }
.penstock-plan .small { fill: #9198a1; }
}
"""


def plan_svg(job_graph: JobGraph) -> str:
    """Return the plan of a job as a self-contained SVG picture.

    Levels go from left to right. A box is a chain with its operators, sources framed in blue and sinks
    in green; an arrow is an exchange.
    """
    layout = lay_out(job_graph)
    width, height = layout.width, layout.height
    name = escape(one_line(job_graph.name))
    size = f'width="{width:.0f}" height="{height:.0f}"'
    view = f'viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="penstock-plan" role="img" {size} {view}>',
        f"<title>Plan of {name}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" {size} rx="6"/>',
        *_levels(layout),
        *(line for arrow in layout.arrows for line in _line(arrow)),
        *(
            line
            for column in layout.columns
            for box in column
            if box.vertex is not None
            for line in _chain(box)
        ),
        *_labels(layout),
        "</svg>",
    ]
    return "\n".join(parts)


def _levels(layout: Layout) -> Iterator[str]:
    for level, column in enumerate(layout.columns):
        yield _text(column[0].x, MARGIN, f"level {level}", "small")


def _text(x: float, y: float, text: str, css: str = "", anchor: str = "start") -> str:
    css = f' class="{css}"' if css else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{css}>{escape(text)}</text>'


def _rectangle(x: float, y: float, width: float, height: float, css: str) -> str:
    return (
        f'<rect class="{css}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="5"/>'
    )


def _chain(box: Box) -> Iterator[str]:
    assert box.vertex is not None
    yield _rectangle(box.x, box.y, box.width, box.height, "chain")
    yield _text(box.x + PADDING, box.y + HEADER - 9, chain_title(box.vertex), "small")
    for index, row in enumerate(box.rows):
        yield from _connection(box, index, row)
        yield from _operator(box, index, row)


def _operator(box: Box, index: int, row: ChainRow) -> Iterator[str]:
    left, top = box.row_left(row), box.row_top(index)
    kind = " source" if row.node.is_source else " sink" if row.node.is_sink else ""
    yield "<g>"
    yield f"<title>{escape(one_line(row.node.description))}</title>"
    yield _rectangle(left, top, box.right - PADDING - left, ROW, "operator" + kind)
    yield _text(left + PADDING, top + ROW / 2 + 4.5, shorten(row.label))
    yield "</g>"


def _connection(box: Box, index: int, row: ChainRow) -> Iterator[str]:
    """Draw the line from the operator that feeds a row, down or around the corner."""
    if row.parent is None:
        return
    x = box.row_left(box.rows[row.parent]) + PADDING - 2
    start = box.row_top(row.parent) + ROW
    if row.is_branch:
        yield f'<path class="line" d="M{x:.1f} {start:.1f}V{box.row_middle(index):.1f}H{box.row_left(row):.1f}"/>'
    else:
        yield f'<path class="line" d="M{x:.1f} {start:.1f}v{ROW_GAP:.1f}"/>'


def _gaps(arrow: Arrow) -> list[tuple[Point, Point]]:
    return list(zip(arrow.points[::2], arrow.points[1::2], strict=True))


def _line(arrow: Arrow) -> Iterator[str]:
    x, y = arrow.points[0]
    path = f"M{x:.1f} {y:.1f}"
    for (x1, y1), (x2, y2) in _gaps(arrow):
        middle = (x1 + x2) / 2
        path += f"L{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    yield f'<path class="line" d="{path}"/>'
    x, y = arrow.points[-1]
    back = x - _HEAD
    yield f'<path class="head" d="M{x:.1f} {y:.1f}L{back:.1f} {y - 4:.1f}V{y + 4:.1f}Z"/>'


def _labels(layout: Layout) -> Iterator[str]:
    """Write the labels beside their arrows, each where it is free of those before it."""
    taken: list[tuple[Point, float]] = []
    for arrow in layout.arrows:
        width = text_width(arrow.label) * SMALL_LETTER
        start, end = _gaps(arrow)[0]
        places = [_on_curve(start, end, along) for along in _ALONG]
        free = (place for place in places if not any(_meet(place, width, *it) for it in taken))
        x, y = next(free, places[0])
        taken.append(((x, y), width))
        yield _rectangle(x - width / 2, y - _LABEL_HEIGHT / 2, width, _LABEL_HEIGHT, "ground")
        yield _text(x, y + 4, arrow.label, "label", "middle")


def _on_curve(start: Point, end: Point, along: float) -> Point:
    """Return a point of an arrow's curve through a gap, from 0 at its start to 1 at its end."""
    rest = 1 - along
    middle = (start[0] + end[0]) / 2
    x = rest**3 * start[0] + 3 * rest * along * middle + along**3 * end[0]
    y = (rest**3 + 3 * rest**2 * along) * start[1] + (3 * rest * along**2 + along**3) * end[1]
    return x, y


def _meet(one: Point, one_width: float, other: Point, other_width: float) -> bool:
    return (
        abs(one[0] - other[0]) < (one_width + other_width) / 2
        and abs(one[1] - other[1]) < _LABEL_HEIGHT
    )
