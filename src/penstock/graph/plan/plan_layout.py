"""Where everything stands in the picture of a plan: chains in columns by level, arrows between them.

An arrow that skips levels gets a lane of its own in every column it passes, so that it crosses no box.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from penstock.common.plain_text import fitted, text_width
from penstock.graph.job_graph import JobEdge, JobGraph, JobVertex
from penstock.graph.plan.plan_rows import ChainRow, chain_rows, chain_title, exit_label

MARGIN: Final = 24.0
HEADER: Final = 26.0
PADDING: Final = 12.0
ROW: Final = 28.0
ROW_GAP: Final = 10.0
INDENT: Final = 20.0
TOP: Final = 44.0
LETTER: Final = 7.4
SMALL_LETTER: Final = 6.6
_LONGEST: Final = 40
_GAP: Final = 26.0
_LANE: Final = 16.0
_PORTS: Final = 9.0
_SWEEPS: Final = 4

Point = tuple[float, float]


@dataclass(eq=False)
class Box:
    """A chain in the picture, or a lane through which an arrow passes a column.

    Attributes:
        vertex: The chain; None for a lane.
        rows: The chain's operators.
        width: The width.
        height: The height.
        x: The left edge.
        y: The upper edge.
        before: The boxes that arrows come from.
        after: The boxes that arrows go to.
    """

    vertex: JobVertex | None
    rows: list[ChainRow]
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    before: list[Box] = field(default_factory=list)
    after: list[Box] = field(default_factory=list)

    @property
    def right(self) -> float:
        return self.x + self.width

    def row_left(self, row: ChainRow) -> float:
        """Return the left edge of an operator."""
        return self.x + PADDING + INDENT * len(row.branches)

    def row_top(self, index: int) -> float:
        """Return the upper edge of an operator."""
        return self.y + HEADER + index * (ROW + ROW_GAP)

    def row_middle(self, index: int) -> float:
        """Return the height at which an operator's arrows begin and end."""
        return self.row_top(index) + ROW / 2


@dataclass(eq=False)
class Arrow:
    """An edge between chains in the picture.

    Attributes:
        edge: The edge.
        label: What is written beside it.
        path: The boxes it leads through, lanes between the sender's and the receiver's.
        points: Two for each gap between columns it crosses: where it enters and where it leaves it.
    """

    edge: JobEdge
    label: str
    path: list[Box]
    points: list[Point] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Layout:
    """Where everything stands in the picture of a plan."""

    columns: list[list[Box]]
    arrows: list[Arrow]
    width: float
    height: float


def lay_out(job_graph: JobGraph) -> Layout:
    """Find a place for every chain and arrow."""
    boxes = [_box(vertex, job_graph) for vertex in job_graph.vertices]
    columns: list[list[Box]] = [[] for _ in range(job_graph.levels)]
    for vertex, box in zip(job_graph.vertices, boxes, strict=True):
        columns[vertex.level].append(box)
    arrows = [_arrow(edge, job_graph, boxes, columns) for edge in job_graph.edges]
    _order(columns)
    width, height = _place(columns, arrows)
    _draw(arrows)
    return Layout(columns, arrows, width, height)


def shorten(text: str) -> str:
    """Return a text that fits into an operator's box."""
    return fitted(text, _LONGEST)


def _box(vertex: JobVertex, job_graph: JobGraph) -> Box:
    rows = chain_rows(vertex, job_graph)
    inside = max(
        text_width(shorten(row.label)) * LETTER + INDENT * len(row.branches) + 2 * PADDING
        for row in rows
    )
    width = max(inside, text_width(chain_title(vertex)) * SMALL_LETTER) + 2 * PADDING
    height = HEADER + len(rows) * (ROW + ROW_GAP) - ROW_GAP + PADDING
    return Box(vertex, rows, width, height)


def _arrow(edge: JobEdge, job_graph: JobGraph, boxes: list[Box], columns: list[list[Box]]) -> Arrow:
    source, target = job_graph.vertices[edge.source], job_graph.vertices[edge.target]
    path = [boxes[edge.source]]
    for level in range(source.level + 1, target.level):
        lane = Box(None, [], 0, _LANE)
        columns[level].append(lane)
        path.append(lane)
    path.append(boxes[edge.target])
    for before, after in pairwise(path):
        before.after.append(after)
        after.before.append(before)
    return Arrow(edge, shorten(exit_label(edge)), path)


def _order(columns: list[list[Box]]) -> None:
    """Order the boxes of each column so that few arrows cross: each near the mean of its neighbours."""
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        places: dict[Box, float] = {}
        for column in columns if forward else reversed(columns):
            height = {box: index for index, box in enumerate(column)}
            mean = {
                box: _mean(
                    [places[other] for other in (box.before if forward else box.after)],
                    (height[box] + 0.5) / len(column),
                )
                for box in column
            }
            column.sort(key=mean.__getitem__)
            places |= {box: (index + 0.5) / len(column) for index, box in enumerate(column)}


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _place(columns: list[list[Box]], arrows: list[Arrow]) -> Point:
    """Set where the boxes stand, columns centred, and return the size of the picture.

    All boxes of a column get the same width, so that no arrow passes behind its neighbour.
    """
    heights = [sum(box.height for box in column) + _GAP * (len(column) - 1) for column in columns]
    tallest = max(heights)
    x = MARGIN
    for column, height in zip(columns, heights, strict=True):
        y = TOP + (tallest - height) / 2
        width = max(box.width for box in column)
        for box in column:
            box.x, box.y, box.width = x, y, width
            y += box.height + _GAP
        labels = [text_width(arrow.label) for arrow in arrows if arrow.path[0] in column]
        x += width + max(labels, default=0) * SMALL_LETTER + 3 * MARGIN
    right = max(box.right for column in columns for box in column)
    return right + MARGIN, TOP + tallest + MARGIN


def _draw(arrows: list[Arrow]) -> None:
    """Set the points of the arrows; those that meet at one operator are spread."""
    ports: dict[tuple[Box, int, bool], list[Arrow]] = defaultdict(list)
    for arrow in arrows:
        ports[arrow.path[0], _sending_row(arrow), True].append(arrow)
        ports[arrow.path[-1], 0, False].append(arrow)
    ends: dict[tuple[Arrow, bool], float] = {}
    for (box, row, leaving), met in ports.items():
        met.sort(key=lambda arrow: arrow.path[1].y if leaving else arrow.path[-2].y)
        step = min(_PORTS, ROW / len(met))
        for number, arrow in enumerate(met):
            ends[arrow, leaving] = box.row_middle(row) + (number - (len(met) - 1) / 2) * step
    for arrow in arrows:
        lanes = arrow.path[1:-1]
        heights = [ends[arrow, True], *(lane.y + lane.height / 2 for lane in lanes)]
        arrow.points = list(_points(arrow.path, [*heights, ends[arrow, False]]))


def _sending_row(arrow: Arrow) -> int:
    return next(index for index, row in enumerate(arrow.path[0].rows) if arrow.edge in row.exits)


def _points(path: list[Box], heights: list[float]) -> Iterable[Point]:
    """Yield where an arrow leaves a box and where it enters the next, for each gap."""
    for index in range(len(path) - 1):
        yield path[index].right, heights[index]
        yield path[index + 1].x, heights[index + 1]
