"""Pictures of what was measured: SVG that is the same each time, and legible on light and dark pages.

What draws them is imported where one is drawn: most who import this module draw none.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.kit.measure import Row, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#123456"
"""Stands for the colour of text and lines until the picture is written: the page's reader decides."""

STYLE = "<style>svg{color:#24292f}@media(prefers-color-scheme:dark){svg{color:#d0d7de}}</style>"
REACHED, MISSED, OTHER = "#2e9e6b", "#d9822b", "#8794a5"
CURVES = ("#3b82c4", "#d9822b", "#2e9e6b", "#b65fb0", "#8794a5", "#c0453f")
WIDTH = 8.0
"""Inches."""
LINE = 110
"""Characters of small type that a picture has room for."""


def bars(rows: Sequence[Row], path: Path) -> None:
    """Draws by how many times penstock is better than each other side, with the targets as marks.

    Where lower figures are better, the ratio's inverse is drawn, so that longer is always better. Rows
    in which penstock stands alone are left out.

    Args:
        rows: What was measured.
        path: The picture's file; none is written if no row can be drawn.
    """
    drawn = [row for row in rows if row.other]
    if not drawn:
        return
    from matplotlib.ticker import LogLocator, NullLocator

    with _style():
        figure = _figure(0.8 + 0.7 * len(drawn))
        axes = figure.add_subplot()
        for place, row in enumerate(drawn):
            _bar(axes, place, row)
        axes.set_xscale("log")
        axes.axvline(1, color=INK, linewidth=1, alpha=0.4)
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, 0.5) / 1.2, max(high, 2) * 1.8)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylim(len(drawn) - 0.4, -0.9)
        axes.set_yticks([])
        axes.set_xlabel("times as good as the other side (1: equal; |: target)")
        _write(figure, path)


def curve(
    series: Mapping[str, Sequence[tuple[float, float]]],
    path: Path,
    *,
    x_label: str,
    y_label: str,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
) -> None:
    """Draws how one figure depends on another.

    Args:
        series: The points of each curve, by its name; a name of "" has no place in the legend.
        path: The picture's file.
        x_label: What the points' first numbers are.
        y_label: What the second ones are.
        title: What stands above; "" for nothing.
        log_x: Whether the first numbers are drawn on a logarithmic scale.
        log_y: Whether the second ones are; otherwise their axis begins at 0.
    """
    with _style():
        figure = _figure(0.55 * WIDTH)
        axes = figure.add_subplot()
        for colour, (name, points) in zip(CURVES * len(series), series.items(), strict=False):
            xs, ys = zip(*points, strict=True)
            axes.plot(xs, ys, color=colour, marker="o", markersize=4, label=name or "_")
        if log_x:
            axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_title(title)
        if any(series):
            axes.legend(frameon=False)
        _write(figure, path)


def growth(
    xs: Sequence[float],
    panels: Mapping[str, Sequence[tuple[float, float, float]]],
    path: Path,
    *,
    x_label: str,
) -> None:
    """Draws how several figures depend on one, side by side, all on logarithmic scales.

    Args:
        xs: What they depend on.
        panels: Each figure's least, median and most at every one of these, by what it is in.
        path: The picture's file.
        x_label: What they depend on.
    """
    from matplotlib.ticker import EngFormatter, NullLocator

    with _style():
        figure = _figure(0.42 * WIDTH)
        every = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, colour, (name, spans) in zip(every, CURVES, panels.items(), strict=False):
            least, medians, most = zip(*spans, strict=True)
            axes.plot(xs, medians, color=colour, marker="o", markersize=4)
            axes.fill_between(xs, least, most, color=colour, alpha=0.2, linewidth=0)
            axes.set_xscale("log")
            axes.set_yscale("log")
            _show_whole_decades(axes, least, most)
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(EngFormatter(sep=""))
                axis.set_minor_locator(NullLocator())
            if max(xs) < 1_000:
                axes.set_xticks(xs)
            axes.set_xlabel(x_label)
            axes.set_ylabel(name)
        _write(figure, path)


def _show_whole_decades(axes: Axes, least: Sequence[float], most: Sequence[float]) -> None:
    """Lets the axis end at powers of ten: that two figures hardly differ should be seen."""
    axes.set_ylim(10 ** floor(log10(min(least))), 10 ** ceil(log10(max(most))))


def _bar(axes: Axes, place: int, row: Row) -> None:
    def better(ratio: float) -> float:
        return 1 / ratio if row.lower_is_better else ratio

    reached = {"reached": REACHED, "": OTHER}.get(row.verdict, MISSED)
    length = better(row.figure)
    axes.barh(place, length - 1, left=1, height=0.36, color=reached)
    axes.plot(
        [better(ratio) for ratio in (min(row.ratios), max(row.ratios))], [place] * 2, color=INK
    )
    if row.target is not None:
        mark = better(row.target)
        axes.plot([mark, mark], [place - 0.22, place + 0.3], color=INK, linewidth=2)
    said = f"{row.job} ({row.unit}), against {row.against}: {short(length)}"
    text = axes.text(
        0,
        place - 0.24,
        textwrap.fill(said, LINE),
        transform=axes.get_yaxis_transform(),
        fontsize=8,
        va="bottom",
    )
    # Or the bars would make room for it.
    text.set_in_layout(False)


def _style() -> AbstractContextManager[None]:
    import matplotlib as mpl

    return mpl.rc_context(
        {
            "text.color": INK,
            "axes.labelcolor": INK,
            "axes.edgecolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "font.size": 9,
            "svg.fonttype": "none",
            # Identifiers in the file are hashes with this salt, otherwise with a random one.
            "svg.hashsalt": "penstock",
        }
    )


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH, height), layout="constrained")


def _write(figure: Figure, path: Path) -> None:
    for each in figure.axes:
        each.grid(visible=True, axis="both", color=INK, alpha=0.15, linewidth=0.6)
    picture = io.StringIO()
    figure.savefig(
        picture, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
    )
    start, tag, rest = picture.getvalue().partition("<defs>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(start + STYLE + "\n " + tag + rest.replace(INK, "currentColor"))
