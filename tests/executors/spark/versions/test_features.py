from __future__ import annotations

import pyspark
import pytest

from penstock.executors.spark.versions.features import (
    NEWEST,
    OLDEST,
    Feature,
    has,
    streaming_class,
)


@pytest.mark.parametrize(
    ("version", "count"), [("3.5.9", 0), ("4.0.1+vendor", 6), ("4.2.0.dev1", len(Feature))]
)
def test_a_version_has_what_came_with_it_or_before(
    version: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)

    assert sum(map(has, Feature)) == count


def test_a_version_that_says_nothing_has_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "vendor")

    assert all(map(has, Feature))


def test_what_every_version_has_or_none_is_no_feature() -> None:
    assert all(OLDEST < feature.since <= NEWEST for feature in Feature)


def test_a_class_is_where_a_version_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    assert streaming_class("X") == "org.apache.spark.sql.execution.streaming.X"
    monkeypatch.setattr(pyspark, "__version__", "4.1.0")
    assert streaming_class("X") == "org.apache.spark.sql.execution.streaming.checkpointing.X"
