"""Random programs, run by PyFlink and by penstock, and their results compared.

    python benchmarks/differential.py                    a hundred programs that nobody has seen
    python benchmarks/differential.py --seeds 0-499      those of these numbers
    python benchmarks/differential.py --spark            on Spark as well
    python benchmarks/differential.py --record           writes PyFlink's results of the fixed programs anew

A number gives a program and its input, see `flink_programs/programs.py`: steps of all kinds, each with what order
it needs, so that the results are certain, whatever a scheduler does. They are compared in order where Flink
promises one, else as multisets. Both sides run the same files, with another name in their imports; several
programs are one job of penstock's, as a job takes longer to start than to run. PyFlink gets one at a time: jobs of
many shapes at once hang there. A program that does not end there within `--within` seconds is tried once more, by
another PyFlink; if it hangs again, that is told, and is no difference.

The fixed programs and PyFlink's results are in `flink_programs/recorded.json`;
`tests/benchmarks/test_differential.py` runs them without PyFlink. What differs is printed at once, as a line of JSON,
and ends the script with status 1.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.flink_programs import kinds, programs
from benchmarks.flink_programs.programs import Program
from benchmarks.kit.peers import PeerHung, PyFlink

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment

RECORDED: Final = Path(__file__).parent / "flink_programs" / "recorded.json"
TOGETHER: Final = 10
"""How many programs are one job of penstock's."""

T = TypeVar("T")
Results = list[Any]
Run = Callable[[dict[str, Any]], Results]
"""Runs a job of several programs, and returns all results, each with its program's place."""


class ProgramsFailed(Exception):
    """A job failed; the message says why."""


class ProgramHung(ProgramsFailed):
    """A program did not end on PyFlink in time, twice; the message says what time."""


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with PyFlink("process", "flink_programs.pyflink_job") as pyflink:
        on_pyflink = asked(pyflink, options.within)
        if options.record:
            record(on_pyflink)
            return
        several = [programs.program(seed) for seed in options.seeds or fresh()]
        sides = {target: on_penstock(target) for target in targets(spark=options.spark)}
        tally = Tally(len(several))
        compare(several, on_pyflink, sides, tally)
    print(tally)
    sys.exit(1 if tally.different else 0)


def targets(*, spark: bool) -> list[str]:
    return ["local", "spark"] if spark else ["local"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=numbers)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--within", type=float, default=60, metavar="SECONDS")
    return parser.parse_args()


def numbers(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def fresh() -> range:
    """Return numbers that no run before this one had."""
    first = int(time.time()) * 1000
    return range(first, first + 100)


def record(on_pyflink: Run) -> None:
    """Write the fixed programs with what PyFlink gives for them now."""
    several = [each["program"] for each in json.loads(RECORDED.read_text())]
    found = [alone(program, on_pyflink) for program in several]
    for answer in found:
        if isinstance(answer, str):
            raise ProgramsFailed(answer)
    lines = [
        json.dumps({"program": program, "results": answer}, separators=(",", ":"))
        for program, answer in zip(several, found, strict=True)
    ]
    RECORDED.write_text("[\n" + ",\n".join(lines) + "\n]\n")


class Tally:
    """What came of the programs so far, as a line that moves; where it cannot, it is one for each job.

    Args:
        count: How many programs there are.
        out: Where to show it.
    """

    def __init__(self, count: int, out: TextIO | None = None) -> None:
        self._count = count
        self._out = out or sys.stderr
        self.asked = self.compared = self.different = self.hung = 0

    def __str__(self) -> str:
        return (
            f"{self.compared} of {self._count} programs compared, {self.different} differences, "
            f"{self.hung} hung on PyFlink"
        )

    def show(self, *, whole: bool = False) -> None:
        """Show the line.

        Args:
            whole: Whether a job ended.
        """
        if self._out.isatty():
            self._write(f"\r\033[K{self} ({self.asked} run there)")
        elif whole:
            self._write(f"{self}\n")

    def tell(self, found: dict[str, Any]) -> None:
        """Print what was found, before the line goes on."""
        if self._out.isatty():
            self._write("\r\033[K")
        print(json.dumps(found), flush=True)
        self.show()

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def compare(several: list[Program], on_pyflink: Run, sides: dict[str, Run], tally: Tally) -> None:
    """Run programs on PyFlink and on penstock's sides, and tell of each that differs or hangs, as soon as it does."""
    for places in jobs(several, TOGETHER):
        wanted: list[tuple[Program, Results | str]] = []
        for program in (several[place] for place in places):
            tally.show()
            try:
                wanted.append((program, alone(program, on_pyflink)))
            except ProgramHung as error:
                tally.hung += 1
                tally.tell({"hung": str(error), "program": program})
            tally.asked += 1
        for target, run in sides.items():
            found = answers([program for program, _ in wanted], run)
            for (program, one), other in zip(wanted, found, strict=True):
                if one != other:
                    tally.different += 1
                    tally.tell(
                        {"target": target, "program": program, "pyflink": one, "penstock": other}
                    )
        tally.compared += len(wanted)
        tally.show(whole=True)


def answers(several: list[Program], run: Run) -> list[Results | str]:
    """Return for each program its results, or the error that it ends in."""
    found: dict[int, Results | str] = {}
    for places in jobs(several, TOGETHER):
        try:
            found |= zip(places, together([several[place] for place in places], run), strict=True)
        except ProgramsFailed:
            for place in places:
                found[place] = alone(several[place], run)
    return [found[place] for place in range(len(several))]


def jobs(several: list[Program], at_once: int) -> Iterator[list[int]]:
    """Yield the places of programs that can be one job."""
    settings = [(program["mode"], program["parallelism"]) for program in several]
    for setting in sorted(set(settings)):
        fitting = [place for place, own in enumerate(settings) if own == setting]
        yield from parts(fitting, at_once)


def parts(found: list[T], size: int) -> list[list[T]]:
    return [found[start : start + size] for start in range(0, len(found), size)]


def alone(program: Program, run: Run) -> Results | str:
    try:
        return together([program], run)[0]
    except ProgramHung:
        raise
    except ProgramsFailed as error:
        return str(error)


def together(several: list[Program], run: Run) -> list[Results]:
    """Return the results of each of several programs that are one job."""
    order = {
        "mode": several[0]["mode"],
        "parallelism": several[0]["parallelism"],
        "programs": [program["steps"] for program in several],
        "inputs": [[programs.records(seed) for seed in program["inputs"]] for program in several],
    }
    results: list[Results] = [[] for _ in several]
    for place, result in run(order):
        results[place].append(result)
    return [
        programs.plain(found, ordered=program["ordered"])
        for program, found in zip(several, results, strict=True)
    ]


def asked(pyflink: PyFlink, within: float) -> Run:
    """Return what runs programs on PyFlink; what takes longer than that many seconds gets a second try."""

    def run(order: dict[str, Any]) -> Results:
        try:
            answer = pyflink.ask(within, **order)
        except PeerHung:
            try:
                answer = pyflink.ask(within, **order)
            except PeerHung as error:
                raise ProgramHung(str(error)) from error
        if "error" in answer:
            raise ProgramsFailed(answer["error"])
        results: Results = answer["results"]
        return results

    return run


def on_penstock(target: str, spark: Any = None) -> Run:
    """Return what runs programs on penstock."""
    configuration = Configuration().set_string("execution.target", target)

    def run(order: dict[str, Any]) -> Results:
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
        try:
            return list(kinds.build(env, **order).execute_and_collect())
        except Exception as error:
            raise ProgramsFailed(f"{type(error).__name__}: {error}") from error

    return run


if __name__ == "__main__":
    main()
