from __future__ import annotations

import math
import pickle
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidArgumentError
from penstock.runtime.gauges import Reading
from penstock.runtime.metrics import (
    Counter,
    Distribution,
    Meter,
    MetricGroup,
    MetricName,
    OperatorMetrics,
    Rate,
)
from penstock.runtime.timestamp import MIN_TIMESTAMP

steps = st.lists(st.tuples(st.booleans(), st.integers(-5, 5)), max_size=5)


@given(st.lists(steps, max_size=5))
def test_a_counter_gives_each_epoch_what_it_counted(epochs: list[list[tuple[bool, int]]]) -> None:
    counter = Counter()
    total = 0
    for epoch in epochs:
        gained = 0
        for is_up, n in epoch:
            (counter.inc if is_up else counter.dec)(n)
            gained += n if is_up else -n
        total += gained

        assert counter.get_count() == total
        assert counter.take() == gained


def test_a_counter_counts_by_one() -> None:
    counter = Counter()
    counter.inc()
    counter.inc()
    counter.dec()

    assert counter.get_count() == 1


class TestMetricGroup:
    def test_names_metrics_by_their_groups(self) -> None:
        group = MetricGroup()
        group.counter("a").inc(1)
        group.add_group("cache").counter("a").inc(2)
        group.add_group("cache", "level").counter("a").inc(3)
        group.add_group("cache").add_group("level").counter("b").inc(4)
        group.add_group("cache").gauge("size", lambda: 5)

        assert group.take() == {
            "a": 1,
            "cache.a": 2,
            "cache.level.a": 3,
            "cache.level.b": 4,
            "cache.size": Reading(5),
        }

    def test_gives_the_metric_that_has_the_name(self) -> None:
        group = MetricGroup()

        assert group.counter("a") is group.counter("a")
        assert group.add_group("b") is group.add_group("b")
        assert group.add_group("b", "c") is group.add_group("b").add_group("c")
        assert group.meter("a") is group.meter("a", 5)
        assert group.add_group("b") is not group.add_group("c")

    def test_asks_gauges_when_an_epoch_ends(self) -> None:
        sizes = iter([1, 2])
        group = MetricGroup()
        group.gauge("size", lambda: next(sizes))

        assert [group.take(), group.take()] == [{"size": Reading(1)}, {"size": Reading(2)}]

    def test_gives_counts_once(self) -> None:
        group = MetricGroup()
        group.add_group("a").counter("hits").inc(3)

        assert [group.take(), group.take()] == [{"a.hits": 3}, {"a.hits": 0}]


def test_an_operator_counts_anew_in_each_epoch_and_keeps_its_watermarks() -> None:
    metrics = OperatorMetrics()
    assert (metrics.input_watermark, metrics.output_watermark) == (MIN_TIMESTAMP, MIN_TIMESTAMP)
    metrics.records_in, metrics.records_out = 5, 6
    metrics.input_watermark, metrics.output_watermark = 7, 8

    metrics.begin_epoch()

    assert (metrics.records_in, metrics.records_out) == (0, 0)
    assert (metrics.input_watermark, metrics.output_watermark) == (7, 8)


@settings(max_examples=40)
@given(st.lists(st.floats(0.001, 10**7), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_right_to_within_a_tenth(values: list[float], share: float) -> None:
    measured = Distribution()
    for value in values:
        measured.update(value)
    exact = sorted(values)[math.ceil(share * len(values) - 1e-9) - 1]
    assert 0.9 * exact <= measured.percentile(share) <= 1.11 * exact


def test_a_distribution_takes_any_number() -> None:
    measured = Distribution()
    for value in (math.inf, 10**400, math.nan, -math.inf):
        measured.update(value)
    assert measured.summary()["max"] == sys.float_info.max
    assert measured.percentile(1.0) == pytest.approx(sys.float_info.max, rel=0.1)


def test_distributions_add_up_and_are_taken_once() -> None:
    group = MetricGroup()
    measured = group.distribution("latency")
    for value in (1, 0, -3, 100):
        measured.update(value)
    first = group.take_counts()["latency"]
    measured.update(1000)
    second = group.take_counts()["latency"]
    assert (first.summary()["max"], second.summary()["max"]) == (100, 1000)
    both = first + second
    assert both.summary()["max"] == 1000
    assert both.percentile(0.4) < 0.01
    assert Distribution().summary() == {"p50": 0.0, "p95": 0.0, "p99": 0.0, "max": 0.0}
    assert group.distribution("latency") is measured


marks = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 5)), max_size=12)


@given(marks, st.integers(0, 2))
def test_a_rate_is_that_of_the_last_span_of_all_epochs_and_subtasks(
    events: list[tuple[int, int]], cuts: int
) -> None:
    events.sort()
    now = 0.0
    meters = [Meter(12, lambda: now) for _ in range(2)]
    total = Rate(12)
    for number, (at, value) in enumerate(events):
        now = float(at)
        meters[number % 2].mark_event(value)
        if number % 3 == cuts:
            for meter in meters:
                total += meter.take()
    now = 100.0
    for meter in meters:
        total += meter.take()

    count = sum(value for _, value in events)
    last = sum(value for at, value in events if at >= 100 - 12)
    assert total.summary() == {"count": count, "rate": round(last / 12, 3)}
    assert sum(meter.get_count() for meter in meters) == count


def test_a_rate_falls_when_no_more_events_come() -> None:
    now = 100.0
    meter = Meter(60, lambda: now)
    meter.mark_event(60)
    total = meter.take()
    assert total.summary()["rate"] == 1.0
    now = 162.5
    total += meter.take()
    assert total.summary() == {"count": 60, "rate": 0.5}
    now = 165.0
    assert (total + meter.take()).summary() == {"count": 60, "rate": 0.0}


def test_a_meter_without_a_time_span_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="rate cannot be that of 0 seconds"):
        MetricGroup().meter("a", 0)


def test_a_full_name_knows_its_groups_wherever_it_is_sent() -> None:
    group = MetricGroup().add_group("cache").add_group("shard", "7.1")
    group.counter("rows.read").inc()
    group.gauge("size", lambda: 5)

    sent = pickle.loads(pickle.dumps(group.take()))

    assert sent == {"cache.shard.7.1.rows.read": 1, "cache.shard.7.1.size": Reading(5)}
    for name in sent:
        assert isinstance(name, MetricName)
        assert name.groups == ("cache", "shard", "7.1")
        assert name.logical_groups == ("cache", "shard")
        assert name.variables == (("shard", "7.1"),)
    assert [name.name for name in sent] == ["rows.read", "size"]


def test_a_name_without_groups_is_a_plain_text() -> None:
    assert type(MetricGroup().full_name("rows")) is str
    assert MetricName.of("rows").groups == ()
    assert MetricName.of("cache.rows").groups == ("cache",)


def test_a_group_is_the_same_whether_it_is_asked_for_as_a_value_or_not() -> None:
    top = MetricGroup()

    assert top.add_group("shard", "7") is top.add_group("shard").add_group("7")
