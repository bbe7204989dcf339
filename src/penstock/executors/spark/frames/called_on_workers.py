"""Calls a function on workers: for what only they can do, or tell."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.errors import PenstockError

T = TypeVar("T")


def called_on_workers(rows: DataFrame, call: Callable[[], T]) -> list[T]:
    """Have each task call a function, and return what it returns.

    Args:
        rows: Tells the tasks: those of its partitions that have rows, few enough for one batch.
        call: The function, of which Python has to be able to pickle the results. Workers have penstock.

    Raises:
        PenstockError: What the function has raised.
        FileNotFoundError: That too.
    """

    def call_and_tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            told: tuple[T | None, Exception | None]
            try:
                told = call(), None
            except (PenstockError, FileNotFoundError) as error:
                told = None, error
            yield pa.RecordBatch.from_pydict({"told": [pickle.dumps(told)]})

    found = []
    for row in rows.mapInArrow(call_and_tell, "told binary").collect():
        result, error = pickle.loads(row.told)
        if error is not None:
            raise error
        found.append(result)
    return found
