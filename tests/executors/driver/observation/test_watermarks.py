from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pytest
from tests.executors.driver.observation.virtual import SINCE_1970, VirtualJob
from tests.runtime.programs import ProgramBuilder

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.executors.driver.epoch_outcome import EpochOutcome
from penstock.executors.driver.observation.watermarks import (
    EventTime,
    WatermarkMakers,
    Watermarks,
)
from penstock.runtime.exchange.elements import ChannelWatermark
from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import Program
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.timestamp import MAX_TIMESTAMP

NONE, IDLE = ChannelWatermark(), ChannelWatermark(is_idle=True)
MINUTE = 60_000


def at(timestamp: int) -> ChannelWatermark:
    return ChannelWatermark(timestamp)


def program(parallelism: int = 1, *, apart: bool = False, later: bool = False) -> Program:
    """Return two sources, 0 and 1, that meet in a map; or each has its own; or in one behind a map of the first."""
    builder = ProgramBuilder()
    one = builder.source([[1]], parallelism=parallelism)
    other = builder.source([[1]])
    ship = RebalancePartitioner()
    if later:
        one = builder.vertex(MapOperator(str), inputs=[(one, ship)])
    if apart:
        builder.vertex(MapOperator(str), inputs=[(one, ship)])
        builder.vertex(MapOperator(str), inputs=[(other, ship)])
    else:
        builder.vertex(MapOperator(str), inputs=[(one, ship), (other, ship)])
    return builder.build()


def seen(
    made: Program,
    *found: Sequence[ChannelWatermark],
    makers: frozenset[int] = frozenset({0, 1}),
    later: Mapping[int, str] = MappingProxyType({}),
) -> tuple[int | None, tuple[str, ...]]:
    """Return what is seen where the subtasks of the chains, one after the other, have come so far."""
    job = VirtualJob(made)
    job.epoch(
        1.0,
        progress={
            (vertex, subtask): SubtaskProgress(outputs=((0, watermark),))
            for vertex, watermarks in enumerate(found)
            for subtask, watermark in enumerate(watermarks)
        },
    )
    return Watermarks(made, WatermarkMakers(makers, later)).seen(job.log.noted())[:2]


def test_a_union_is_held_back_by_the_source_without_records() -> None:
    assert seen(program(), [at(5 * MINUTE)], [NONE]) == (None, ("Op1.0",))


def test_a_source_without_watermarks_holds_back_what_it_meets() -> None:
    found = seen(program(), [at(5 * MINUTE)], [NONE], makers=frozenset({0}))
    assert found == (None, ("Op1.0",))


def test_a_source_without_watermarks_that_meets_nobody_holds_nothing_back() -> None:
    found = seen(program(apart=True), [at(5 * MINUTE)], [NONE], makers=frozenset({0}))
    assert found == (5 * MINUTE, ())


def test_sources_that_never_meet_do_not_hold_each_other_back() -> None:
    assert seen(program(apart=True), [at(5 * MINUTE)], [at(MINUTE)]) == (MINUTE, ())


def test_who_is_far_behind_holds_back_and_who_is_a_little_does_not() -> None:
    assert seen(program(), [at(5 * MINUTE)], [at(MINUTE)]) == (MINUTE, ("Op1.0",))
    assert seen(program(), [at(5 * MINUTE)], [at(5 * MINUTE - 500)]) == (5 * MINUTE - 500, ())


@pytest.mark.parametrize("other", [IDLE, at(MAX_TIMESTAMP)], ids=["idle", "over"])
def test_who_is_idle_or_over_holds_nothing_back(other: ChannelWatermark) -> None:
    assert seen(program(), [at(MINUTE)], [other]) == (MINUTE, ())


def test_if_all_are_idle_the_farthest_counts() -> None:
    idle = ChannelWatermark(MINUTE, is_idle=True)
    assert seen(program(), [idle], [IDLE]) == (MINUTE, ())


def test_a_program_without_event_time_has_no_watermark() -> None:
    assert seen(program(), [NONE], [NONE], makers=frozenset()) == (None, ())


def test_a_subtask_without_records_is_named() -> None:
    found = seen(program(2), [at(5 * MINUTE), NONE], [at(5 * MINUTE)])
    assert found == (None, ("Op0.0 (2/2)",))


def test_watermarks_that_are_made_later_take_the_place_of_those_before() -> None:
    found = seen(
        program(later=True), [NONE], [at(2 * MINUTE)], [at(MINUTE)],
        makers=frozenset({1, 2}), later={2: "times"},
    )  # fmt: skip
    assert found == (MINUTE, ("Op2.0",))


def test_the_operators_in_which_watermarks_begin_say_whether_they_hold_it_back() -> None:
    made = program(later=True)
    makers = WatermarkMakers(frozenset({1, 2}), {2: "times"})
    watermarks = Watermarks(made, makers)
    first, other = (made.vertices[index].operators[0].operator_id for index in (0, 1))
    assert watermarks.seen(VirtualJob(made).log.noted()).origins == {
        first: False, other: False, "times": False
    }  # fmt: skip

    job = VirtualJob(made)
    found = {1: at(5 * MINUTE), 2: NONE}
    progress = {(v, 0): SubtaskProgress(outputs=((0, mark),)) for v, mark in found.items()}
    job.epoch(1.0, progress=progress)

    event_time = watermarks.seen(job.log.noted())
    assert event_time.origins == {first: False, other: False, "times": True}
    assert event_time.holding_back == ("Op2.0",)


def test_since_when_the_watermark_is_held_back_is_known() -> None:
    made = program()
    job = VirtualJob(made)

    def epoch(one: int, other: int) -> EventTime:
        found = {0: at(one * MINUTE), 1: at(other * MINUTE) if other else NONE}
        progress = {(v, 0): SubtaskProgress(outputs=((0, mark),)) for v, mark in found.items()}
        job.epoch(1.0, progress=progress)
        return Watermarks(made, WatermarkMakers(frozenset({0, 1}))).seen(job.log.noted())

    begun = int(SINCE_1970) * 1000
    assert epoch(5, 0)[:3] == (None, ("Op1.0",), None)
    assert epoch(6, 1)[:3] == (MINUTE, ("Op1.0",), begun + 2000)
    assert epoch(7, 1)[:3] == (MINUTE, ("Op1.0",), begun + 2000)
    assert epoch(7, 2)[:3] == (2 * MINUTE, ("Op1.0",), begun + 4000)
    assert epoch(7, 7)[:3] == (7 * MINUTE, (), None)


def test_a_split_without_records_is_named() -> None:
    made = program()
    job = VirtualJob(made)
    job.log.begin(0)
    job.log.committed(
        EpochRecord(0),
        EpochOutcome(splits={0: {"clicks-0": at(MINUTE), "clicks-1": NONE}}),
        {(1, 0): SubtaskProgress(outputs=((1, at(MINUTE)),))},
    )
    assert Watermarks(made, WatermarkMakers(frozenset({0, 1}))).seen(job.log.noted())[:2] == (
        None,
        ("Op0.0 (clicks-1)",),
    )


def test_before_the_first_epoch_nothing_is_known() -> None:
    made = program()
    watermarks = Watermarks(made, WatermarkMakers(frozenset({0})))
    assert watermarks.seen(VirtualJob(made).log.noted())[:3] == (None, (), None)
