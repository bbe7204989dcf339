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
import time
from pathlib import Path
from typing import Any, Final

import pyspark

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.executors.driver.epoch_runner import EpochRunner
from penstock.spark import get_session

_WARM_UP: Final = 15
_ROWS: Final = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=100)
    epochs = parser.parse_args().epochs
    with tempfile.TemporaryDirectory() as folder:
        gaps = measured(Path(folder), epochs)
    median, last = statistics.median(gaps), statistics.quantiles(gaps, n=20)[-1]
    print(
        f"Spark {pyspark.__version__}: median {median:.0f} ms, p95 {last:.0f} ms, {len(gaps)} gaps"
    )


def measured(folder: Path, epochs: int) -> list[float]:
    """Run the job, and return the milliseconds between its epochs."""
    commits: list[float] = []
    run = EpochRunner.run

    def noting(runner: EpochRunner, *args: Any, **options: Any) -> Any:
        found = run(runner, *args, **options)
        commits.append(time.perf_counter() * 1000)
        return found

    configuration = (
        Configuration()
        .set_string("execution.epoch.available-now", "true")
        .set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
        .set_string("spark.master", "local[2]")
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(3)
    reader = get_session(configuration).readStream.schema("item string, pieces long")
    frame = reader.option("maxFilesPerTrigger", 1).json(written(folder / "input", epochs))
    counts = env.from_data_frame(frame).key_by("item").map(lambda row: (row.item, row.pieces))
    EpochRunner.run = noting  # type: ignore[assignment,method-assign]
    try:
        with counts.execute_and_collect("small epochs") as results:
            for _ in results:
                pass
    finally:
        EpochRunner.run = run  # type: ignore[method-assign]
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
