"""What correct results cost: instructions a record, at this commit and at another one.

    python benchmarks/instructions.py --base 101a96d                  all programs; writes the page
    python benchmarks/instructions.py --base 101a96d --only union     some; prints them, and writes nothing

Times differ by 10% from run to run, and so cannot show what costs 3%. Instructions can: two runs differ by about
1% at most. They are counted by callgrind, a tool of valgrind, which has to be installed. Each
program of `instructions_programs.py` runs on the local executor with some records and with twice as many, so
that what the difference comes to is what records cost, and no start. The other commit is checked out into a
temporary folder. Programs that give other results there are marked.

In the table, 1.05 means 5% more instructions than at the other commit. An instruction is no unit of time.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.instructions_programs import CHANGING, FIXED, PROGRAMS, Program
from benchmarks.kit.machine import ROOT, last_commit
from benchmarks.kit.report import between

SOURCES = "src"
PAGE = ROOT / "docs" / "benchmarks" / "index.md"
BEGIN, END = "<!-- instructions -->", "<!-- end of instructions -->"
RECORDS = 2_048
"""Two blocks, and twice as many."""
FIRST_THREAD = 1
"""The one that waits for a job, in which all else is done by other threads."""

_LINE = "  {:<64}{:>10}{:>10}{:>8}"


@dataclass(frozen=True)
class Counted:
    """What a program takes for a record.

    Attributes:
        name: The program.
        base: Instructions at the other commit.
        now: Instructions at this one.
        is_same: Whether it gives the same results at both.
    """

    name: str
    base: float
    now: float
    is_same: bool = True

    @property
    def what(self) -> str:
        """The program for a reader."""
        said = (PROGRAMS[self.name].__doc__ or self.name).strip().removesuffix(".")
        return said if self.is_same else f"{said} (other results at the base)"

    @property
    def cells(self) -> tuple[str, ...]:
        """The figures for a reader."""
        return f"{self.base:,.0f}", f"{self.now:,.0f}", f"{self.now / self.base:.2f}"


def main() -> None:
    arguments = parser().parse_args()
    if shutil.which("valgrind") is None:
        sys.exit(
            "valgrind is not on the PATH, and instructions are counted by it.\n\n"
            "Hint: install it, for instance with apt-get install valgrind."
        )
    names = arguments.only or list(PROGRAMS)
    with worktree(arguments.base) as other:
        digests = [results(tree, names) for tree in (other, ROOT)]
        base = dict(counts(other, names, arguments.base))
        now = dict(counts(ROOT, names, "this commit"))
    found = [
        Counted(name, base[name], now[name], digests[0][name] == digests[1][name]) for name in names
    ]
    print("\n".join([_LINE.format("", arguments.base, "now", "ratio"), *map(_line, found)]))
    if not arguments.only:
        text = section(found, arguments.base, last_commit(SOURCES))
        PAGE.write_text(between(PAGE.read_text(), BEGIN, END, text))
        print(f"\nWritten: {PAGE.relative_to(ROOT)}")


def results(tree: Path, names: Iterable[str]) -> dict[str, str]:
    """A digest of what each program gives, with the penstock of a tree."""
    said = subprocess.run(
        _command("--results", names), env=_environment(tree), stdout=subprocess.PIPE, check=True
    )
    return dict(line.split() for line in said.stdout.decode().splitlines())


def counts(tree: Path, names: Sequence[str], label: str) -> Iterator[tuple[str, float]]:
    """Counts what each program takes for a record, with the penstock of a tree.

    Args:
        tree: What is checked out there.
        names: The programs.
        label: What to call the tree, for who waits.

    Yields:
        Names and instructions.

    Raises:
        subprocess.CalledProcessError: A program failed.
    """
    with TemporaryDirectory(prefix="instructions-") as folder:
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", "--separate-threads=yes"]
        written = f"--callgrind-out-file={folder}/%p"
        command = [*valgrind, written, *_command(None, names)]
        with subprocess.Popen(
            command, env=_environment(tree), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            totals: dict[str, dict[int, int]] = {}
            for line in process.stdout:
                name, records, forked = line.split()
                known = totals.setdefault(name, {})
                known[int(records)] = total(Path(folder), int(forked))
                if len(known) == 2:
                    each = (known[2 * RECORDS] - known[RECORDS]) / RECORDS
                    print(f"{label}: {name} {each:,.0f}", flush=True)
                    yield name, each
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)


def total(folder: Path, process: int) -> int:
    """What callgrind counted in a process, in all threads but the first one."""
    found = 0
    for file in folder.glob(f"{process}-*"):
        if int(file.name.rpartition("-")[2]) != FIRST_THREAD:
            said = re.search(r"^totals: (\d+)$", file.read_text(), re.MULTILINE)
            found += int(said[1]) if said else 0
        file.unlink()
    return found


def section(found: Sequence[Counted], base: str, at: str) -> str:
    """What the page says of all programs."""
    by_name = {each.name: each for each in found}
    command = f"`python benchmarks/instructions.py --base {base}`"
    how = f"on the local executor, Python {platform.python_version()}"
    records = f"{RECORDS:,} records and twice as many"
    lines = [f"{command}, commit {at}: instructions a record, {how}, {records}."]
    for title, programs in (
        ("Values that nobody can change", FIXED),
        ("Values that can be changed", CHANGING),
    ):
        lines += ["", f"| {title} | {base} | now | ratio |", "|---|---:|---:|---:|"]
        rows = (by_name[_name(program)] for program in programs)
        lines += [f"| {' | '.join((each.what, *each.cells))} |" for each in rows]
    return "\n".join(lines)


@contextmanager
def worktree(base: str) -> Iterator[Path]:
    """Has a commit checked out in a temporary folder."""
    with TemporaryDirectory(prefix="instructions-") as folder:
        path = Path(folder, "base")
        _git("worktree", "add", "--quiet", "--detach", str(path), base)
        try:
            yield path
        finally:
            _git("worktree", "remove", "--force", str(path))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--base", required=True, metavar="COMMIT", help="what to compare with")
    made.add_argument(
        "--only", nargs="+", choices=PROGRAMS, metavar="NAME", help="count only these"
    )
    return made


def _command(option: str | None, names: Iterable[str]) -> list[str]:
    script = str(ROOT / "benchmarks" / "instructions_programs.py")
    options = ["--records", str(RECORDS), *([option] if option else [])]
    return [sys.executable, script, *options, *names]


def _environment(tree: Path) -> Mapping[str, str]:
    """The programs of this commit, with the penstock of a tree, and sets in the same order each time."""
    path = os.pathsep.join([str(tree / "src"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}


def _git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=ROOT, check=True)


def _name(program: Program) -> str:
    return program.__name__


def _line(each: Counted) -> str:
    return _LINE.format(each.what, *each.cells)


if __name__ == "__main__":
    main()
