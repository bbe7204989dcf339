"""The whole crash test: `python -m tests.crash.prove`. A thousand faults, in one to two hours on two cores.

Runs the long form without Spark, on local cores and on a cluster, one after the other; a run that was
interrupted is gone on with. Their logs become `docs/crash-test.log`, and what they come to is written into
the table of `docs/crash-test.md`. With `--table` nothing is run: only the table is written from the log.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[2] / "docs"
RUNS: Final = (("local", 890), ("local[2]", 80), ("cluster", 30))
"""Where faults happen, and how many."""
_NAMES: Final = {
    "local": "no Spark",
    "local[2]": "local cores, 1, 2 or 4",
    "cluster": "a cluster, master and two workers",
}
_TABLE: Final = re.compile(r"(?<=<!-- figures -->\n).*(?=<!-- end of figures -->)", re.DOTALL)
_END: Final = "the outcome is the oracle's"


@dataclass
class Run:
    """What the log says of one run.

    Attributes:
        master: Where it ran.
        faults: How many there were, by what happened.
        jobs: How many jobs came to the end that they had to.
        failed: How many did not.
        restarts: The seconds from each restart to the next epoch.
    """

    master: str
    faults: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    failed: int = 0
    restarts: list[float] = field(default_factory=list)

    @property
    def row(self) -> str:
        """Its row in the table."""
        median = f"{statistics.median(self.restarts):.1f} s" if self.restarts else ""
        name = _NAMES.get(self.master, self.master)
        return f"| {name} | {self.faults.total()} | {self.jobs} | {self.failed} | {median} |"


def read(lines: Iterable[str]) -> list[Run]:
    """Return what a log says, run by run."""
    runs: list[Run] = []
    for line in lines:
        if found := re.match(r"# On (\S+), seed", line):
            runs.append(Run(found[1]))
        elif re.match(r" *\d+ \| \d+ \|", line):
            *_, what, _, restart, _ = line.split(" | ")
            runs[-1].faults[what.strip()] += 1
            if restart.strip() != "-":
                runs[-1].restarts.append(float(restart))
        elif line.startswith(" "):
            runs[-1].jobs += _END in line
            runs[-1].failed += "FAILED" in line
    return runs


def table(runs: list[Run]) -> str:
    """Return the tables of the page."""
    whats: Counter[str] = Counter()
    for run in runs:
        for what, count in run.faults.items():
            kind, _, end = what.partition(" at ")
            whats[kind] += count
            if end:
                whats[end] += count
    faults = [f"| `{what}` | {count} |" for what, count in whats.most_common()]
    head = ["| On | Faults | Jobs with all right | Jobs with anything wrong | Next epoch, median |"]
    head.append("|---|---:|---:|---:|---:|")
    parts = [*head, *(run.row for run in runs), "", "| What | How often |", "|---|---:|", *faults]
    return "\n".join(parts) + "\n"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the thousand; 0.1 tries it out"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="only write the table")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    log = DOCS / "crash-test.log"
    if not options.table:
        parts = []
        for number, (master, kills) in enumerate(RUNS):
            part = log.with_name(f"crash-test-{number}.part")
            command = [sys.executable, "-m", "tests.crash.long", "--resume", "--keep-going"]
            command += ["--master", master, "--kills", str(round(kills * options.share))]
            command += ["--seed", str(options.seed), "--log", str(part)]
            print(f"{_NAMES[master]}: {kills * options.share:.0f} faults", flush=True)
            if subprocess.run(command, check=False).returncode not in {0, 1}:
                return 2  # it was interrupted, and can be gone on with
            parts.append(part)
        log.write_text("\n".join(part.read_text() for part in parts))
        for part in parts:
            part.unlink()
    runs = read(log.read_text().splitlines())
    page = log.with_suffix(".md")
    text = table(runs)
    page.write_text(_TABLE.sub(lambda _: text, page.read_text()))
    print(text)
    return 1 if any(run.failed for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
