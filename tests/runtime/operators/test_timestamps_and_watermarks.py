from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.programs import Harness

from penstock.common.time import Duration
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.errors import InvalidTimestampError
from penstock.runtime.exchange.elements import WatermarkStatus
from penstock.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from penstock.runtime.timestamp import MAX_TIMESTAMP


def own_time(value: Any, timestamp: int | None) -> Any:
    return value


def bounded() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    return strategy.with_timestamp_assigner(own_time)


def ready(strategy: WatermarkStrategy | None = None, **options: Any) -> Harness:
    return Harness(TimestampsAndWatermarksOperator(strategy or bounded(), 200), **options)


def test_gives_records_timestamps_and_the_stream_watermarks() -> None:
    harness = ready()
    harness.process([10, 30, 20], [1, 2, 3], ["a", "b", "c"])
    harness.operator.flush()

    [block] = harness.output.blocks()
    assert (block.values, block.timestamps, block.keys) == (
        [10, 30, 20],
        [10, 30, 20],
        ["a", "b", "c"],
    )
    assert harness.output.log[1:] == [("watermark", 24)]


def test_lets_no_other_watermark_and_no_status_pass() -> None:
    harness = ready()
    harness.operator.process_watermark(50)
    harness.operator.process_status(WatermarkStatus.IDLE)
    assert harness.output.log == []
    harness.operator.process_watermark(MAX_TIMESTAMP)
    assert harness.output.log == [("watermark", MAX_TIMESTAMP)]


def test_says_nothing_after_the_last_watermark() -> None:
    harness = ready()
    harness.process([10])
    harness.operator.process_watermark(MAX_TIMESTAMP)
    harness.operator.flush()

    assert [entry for entry in harness.output.log if entry[0] != "main"] == [
        ("watermark", MAX_TIMESTAMP)
    ]


def test_makes_no_watermarks_in_batch_mode_but_timestamps() -> None:
    harness = ready(batch=True)
    harness.process([10])
    harness.operator.flush()

    assert harness.output.records() == [(10, 10)]
    assert len(harness.output.log) == 1


def test_takes_its_state_along() -> None:
    here, there = ready(), ready()
    here.process([30])
    here.operator.flush()
    there.operator.restore(here.operator.snapshot())
    there.begin_epoch()
    there.process([20, 40])
    there.operator.flush()

    assert there.output.log[1:] == [("watermark", 34)]


def test_forgets_what_an_epoch_left_that_is_run_again() -> None:
    harness = ready()
    harness.process([30])
    harness.operator.restore(None)
    harness.begin_epoch()
    harness.process([10])
    harness.operator.flush()

    assert harness.output.log[-1] == ("watermark", 4)


def test_merges_what_several_tasks_took_along() -> None:
    snapshots = []
    for value in (30, 40, 10):
        harness = ready()
        harness.process([value])
        harness.operator.flush()
        snapshots.append(harness.operator.snapshot())
    operator = TimestampsAndWatermarksOperator(bounded(), 200)
    merged = ready()
    merged.operator.restore(operator.merge_snapshots([one for one in snapshots if one]))
    merged.begin_epoch()
    merged.process([45])
    merged.operator.flush()

    # Of what was merged, nothing is emitted again.
    assert merged.output.log[1:] == [("watermark", 39)]


def test_wants_to_be_woken_when_it_may_turn_idle() -> None:
    harness = ready(bounded().with_idleness(Duration.of_millis(100)))
    assert harness.operator.wants_wake_ups
    assert harness.operator.next_wake_up() is None
    harness.operator.snapshot()
    assert harness.operator.next_wake_up() == 101
    assert not ready().operator.wants_wake_ups
    assert ready().operator.next_wake_up() is None


def test_names_itself_in_errors() -> None:
    with pytest.raises(InvalidTimestampError, match="'Mine' got 'x'"):
        ready(name="Mine").process(["x"])
