"""Runs the sides of a comparison in turn, sets what they took in relation, and judges the ratio."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

Run = Callable[[], float]

WIDE = 2.0
"""Ratios to another side of which the highest is more times the lowest are not to be trusted."""

WIDE_ABOUT_TARGET = 1.5
"""The same for figures with the target between them."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Penstock's figure for one job, and another side's for the same job.

    Attributes:
        job: What was run.
        unit: What the figures are in.
        penstock: One figure for each round.
        against: The name of the other side.
        other: Its figures in the same rounds; none if penstock stands alone.
        target: What the ratio (or penstock's figure, if it stands alone) should reach; None for no target.
        lower_is_better: Whether the target is the most that it may be, not the least.
        command: What runs this row again, and those that come of the same rounds.
    """

    job: str
    unit: str
    penstock: Sequence[float]
    against: str = ""
    other: Sequence[float] = ()
    target: float | None = None
    lower_is_better: bool = False
    command: str = ""

    @property
    def name(self) -> str:
        """A name for the command line, of the job and the other side."""
        words = re.findall(r"[a-z0-9.]+", f"{self.job} {self.unit} {self.against}".lower())
        return "-".join(word.strip(".") for word in words)

    @property
    def ratios(self) -> list[float]:
        """Penstock's figure by the other side's in each round; none if penstock stands alone."""
        if not self.other:
            return []
        return [mine / theirs for mine, theirs in zip(self.penstock, self.other, strict=True)]

    @property
    def judged(self) -> Sequence[float]:
        """What is held against the target, for each round: the ratio, or the figure that stands alone."""
        return self.ratios or self.penstock

    @property
    def figure(self) -> float:
        """The median of what is held against the target."""
        return statistics.median(self.judged)

    @property
    def is_too_wide(self) -> bool:
        """Whether the rounds differ by so much that the figure is not to be trusted."""
        least, most = min(self.judged), max(self.judged)
        if self.other and most > WIDE * least:
            return True
        is_between = self.target is not None and least < self.target < most
        return is_between and most > WIDE_ABOUT_TARGET * least

    @property
    def verdict(self) -> str:
        """Whether the target is reached, by how much it is missed, or that nobody can say."""
        if self.is_too_wide:
            return "spread too wide to trust"
        if self.target is None:
            return ""
        lack = (self.figure - self.target) / self.target
        if (lack if self.lower_is_better else -lack) <= 0:
            return "reached"
        return f"missed by {100 * abs(lack):.0f}%" if abs(lack) >= 0.005 else "missed by a hair"

    @property
    def wanted(self) -> str:
        """The target for the reader."""
        if self.target is None:
            return ""
        return f"{'at most' if self.lower_is_better else 'at least'} {self.target:,g}"

    def as_json(self) -> dict[str, Any]:
        """The row with what follows from it, for `json`."""
        return {
            **asdict(self),
            "name": self.name,
            "median": statistics.median(self.penstock),
            "min": min(self.penstock),
            "max": max(self.penstock),
            **({"other_median": statistics.median(self.other)} if self.other else {}),
            **({"ratio": self.figure, "ratios": self.ratios} if self.other else {}),
            "verdict": self.verdict,
        }

    @classmethod
    def from_json(cls, figures: Mapping[str, Any]) -> Row:
        """The row that `as_json` made these of."""
        return cls(**{name: figures[name] for name in cls.__dataclass_fields__})


def rerun_by(command: str, rows: Iterable[Row]) -> list[Row]:
    """The rows, each with the command that runs it again."""
    return [replace(row, command=command) for row in rows]


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
        said = ", ".join(f"{name} {short(figures[name][-1])}" for name in sides)
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


def span(figures: Sequence[float]) -> str:
    """The least and the most of some figures, for a reader."""
    return f"{short(min(figures))} to {short(max(figures))}"


def short(figure: float) -> str:
    """A figure for a reader."""
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.2f}"


_LINE = "  {:<34}{:>12}{:>12}{:>9}{:>20}  {}"
_HEAD = ("penstock against", "penstock", "other", "ratio", "of single rounds", "target")


def _cells(row: Row) -> tuple[str, ...]:
    mine = short(statistics.median(row.penstock))
    theirs = (short(statistics.median(row.other)), short(row.figure)) if row.other else ("", "")
    verdict = ": ".join(filter(None, [row.wanted, row.verdict]))
    return row.against or "(alone)", mine, *theirs, span(row.judged), verdict
