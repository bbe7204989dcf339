"""Profiles of streaming jobs on Spark."""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace

import pytest
from tests.executors.spark.conftest import StreamOf

from penstock.common.cost import Cost
from penstock.datastream import StreamExecutionEnvironment
from penstock.executors.spark.runs.streaming import StreamingRun

pytestmark = pytest.mark.spark


def test_the_epochs_of_a_stream(env: StreamExecutionEnvironment, stream_of: StreamOf) -> None:
    rows = stream_of("value int", [{"value": 1}], [{"value": 2}])
    env.from_data_frame(rows).map(lambda row: row["value"]).add_sink(lambda _: None)
    profile = env.explain(analyze=True).profile
    assert profile is not None
    # The last one ends the input, and is no micro-batch.
    assert [epoch.number for epoch in profile.epochs] == [0, 1, 2]
    assert [Cost.TRIGGER in epoch.times for epoch in profile.epochs] == [True, True, False]
    assert all(epoch.times[Cost.PLANNING] > 0 for epoch in profile.epochs)
    assert profile.tasks >= 3
    assert profile.total == sum(row.total for row in (*profile.operators, *profile.levels)) + sum(
        profile.driver.values()
    )


def test_triggers_are_of_epochs_though_not_each_is_a_micro_batch() -> None:
    found: list[tuple[int, float]] = []
    run = object.__new__(StreamingRun)
    run._runner = SimpleNamespace(profile=SimpleNamespace(add_triggers=found.extend))  # type: ignore[assignment]
    run._epochs = OrderedDict({5: 7})
    times = {"triggerExecution": 1500, "addBatch": 1000}
    progress = [{"batchId": 5, "durationMs": times}, {"batchId": 6, "durationMs": times}]
    run._note_triggers(SimpleNamespace(recentProgress=progress))  # type: ignore[arg-type]

    assert found == [(7, 1.5)]
