"""What the suite runs, in this order: one entry for each part of each script."""

from __future__ import annotations

import sys
from dataclasses import dataclass

TITLES = {
    "chain": "Chains and small epochs",
    "keyed_state": "Keyed state",
    "timers": "Timers",
    "checkpoints": "Checkpoints",
    "windows": "Windows",
    "async_io": "Asynchronous calls",
    "latency": "Latency",
    "watching": "Watching a job",
    "kafka": "Kafka",
    "nexmark_queries": "Nexmark",
    "growth": "Growth",
}
"""What the page calls each script, in the page's order."""

NEXMARK_QUERIES = (*(f"q{number}" for number in range(9)), "q11", "q12", "q13")

CURVES = ("keys", "parallelism", "subtasks", "levels", "chain", "panes", "epoch-size", "calls")
"""What grows, one curve each."""


@dataclass(frozen=True)
class Entry:
    """Something that the suite runs in a process of its own.

    Attributes:
        script: The script's name, in the folder above and without its suffix.
        label: What tells the entry from the script's others; none for all of the script.
        arguments: What the script is told to run nothing else.
        needs_pyflink: Whether it compares with PyFlink.
    """

    script: str
    label: str
    arguments: tuple[str, ...]
    needs_pyflink: bool = False

    @property
    def name(self) -> str:
        """The entry's name on the command line and in the results."""
        return f"{self.script}:{self.label}" if self.label else self.script

    def command(self, *more: str) -> list[str]:
        """What runs the entry, from the repository's root."""
        return [sys.executable, f"benchmarks/{self.script}.py", *self.arguments, *more]


def parts(script: str, count: int, *, with_pyflink: tuple[int, ...] = ()) -> list[Entry]:
    """The entries of a script with numbered parts.

    Args:
        script: The script's name.
        count: How many parts it has.
        with_pyflink: Those that compare with PyFlink.
    """
    return [
        Entry(script, str(part), ("--part", str(part)), part in with_pyflink)
        for part in range(1, count + 1)
    ]


ENTRIES = (
    *parts("chain", 4, with_pyflink=(1,)),
    *parts("keyed_state", 2),
    *parts("timers", 3),
    *parts("checkpoints", 3),
    *parts("windows", 4, with_pyflink=(1,)),
    *parts("async_io", 6, with_pyflink=(1,)),
    *parts("latency", 2),
    *parts("watching", 4),
    *parts("kafka", 3, with_pyflink=(1, 2, 3)),
    *(
        Entry("nexmark_queries", query, ("--query", query), needs_pyflink=True)
        for query in NEXMARK_QUERIES
    ),
    *(Entry("growth", curve, ("--sweep", curve)) for curve in CURVES),
)

IN_QUICK_FORM = (
    "chain:1",
    "chain:2",
    "keyed_state:1",
    "timers:1",
    "checkpoints:2",
    "windows:2",
    "async_io:2",
    "latency:1",
    "watching:1",
    "kafka:1",
    "nexmark_queries:q5",
    "growth:chain",
)
"""The entries of the quick form: something of each script."""

QUICK_ENTRIES = tuple(entry for entry in ENTRIES if entry.name in IN_QUICK_FORM)
