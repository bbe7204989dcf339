"""Runs all benchmarks, one after the other, and writes what they found into docs/benchmarks.

    python benchmarks/suite.py                        everything
    python benchmarks/suite.py --quick                something of each script, into .benchmarks/quick
    python benchmarks/suite.py --list                 the entries and their rows, with the last verdicts
    python benchmarks/suite.py --only chain:2         one entry; or a script's name, or a row's
    python benchmarks/suite.py --only windows async_io

Each entry, a part of a script, runs in a process of its own. One that fails is
reported, keeps what it found before, and makes the suite end with 1; the others run. What an entry says
stands in .benchmarks/logs. Only one suite runs on a machine, and it waits a while if others are at work there.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import peers, report
from benchmarks.kit.entries import ENTRIES, QUICK_ENTRIES, Entry
from benchmarks.kit.machine import ROOT
from benchmarks.kit.measure import Row, short, table
from benchmarks.kit.progress import Progress
from benchmarks.kit.results import Results
from benchmarks.kit.runs import EntryFailed, run_entry, wait_for_quiet

HOME = ROOT / ".benchmarks"
FULL, QUICK = ROOT / "docs" / "benchmarks", HOME / "quick"
LOCK = Path(tempfile.gettempdir()) / "penstock-benchmarks.lock"
PATIENCE = {False: 120.0, True: 5.0}
"""How many seconds an entry waits for a quiet machine, in the full and in the quick form."""


def main() -> None:
    arguments = _parser().parse_args()
    folder = QUICK if arguments.quick else FULL
    results = Results(folder / "results.json")
    entries = list(QUICK_ENTRIES if arguments.quick else ENTRIES)
    if arguments.list:
        print(listing(entries, results))
        return
    chosen = choose(arguments.only, entries, results)
    with alone(LOCK):
        if any(entry.needs_pyflink for entry in chosen):
            _install_peers()
        failed = run_all(chosen, results, quick=arguments.quick)
        results.arrange([entry.name for entry in entries])
        report.write(results.entries, folder / "index.md")
    print(f"\nWritten: {(folder / 'index.md').relative_to(ROOT)} and results.json beside it.")
    if failed:
        sys.exit(f"{len(failed)} of {len(chosen)} entries failed: {', '.join(failed)}.")


def run_all(chosen: Sequence[Entry], results: Results, *, quick: bool) -> list[str]:
    """Runs entries one after the other, and keeps what they found.

    Args:
        chosen: What to run.
        results: Takes what they find.
        quick: Whether they do less of everything.

    Returns:
        The names of those that failed.
    """
    failed: list[str] = []
    began = monotonic()
    for number, entry in enumerate(chosen, 1):
        before = results.entries.get(entry.name)
        last = before.seconds if before else None
        progress = Progress(f"[{number}/{len(chosen)}] {entry.name}", last, began)
        busy = wait_for_quiet(PATIENCE[quick], progress.note)
        try:
            found = run_entry(entry, HOME / "logs", busy, progress.tick, quick=quick)
        except EntryFailed as problem:
            failed.append(entry.name)
            progress.end(f"failed\n{problem}")
            continue
        results.put(entry.name, found)
        progress.end("done")
        print(table(found.rows).lstrip("\n"), flush=True)
        if before:
            print(compared(before.rows, found.rows), flush=True)
    return failed


def choose(words: Sequence[str], entries: Sequence[Entry], results: Results) -> list[Entry]:
    """The entries that are meant by some words.

    Args:
        words: Names of entries, scripts or rows; none for all.
        entries: All entries.
        results: Knows the rows' names.
    """
    if not words:
        return list(entries)
    meant = {
        entry.name: {entry.name, entry.script, *(row.name for row in results.rows_of(entry.name))}
        for entry in entries
    }
    unknown = [word for word in words if not any(word in names for names in meant.values())]
    if unknown:
        sys.exit(
            f"There is no entry, script or row of this name: {', '.join(unknown)}.\n\n"
            "Hint: python benchmarks/suite.py --list names them all."
        )
    return [entry for entry in entries if meant[entry.name].intersection(words)]


def listing(entries: Sequence[Entry], results: Results) -> str:
    """All entries with their rows."""
    lines: list[str] = []
    for entry in entries:
        found = results.entries.get(entry.name)
        said = f"{found.seconds:.0f} s, at {found.commit}" if found else "never run"
        lines.append(f"{entry.name:<24}{said}")
        lines += [f"    {row.name}  {row.verdict}".rstrip() for row in results.rows_of(entry.name)]
    return "\n".join(lines)


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Lets no second suite run on this machine meanwhile."""
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(
                "Another suite runs on this machine: both would measure each other.\n\n"
                "Hint: start this one again when the other one has ended."
            )
        yield


def compared(before: Sequence[Row], now: Sequence[Row]) -> str:
    """What rows were and are, for those that are in both."""
    known = {row.name: row for row in before}
    lines = [
        f"  was {short(known[row.name].figure)}, is {short(row.figure)}: {row.name}"
        for row in now
        if row.name in known
    ]
    return "\n".join(lines)


def _install_peers() -> None:
    try:
        peers.install_pyflink()
    except peers.PeerUnavailable as problem:
        # What compares with it fails by itself, and says the same.
        print(problem, flush=True)


def _parser() -> argparse.ArgumentParser:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="do less of everything")
    parser.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="run only these")
    return parser


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. What had ended before is in results.json.")
