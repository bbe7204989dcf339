"""The plan of a job as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.common.plain_text import one_line, text_width
from penstock.graph.job_graph import JobGraph, JobVertex
from penstock.graph.plan.plan_rows import (
    ChainRow,
    chain_rows,
    chain_title,
    exit_label,
)
from penstock.graph.source_descriptions import AggregatedFrameSource

_COLUMNAR: Final = "columnar: works on batches of columns; of a batch of late records, a window fires once for each key."

_IN_SPARK: Final = (
    "columnar: Spark aggregates the rows before workers get them, as columns; none of them is late."
)


def explain_text(job_graph: JobGraph, notes: Mapping[str, str] | None = None) -> str:
    """Return the plan of a job as text.

    Each chain is a numbered box of its operators; an arrow that leaves a box is an exchange, with
    what passes, how, and the chain it goes to.

    Args:
        job_graph: The chains of the job.
        notes: What to write behind operators, by their ids.
    """
    chains = _count(len(job_graph.vertices), "chain")
    levels = _count(job_graph.levels, "level")
    lines = [f"Job {one_line(job_graph.name)!r}: {chains} on {levels}"]
    for level in range(job_graph.levels):
        lines += ["", f"level {level}"]
        for vertex in job_graph.vertices:
            if vertex.level == level:
                lines += _box(vertex, job_graph, notes or {})
    nodes = job_graph.stream_graph.nodes.values()
    if any(isinstance(node.source, AggregatedFrameSource) for node in nodes):
        lines += ["", _IN_SPARK]
    elif any(node.is_columnar for node in nodes):
        lines += ["", _COLUMNAR]
    return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _box(vertex: JobVertex, job_graph: JobGraph, notes: Mapping[str, str]) -> Iterator[str]:
    rows = chain_rows(vertex, job_graph)
    width = max(text_width(_inside(row)) for row in rows)
    lines = [line for row in rows for line in _lines(row, job_graph, notes, width)]
    title = f" {_title(vertex)} "
    width = max(text_width(title), *(text_width(inside) for inside, _ in lines))
    yield f"╭─{title}{'─' * (width - text_width(title))}─╮"
    for inside, way_out in lines:
        border = f"├─ {way_out}" if way_out else "│"
        yield f"│ {inside}{' ' * (width - text_width(inside))} {border}"
    yield f"╰─{'─' * width}─╯"


def _title(vertex: JobVertex) -> str:
    title = chain_title(vertex)
    senders = sorted({edge.source + 1 for edge in vertex.inputs})
    if senders:
        title += " from " + ", ".join(f"[{sender}]" for sender in senders)
    return title


def _inside(row: ChainRow) -> str:
    return _branches(row) + row.label


def _lines(
    row: ChainRow, job_graph: JobGraph, notes: Mapping[str, str], width: int
) -> Iterator[tuple[str, str]]:
    """Yield what stands inside the box, and what leaves it there."""
    inside = _inside(row)
    if note := notes.get(job_graph.operator_ids[row.node.id]):
        inside += " " * (width - text_width(inside)) + "  " + note
    below = "".join("│  " if follows else "   " for follows in row.branches)
    for edge in row.exits:
        target = job_graph.vertices[edge.target]
        yield inside, f"{exit_label(edge)} ─▶ [{target.index + 1}] {one_line(target.head.name)}"
        inside = below
    if not row.exits:
        yield inside, ""


def _branches(row: ChainRow) -> str:
    passed = row.branches[:-1] if row.is_branch else row.branches
    text = "".join("│  " if follows else "   " for follows in passed)
    if row.is_branch:
        text += "├─ " if row.branches[-1] else "└─ "
    return text
