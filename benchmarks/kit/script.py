"""What all benchmark scripts have in common: their command line, and their parts one after the other."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.kit.machine import facts
from benchmarks.kit.measure import Row, rerun_by, table

Part = Callable[[], list[Row]]


def parser(doc: str | None, parts: int) -> argparse.ArgumentParser:
    """The command line of a script.

    Args:
        doc: The script's docstring.
        parts: How many parts it has.
    """
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--quick", action="store_true", help="do less of everything")
    made.add_argument("--part", type=int, choices=range(1, parts + 1), help="run one part")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return made


def run(file: str, arguments: argparse.Namespace, parts: Sequence[Part]) -> None:
    """Runs the wanted parts, prints their rows, and writes them if a file for them is named.

    Args:
        file: The script's own file.
        arguments: What its command line said.
        parts: All its parts.
    """
    print("\n".join(f"{name:<12} {value}" for name, value in facts().items()), flush=True)
    rows: list[Row] = []
    for number, part in enumerate(parts, 1):
        if arguments.part in (None, number):
            print(f"\nPart {number}", flush=True)
            start = perf_counter()
            rows += rerun_by(command(file, arguments, number), part())
            print(f"  took {perf_counter() - start:.0f} s", flush=True)
    print(table(rows))
    if arguments.json:
        figures = {"rows": [row.as_json() for row in rows]}
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def command(file: str, arguments: argparse.Namespace, part: int) -> str:
    """What runs one part as these arguments do."""
    words = ["python", f"benchmarks/{Path(file).name}", "--part", str(part)]
    for name, value in vars(arguments).items():
        if name in {"part", "json"} or value in (None, False):
            continue
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return " ".join(words)
