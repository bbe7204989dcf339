from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import pytest

from penstock.common import Row
from penstock.common.time import Duration
from penstock.common.watermark_generator import (
    BoundedOutOfOrderness,
    WatermarkGenerator,
    WatermarkOutput,
)
from penstock.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from penstock.errors import ColumnNotFoundError, InvalidArgumentError

SECOND = Duration.of_seconds(1)


class Assigner(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        return -1 if record_timestamp is None else record_timestamp + len(value)


class Own(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def test_no_watermarks_is_a_value() -> None:
    strategy = WatermarkStrategy.no_watermarks()

    assert strategy == WatermarkStrategy.no_watermarks() == pickle.loads(pickle.dumps(strategy))
    assert hash(strategy) == hash(WatermarkStrategy.no_watermarks())
    assert strategy != "no_watermarks"
    assert repr(strategy) == "WatermarkStrategy.no_watermarks()"
    assert strategy.generator is None


def test_strategies_are_equal_if_they_say_the_same() -> None:
    bounded = WatermarkStrategy.for_bounded_out_of_orderness
    assert bounded(SECOND) == bounded(Duration.of_millis(1000))
    assert hash(bounded(SECOND)) == hash(bounded(Duration.of_millis(1000)))
    assert bounded(Duration.of_millis(0)) == WatermarkStrategy.for_monotonous_timestamps()
    assert bounded(SECOND) != bounded(Duration.of_seconds(2))
    assert bounded(SECOND) != bounded(SECOND).with_idleness(SECOND)
    assert bounded(SECOND) != bounded(SECOND).with_timestamp_assigner(max)
    assert pickle.loads(pickle.dumps(bounded(SECOND))) == bounded(SECOND)


@pytest.mark.parametrize(
    ("strategy", "delay"),
    [
        (WatermarkStrategy.for_monotonous_timestamps(), 0),
        (WatermarkStrategy.for_bounded_out_of_orderness(SECOND), 1000),
    ],
)
def test_every_split_gets_a_generator_of_its_own(strategy: WatermarkStrategy, delay: int) -> None:
    assert strategy.generator is not None
    one, other = strategy.generator(), strategy.generator()
    assert isinstance(one, BoundedOutOfOrderness)
    assert isinstance(other, BoundedOutOfOrderness)
    one.on_block([5000])
    assert (one.watermark, other.watermark) == (4999 - delay, -(2**63))


def test_a_generator_may_be_the_users_own() -> None:
    assert WatermarkStrategy.for_generator(Own).generator is Own
    for wrong in (None, Own(), "Own"):
        with pytest.raises(InvalidArgumentError, match="makes no generator"):
            WatermarkStrategy.for_generator(wrong)  # type: ignore[arg-type]


def test_an_assigner_is_a_function_or_an_object() -> None:
    strategy = WatermarkStrategy.no_watermarks()
    assert strategy.with_timestamp_assigner(Assigner()) is strategy
    assert strategy.timestamp_assigner is not None
    assert strategy.timestamp_assigner("abc", 4) == 7
    strategy.with_timestamp_assigner(lambda value, timestamp: 9)
    assert strategy.timestamp_assigner("abc", None) == 9
    for wrong in (None, 5, "time"):
        with pytest.raises(InvalidArgumentError, match="tells no timestamps"):
            strategy.with_timestamp_assigner(wrong)  # type: ignore[arg-type]


def test_idleness_is_a_time() -> None:
    strategy = WatermarkStrategy.no_watermarks()
    assert strategy.idle_timeout is None
    assert strategy.with_idleness(SECOND).idle_timeout == 1000
    for wrong in (Duration.of_millis(0), Duration.of_millis(-1), 5, None):
        with pytest.raises(InvalidArgumentError, match="idle"):
            strategy.with_idleness(wrong)  # type: ignore[arg-type]


def test_alignment_has_a_group_and_a_drift() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assert strategy.with_watermark_alignment("group", SECOND).alignment_group == "group"
    strategy.with_watermark_alignment("group", SECOND, update_interval=SECOND)
    with pytest.raises(InvalidArgumentError, match="drift"):
        strategy.with_watermark_alignment("group", Duration.of_millis(-1))


@pytest.mark.parametrize("wrong", [Duration.of_millis(-1), 5, None, "5 s"])
def test_lateness_is_a_time(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="lateness"):
        WatermarkStrategy.for_bounded_out_of_orderness(wrong)


class Event(NamedTuple):
    time: int


@pytest.mark.parametrize("record", [{"time": 7}, Row(time=7), Event(7)])
def test_a_timestamp_column_is_read_of_dicts_rows_and_objects(record: Any) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("time")
    assert strategy.timestamp_assigner is not None
    assert strategy.timestamp_assigner(record, None) == 7


@pytest.mark.parametrize("record", [{"at": 7}, Row(at=7), (7,), 7])
def test_a_timestamp_column_that_is_missing_is_named(record: Any) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_column("time")
    assert strategy.timestamp_assigner is not None
    with pytest.raises(ColumnNotFoundError, match="'time' tells the time of the record"):
        strategy.timestamp_assigner(record, None)
