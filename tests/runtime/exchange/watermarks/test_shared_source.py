"""A source that Spark reads: its tasks differ from epoch to epoch, its splits do not."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import ProgramBuilder, operator_id, tasks_for

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.executors.driver.epoch_outcome import EpochOutcome
from penstock.runtime.epoch import SHARED, Epoch
from penstock.runtime.exchange.buffer import Buffer
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.program import Program
from penstock.runtime.task.carrier import Carrier
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

Reads = list[tuple[int, str, list[int]]]
"""What the tasks of Spark read in one epoch: task, split, and timestamps."""


def program(parallelism: int, *, has_splits: bool) -> Program:
    builder = ProgramBuilder()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value
    )
    operator = SourceOperator(strategy=strategy, interval=200, has_splits=has_splits)
    source = builder.vertex(operator, parallelism=2)
    builder.vertex(
        MapOperator(str), inputs=[(source, RebalancePartitioner())], parallelism=parallelism
    )
    built = builder.build()
    head, *others = built.vertices
    return replace(built, vertices=(replace(head, is_shared=True), *others))


class Job:
    """A job whose epochs run in new processes, so that nothing is known but what was committed."""

    def __init__(self, parallelism: int, *, has_splits: bool) -> None:
        self.program = program(parallelism, has_splits=has_splits)
        self._has_splits = has_splits
        self._progress: dict[Any, Any] = {}
        self._number = 0

    def epoch(self, reads: Reads, *, is_finishing: bool = False) -> EpochOutcome:
        epoch = Epoch(
            "job",
            self._number,
            progress=self._progress,
            finishing=frozenset({0} if is_finishing else ()),
        )
        tasks = tasks_for(self.program)
        [source, _] = self.program.vertices
        sent: list[Buffer] = []
        for number in range(1 + max((task for task, _, _ in reads), default=0)):
            carrier = Carrier(tasks.layout, epoch, 0, number, f"a{number}", tasks)
            if number == 0:
                sent += carrier.control(0, 1)
            for task, split, timestamps in reads:
                if task == number:
                    name = split if self._has_splits else None
                    sent += carrier.feed(source, Block(list(timestamps)), name)
            sent += carrier.finish()
        received: dict[int, list[Buffer]] = defaultdict(list)
        for buffer in sent:
            received[buffer.carrier].append(buffer)
        told: list[Buffer] = []
        for number in range(tasks.layout.carriers(1)):
            carrier = Carrier(tasks.layout, epoch, 1, number, f"b{number}", tasks)
            told += carrier.run(sorted(received[number], key=lambda buffer: buffer.order))
        outcome = EpochOutcome.of(self.program, told)
        self._progress = {**self._progress, **outcome.progress}
        self._number += 1
        return outcome

    def watermark(self, reads: Reads, **options: Any) -> int:
        """Run an epoch, and return the watermark that all receivers have at its end."""
        outcome = self.epoch(reads, **options)
        assert outcome.progress.keys() <= {(0, SHARED), *((1, index) for index in range(9))}
        reached = outcome.operators[operator_id("Op1.0")].input_watermark
        assert outcome.operators[operator_id("Op0.0")].output_watermark == reached
        known = outcome.progress[0, SHARED]
        assert {known.gauges[-1][1], *(at.timestamp for _, at in known.outputs)} == {reached}
        return reached


reads = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sampled_from(["a", "b", "c"]),
        st.lists(st.integers(0, 50), min_size=1, max_size=3),
    ),
    max_size=5,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(reads, min_size=1, max_size=4), st.sampled_from([1, 3]))
def test_has_the_watermark_of_its_slowest_split_whoever_reads_it(
    epochs: list[Reads], parallelism: int
) -> None:
    job = Job(parallelism, has_splits=True)
    greatest: dict[str, int] = {}
    expected = MIN_TIMESTAMP
    for found in epochs:
        for _, split, timestamps in found:
            greatest[split] = max([greatest.get(split, MIN_TIMESTAMP), *timestamps])
        expected = max(expected, min(greatest.values(), default=MIN_TIMESTAMP + 1) - 1)
        assert job.watermark(found) == expected
    assert job.watermark([], is_finishing=True) == MAX_TIMESTAMP


@settings(max_examples=40, deadline=None)
@given(st.lists(reads, min_size=1, max_size=4), st.sampled_from([1, 3]))
def test_without_splits_is_as_far_as_its_farthest_task(
    epochs: list[Reads], parallelism: int
) -> None:
    job = Job(parallelism, has_splits=False)
    expected = MIN_TIMESTAMP
    for found in epochs:
        expected = max([expected, *(time - 1 for _, _, times in found for time in times)])
        assert job.watermark(found) == expected


@pytest.mark.parametrize("has_splits", [True, False])
def test_that_is_finished_is_at_the_end(has_splits: bool) -> None:
    job = Job(2, has_splits=has_splits)
    assert job.watermark([(1, "a", [5])]) == 4
    assert job.watermark([(2, "b", [7])], is_finishing=True) == MAX_TIMESTAMP
