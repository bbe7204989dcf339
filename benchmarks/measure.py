"""Runs the sides of a comparison in turn, and sets what they took in relation."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

Run = Callable[[], float]


@dataclass(frozen=True)
class Row:
    """Penstock's figure for one job, and another side's for the same job.

    Attributes:
        job: What was run.
        unit: What the figures are in.
        penstock: One figure for each round.
        against: The name of the other side.
        other: Its figures in the same rounds; none if penstock stands alone.
        target: What the ratio (or penstock's figure, if it stands alone) should reach, for the reader.
    """

    job: str
    unit: str
    penstock: Sequence[float]
    target: str
    against: str = ""
    other: Sequence[float] = ()

    @property
    def ratio(self) -> float:
        """Penstock's median by the other side's."""
        return statistics.median(self.penstock) / statistics.median(self.other)

    @property
    def ratios(self) -> list[float]:
        """The ratio of each round."""
        return [mine / theirs for mine, theirs in zip(self.penstock, self.other, strict=True)]

    def as_json(self) -> dict[str, object]:
        """The row with its ratios, for `json`."""
        figures = asdict(self)
        return {**figures, "ratio": self.ratio, "ratios": self.ratios} if self.other else figures


def alternate(sides: Mapping[str, Run], rounds: int) -> dict[str, list[float]]:
    """Lets every side run once in each round, every other round in reverse order.

    Args:
        sides: What each side does once, by its name; it returns its figure.
        rounds: How many rounds.

    Returns:
        Each side's figures, one for each round.
    """
    figures: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        order = list(sides) if number % 2 == 0 else list(sides)[::-1]
        for name in order:
            figures[name].append(sides[name]())
        said = ", ".join(f"{name} {_short(figures[name][-1])}" for name in sides)
        print(f"  round {number + 1} of {rounds}: {said}", flush=True)
    return figures


def table(rows: Sequence[Row]) -> str:
    """The rows as text, under one heading for each job."""
    lines: list[str] = []
    job = None
    for row in rows:
        if (row.job, row.unit) != job:
            job = row.job, row.unit
            lines += ["", f"{row.job} ({row.unit})", _LINE.format(*_HEAD)]
        lines.append(_LINE.format(*_cells(row)).rstrip())
    return "\n".join(lines)


_LINE = "  {:<34}{:>12}{:>12}{:>9}{:>18}  {}"
_HEAD = ("penstock against", "penstock", "other", "ratio", "of single rounds", "target")


def _cells(row: Row) -> tuple[str, ...]:
    mine = _short(statistics.median(row.penstock))
    if not row.other:
        return "(alone)", mine, "", "", _span(row.penstock), row.target
    other = _short(statistics.median(row.other))
    return row.against, mine, other, f"{row.ratio:.2f}", _span(row.ratios), row.target


def _span(figures: Sequence[float]) -> str:
    return f"{min(figures):.2f} to {max(figures):.2f}"


def _short(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.2f}"
