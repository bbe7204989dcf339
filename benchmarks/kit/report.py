"""The pages and the pictures that show what the suite has found."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchmarks.curves import report as growth_report
from benchmarks.kit.entries import TITLES
from benchmarks.kit.measure import Row, short, span
from benchmarks.kit.pictures import bars
from benchmarks.kit.results import Found

BEGIN, END = "<!-- results -->", "<!-- end of results -->"
BUSY = 0.15
"""How much of the processors may be in use by others before a reader has to know."""


def write(entries: Mapping[str, Found], page: Path) -> None:
    """Draws the pictures beside a page, and writes the results between its marks.

    The curves go to the page `growth.md` beside it.

    Args:
        entries: What was found, by the entries' names.
        page: The page; one without other text is made if there is none.
    """
    page.parent.mkdir(parents=True, exist_ok=True)
    for script in TITLES:
        bars(_rows(entries, script), page.parent / f"{script}.svg")
    curves = [curve for found in entries.values() for curve in found.output.get("sweeps", ())]
    growth_report.write(curves, page.parent / "growth.md")
    text = page.read_text() if page.exists() else f"{BEGIN}\n{END}\n"
    page.write_text(between(text, BEGIN, END, _text(entries)))


def between(text: str, begin: str, end: str, new: str) -> str:
    """Puts a new text between two marks, in the place of what is there."""
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{new}\n\n{end}{after}"


def _text(entries: Mapping[str, Found]) -> str:
    sections = [_verdicts(entries)]
    for script, title in TITLES.items():
        rows = _rows(entries, script)
        if not rows:
            continue
        sections.append(f"### {title}")
        if any(row.other for row in rows):
            sections.append(f"![{title}: ratios and their targets]({script}.svg)")
        sections.append("\n".join([*_HEAD, *(_line(row) for row in rows)]))
    return "\n\n".join([*sections, "### Machines and versions", *_facts(entries)])


def _verdicts(entries: Mapping[str, Found]) -> str:
    rows = [row for found in entries.values() for row in found.rows]
    counts = Counter(row.verdict.partition(" ")[0] for row in rows)
    return (
        f"Of {len(rows)} rows, {counts['reached']} reach their target and {counts['missed']} miss it; "
        f"in {counts['spread']} the spread is too wide to trust, and {counts['']} have no target."
    )


def _facts(entries: Mapping[str, Found]) -> list[str]:
    """Machine and versions; if not all entries share them, which ones belong to which."""
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, found in entries.items():
        facts = {**found.facts, "commit": found.commit}
        groups.setdefault(tuple(facts.items()), []).append(name)
    most = max(groups.values(), key=len, default=[])
    is_majority = 2 * len(most) > len(entries)
    others = "All other entries" if len(groups) > 1 else "All entries"
    lines = []
    for group, names in sorted(groups.items(), key=lambda each: each[1] is most):
        said = "; ".join(f"{name} {value}" for name, value in group)
        whose = others if names is most and is_majority else ", ".join(names)
        lines.append(f"- {whose}: {said}.")
    sections = ["\n".join(lines)]
    busy = [f"{name} ({found.busy:.0%})" for name, found in entries.items() if found.busy > BUSY]
    if busy:
        sections.append(f"Others used the processors just before these entries: {', '.join(busy)}.")
    return sections


_HEAD = (
    "| What | Penstock | Against | Ratio | Target | Verdict | Command |",
    "|---|---|---|---|---|---|---|",
)


def _line(row: Row) -> str:
    mine = f"{short(statistics.median(row.penstock))} ({span(row.penstock)})"
    against = ratio = ""
    if row.other:
        against = f"{row.against}: {short(statistics.median(row.other))} ({span(row.other)})"
        ratio = f"**{short(row.figure)}** ({span(row.ratios)})"
    what = f"{row.job}, {row.unit}"
    cells = (what, mine, against, ratio, row.wanted, row.verdict, f"`{row.command}`")
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _rows(entries: Mapping[str, Found], script: str) -> list[Row]:
    return [
        row
        for name, found in entries.items()
        if name.partition(":")[0] == script
        for row in found.rows
    ]
