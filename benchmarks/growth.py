"""How penstock grows: throughput and epoch time against one thing at a time that gets more.

    python benchmarks/growth.py                   all curves
    python benchmarks/growth.py --quick           the same with fewer points and epochs
    python benchmarks/growth.py --sweep keys      one curve
    python benchmarks/growth.py --json FILE       the figures as JSON too

keys         counting 100,000 records an epoch in RocksDB, among ever more keys
parallelism  counting 400,000 records an epoch by 1,000 keys, with ever more Spark tasks at once
subtasks     counting 100,000 records an epoch on two cores, with ever more subtasks on each
levels       20,000 records an epoch through ever more exchanges
chain        500,000 records an epoch through ever more maps in one chain
panes        100,000 events an epoch, in windows that slide by a second and hold ever more seconds
epoch-size   counting by 1,000 keys, with ever more records an epoch
calls        10,000 calls of 10 ms an epoch, ever more of them at once

An epoch's time is measured from its begin to its end, on Spark by Spark's own account, after some that
are left out. What every job came to, as count and sum, is compared with what it has to be. The suite
draws the curves: python benchmarks/suite.py --only growth
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.curves.measure import LEAST_EPOCHS, Point, Sweep
from benchmarks.curves.report import SweepFigures, Taken, figures_of
from benchmarks.curves.sweeps import SWEEPS
from benchmarks.kit.machine import commit, facts

from penstock.errors import NoCheckpointLocationWarning

EPOCHS = 7

_LINE = "  {:>12}{:>12}{:>14}  {:<26}{:>12}  {}"
_HEAD = ("", "records", "records/s", "least to most", "epoch, ms", "least to most")


def measured(sweep: Sweep, taken: Taken) -> SweepFigures:
    """Measures a curve, and shows its points as they come."""
    print(f"\n{sweep.name} ({sweep.where})\n" + _LINE.format(*_HEAD), flush=True)
    points = []
    values, epochs = (sweep.quick, LEAST_EPOCHS) if taken["is_quick"] else (sweep.values, EPOCHS)
    for point in sweep.points(values, epochs):
        print(_line(point), flush=True)
        points.append(point)
    return figures_of(sweep, points, taken)


def _line(point: Point) -> str:
    found = point.figures()
    rates, times = found["records_per_second"], found["epoch_ms"]
    return _LINE.format(
        f"{point.x:,}",
        f"{point.records:,}",
        f"{rates['median']:,.0f}",
        f"{rates['min']:,.0f} to {rates['max']:,.0f}",
        f"{times['median']:,.1f}",
        f"{times['min']:,.1f} to {times['max']:,.1f}",
    )


def main() -> None:
    arguments = parser().parse_args()
    warnings.simplefilter("ignore", NoCheckpointLocationWarning)
    taken: Taken = {"commit": commit(), "machine": facts(), "is_quick": arguments.quick}
    sweeps = [measured(sweep, taken) for sweep in SWEEPS if arguments.sweep in (None, sweep.name)]
    if arguments.json:
        arguments.json.write_text(json.dumps({"sweeps": sweeps}, indent=2) + "\n")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--quick", action="store_true", help="measure fewer points and epochs")
    made.add_argument("--sweep", choices=[sweep.name for sweep in SWEEPS], help="one curve")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return made


if __name__ == "__main__":
    main()
