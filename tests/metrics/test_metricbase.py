from __future__ import annotations

from typing import Any

from penstock.datastream import MapFunction, RuntimeContext
from penstock.metrics import Counter, Distribution, Meter, Metric, MetricGroup
from penstock.testing import local_environment


class Measuring(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self._metrics = (group.counter("c"), group.meter("m", 3600), group.distribution("d"))
        of_shard = group.add_group("shard", "7")
        of_shard.gauge("size", lambda: 5)
        self._of_shard = of_shard.meter("m", 100)
        assert isinstance(group, MetricGroup)
        assert isinstance(of_shard, MetricGroup)
        for metric, kind in zip(self._metrics, (Counter, Meter, Distribution), strict=True):
            assert isinstance(metric, kind)
            assert isinstance(metric, Metric)

    def map(self, value: int) -> int:
        counter, meter, distribution = self._metrics
        counter.inc(value)
        meter.mark_event(value)
        distribution.update(value)
        self._of_shard.mark_event()
        return meter.get_count()


def test_what_subtasks_measure_is_put_together() -> None:
    env = local_environment()
    stream = env.from_collection([10, 20, 30, 40]).rebalance()
    stream.map(Measuring()).set_parallelism(2).add_sink(lambda value: None)

    found: dict[str, Any] = env.execute().get_all_accumulator_results()

    assert found.pop("d")["max"] == 40
    assert found == {
        "c": 100,
        "m": {"count": 100, "rate": 0.028},
        "shard.7.size": 5,
        "shard.7.m": {"count": 4, "rate": 0.04},
    }
