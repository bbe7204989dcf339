"""How long small epochs take with the Spark that is installed: `python benchmarks/small_epochs.py`.

A program of two levels, with 3 subtasks on two cores, reads one file of ten rows in each epoch. Prints the milliseconds from the
commit of one epoch to that of the next, for the table in `docs/benchmarks/index.md`. For another Spark, run it by the
Python of that: `.cache/spark-3.5/bin/python benchmarks/small_epochs.py`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
from pathlib import Path
from typing import Final

import pyspark

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.spark import get_session

_WARM_UP: Final = 15
_ROWS: Final = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--connect", action="store_true", help="with a server of Spark Connect")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        gaps = measured(Path(folder), given.epochs, on_connect=given.connect)
    median, last = statistics.median(gaps), statistics.quantiles(gaps, n=20)[-1]
    kind = ", Connect" if given.connect else ""
    print(
        f"Spark {pyspark.__version__}{kind}: median {median:.0f} ms, p95 {last:.0f} ms, {len(gaps)} gaps"
    )


def measured(folder: Path, epochs: int, *, on_connect: bool) -> list[float]:
    """Run the job, and return the milliseconds between its epochs."""
    configuration = (
        Configuration()
        .set_string("execution.trigger", "available-now")
        .set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
        .set_string("execution.checkpointing.num-retained", str(epochs + _WARM_UP))
        .set_string("spark.remote" if on_connect else "spark.master", "local[2]")
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(3)
    reader = get_session(configuration).readStream.schema("item string, pieces long")
    frame = reader.option("maxFilesPerTrigger", 1).json(written(folder / "input", epochs))
    counts = env.from_data_frame(frame).key_by("item").map(lambda row: (row.item, row.pieces))
    with counts.execute_and_collect("small epochs") as results:
        for _ in results:
            pass
    files = (folder / "checkpoints" / "epochs").iterdir()
    commits = sorted(file.stat().st_mtime_ns / 1e6 for file in files)
    return [later - earlier for earlier, later in itertools.pairwise(commits[_WARM_UP:])]


def written(folder: Path, epochs: int) -> str:
    """Write a file for each epoch, and return the folder."""
    folder.mkdir()
    for number in range(epochs + _WARM_UP):
        rows = [{"item": f"item {row}", "pieces": number} for row in range(_ROWS)]
        (folder / f"{number:05}.json").write_text("\n".join(map(json.dumps, rows)))
    return str(folder)


if __name__ == "__main__":
    main()
