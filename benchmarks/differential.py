"""Random programs, run by PyFlink and by penstock, and their results compared.

    python benchmarks/differential.py                    a hundred programs that nobody has seen
    python benchmarks/differential.py --seeds 0-499      those of these numbers
    python benchmarks/differential.py --spark            on Spark as well
    python benchmarks/differential.py --record           writes PyFlink's results of the fixed programs anew

A number gives a program and its input, see `flink_programs/programs.py`: steps of all kinds, each with what order
it needs, so that the results are certain, whatever a scheduler does. They are compared in order where Flink
promises one, else as multisets. Both sides run the same files, with another name in their imports; several
programs are one job of penstock's, as a job takes longer to start than to run. PyFlink gets one at a time: jobs of
many shapes at once hang there.

The fixed programs and PyFlink's results are in `flink_programs/recorded.json`;
`tests/benchmarks/test_differential.py` runs them without PyFlink. What differs is printed as a line of JSON and
ends the script with status 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.flink_programs import kinds, programs
from benchmarks.flink_programs.programs import Program
from benchmarks.kit.peers import PyFlink

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


def main() -> None:
    options = arguments()
    with PyFlink("process", "flink_programs.pyflink_job") as pyflink:
        on_pyflink = asked(pyflink)
        if options.record:
            record(on_pyflink)
            return
        several = [programs.program(seed) for seed in options.seeds or fresh()]
        found = 0
        for part in parts(several, 100):
            for different in differences(part, on_pyflink, spark=options.spark):
                print(json.dumps(different), flush=True)
                found += 1
    print(f"{len(several)} programs, {found} differences")
    sys.exit(1 if found else 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=numbers)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--record", action="store_true")
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
    found = answers(several, on_pyflink, at_once=1)
    for answer in found:
        if isinstance(answer, str):
            raise ProgramsFailed(answer)
    lines = [
        json.dumps({"program": program, "results": answer}, separators=(",", ":"))
        for program, answer in zip(several, found, strict=True)
    ]
    RECORDED.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def differences(
    several: list[Program], on_pyflink: Run, *, spark: bool
) -> Iterator[dict[str, Any]]:
    wanted = answers(several, on_pyflink, at_once=1)
    for target in ("local", "spark") if spark else ("local",):
        found = answers(several, on_penstock(target))
        for program, one, other in zip(several, wanted, found, strict=True):
            if one != other:
                yield {"target": target, "program": program, "pyflink": one, "penstock": other}


def answers(several: list[Program], run: Run, *, at_once: int = TOGETHER) -> list[Results | str]:
    """Return for each program its results, or the error that it ends in."""
    found: dict[int, Results | str] = {}
    for places in jobs(several, at_once):
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


def asked(pyflink: PyFlink) -> Run:
    """Return what runs programs on PyFlink."""

    def run(order: dict[str, Any]) -> Results:
        answer = pyflink.ask(**order)
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
