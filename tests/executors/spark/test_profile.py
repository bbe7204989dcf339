from __future__ import annotations

import pytest
from tests.executors.spark.conftest import StreamOf

from penstock.common.cost import Cost
from penstock.datastream import StreamExecutionEnvironment

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
