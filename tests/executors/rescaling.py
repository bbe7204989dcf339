"""Jobs that are stopped by an error in mid-stream and started again as other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from penstock.common import Configuration, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import PenstockError
from penstock.testing import TestingSource

Build = Callable[[StreamExecutionEnvironment, DataStream], DataStream]
"""Builds a program upon the stream of its input."""


class Time(TimestampAssigner):
    """Takes the second field of a record as its timestamp."""

    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        return int(value[1])


TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Time())


def new_environment(
    parallelism: int, location: Path | None = None, backend: str = "hashmap", **settings: str
) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.target", "local")
    configuration.set_string("state.backend.type", backend)
    if location is not None:
        configuration.set_string("execution.checkpointing.dir", str(location))
    for key, value in settings.items():
        configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(
        parallelism
    )


class Bomb:
    """Lets all records pass, and raises at the first of an epoch that is not to be run.

    Args:
        number: The number of the epoch; None to let all records pass.
    """

    def __init__(self, number: int | None) -> None:
        self._number = number

    def __call__(self, marked: tuple[int, Any]) -> list[Any]:
        epoch, value = marked
        if epoch == self._number:
            raise RuntimeError("the end of this run")
        return [] if value is None else [value]


def input_of(
    environment: StreamExecutionEnvironment,
    cuts: Sequence[Sequence[Any]],
    until: int | None,
    name: str = "input",
) -> DataStream:
    """Return the stream of records that come in epochs; the job dies in epoch `until`."""
    marked = [[(number, value) for value in (None, *cut)] for number, cut in enumerate(cuts)]
    source = environment.from_source(TestingSource(marked), WatermarkStrategy.no_watermarks(), name)
    return source.uid(name).flat_map(Bomb(until)).uid(f"bomb of {name}")


def run(environment: StreamExecutionEnvironment, stream: DataStream) -> list[Any]:
    """Run a program until it ends or dies, and return its results."""
    found: list[Any] = []
    with stream.execute_and_collect() as results:
        try:
            found.extend(results)
        except PenstockError as error:
            if "the end of this run" not in str(error):
                raise
    return found


def rescaled(
    build: Build,
    cuts: Sequence[Sequence[Any]],
    location: Path,
    backend: str,
    stages: Sequence[tuple[int, int | None]] = ((2, 2), (5, 4), (1, None)),
    **settings: str,
) -> list[Any]:
    """Run a program in stages and return all results.

    Args:
        build: Builds it.
        cuts: The records of each epoch.
        location: The job's checkpoint location.
        backend: The state backend.
        stages: The parallelism of each run, and the epoch in which it dies.
        **settings: See `new_environment`.
    """
    found: list[Any] = []
    for parallelism, until in stages:
        environment = new_environment(parallelism, location, backend, **settings)
        stream = input_of(environment, cuts, until)
        found += run(environment, build(environment, stream))
    return found


def at_once(build: Build, cuts: Sequence[Sequence[Any]], parallelism: int = 3) -> list[Any]:
    """Run a program from its beginning to its end, and return all results."""
    environment = new_environment(parallelism)
    return run(environment, build(environment, input_of(environment, cuts, None)))
