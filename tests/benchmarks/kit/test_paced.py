from __future__ import annotations

import pytest

from penstock.executors.spark.versions.features import Feature, has

if not has(Feature.PYTHON_TICKS):
    pytest.skip("this Spark has no such sources", allow_module_level=True)

from benchmarks.kit.paced import PacedReader, PacedSource
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

START = 1_700_000_000_123


def test_reads_every_record_once_and_each_when_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([START, START + 9, START + 9, START + 24])
    monkeypatch.setattr("time.time_ns", lambda: next(clock) * 1_000_000)
    reader = PacedSource({"rate": "500", "partitions": "2"}).streamReader(StructType())
    begin = reader.initialOffset()
    middle = reader.latestOffset(begin, ReadAllAvailable())
    assert reader.latestOffset(middle, ReadAllAvailable()) == middle
    end = reader.latestOffset(middle, ReadAllAvailable())

    assert values(reader, begin, middle) == [[0, 2, 4], [1, 3]]
    assert values(reader, middle, end) == [[5, 7, 9, 11], [6, 8, 10, 12]]
    assert values(reader, begin, middle, "created")[0] == [START, START + 4, START + 8]


def values(
    reader: PacedReader, start: dict[str, int], end: dict[str, int], column: str = "value"
) -> list[list[int]]:
    return [
        [value for batch in reader.read(share) for value in batch.column(column).to_pylist()]
        for share in reader.partitions(start, end)
    ]
