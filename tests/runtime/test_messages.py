from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import ProgramBuilder, operator_id

from penstock.checkpoint.handles import StateHandle
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.errors import InconsistentEpochError, PenstockError, UserFunctionError
from penstock.runtime.buffer import Buffer, channel_number
from penstock.runtime.elements import ChannelWatermark
from penstock.runtime.epoch import SHARED
from penstock.runtime.layout import Layout
from penstock.runtime.messages import EpochOutcome, Message, OperatorReport, SubtaskReport
from penstock.runtime.operators.map import MapOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.partitioners import RebalancePartitioner
from penstock.runtime.program import Program
from penstock.runtime.progress import SubtaskProgress
from penstock.runtime.subtask import driver_buffer

Metrics = tuple[int, int, int, int, dict[str, Any]]


def _program() -> Program:
    """A source of two subtasks that two chains of two subtasks read."""
    builder = ProgramBuilder()
    source = builder.source([[1]], parallelism=2)
    for _ in range(2):
        builder.vertex(
            MapOperator(str), inputs=[(source, RebalancePartitioner())], parallelism=2
        )
    return builder.build()


PROGRAM = _program()
LAYOUT = Layout(PROGRAM, 2)
NOTHING: Metrics = (0, 0, 0, 0, {})


def told(kind: str, vertex: int, sender: int, content: Any, sequence: int = 0) -> Buffer:
    message = Message(kind, vertex, sender, content)
    return driver_buffer(LAYOUT, message, PROGRAM.vertices[vertex], sequence)


def report(
    vertex: int,
    sender: int,
    *,
    metrics: Metrics = NOTHING,
    attempts: dict[int, str] | None = None,
    handles: tuple[StateHandle, ...] | None = None,
    progress: SubtaskProgress = SubtaskProgress(),
    sequence: int = 0,
) -> Buffer:
    count = len(PROGRAM.vertices[vertex].operators)
    content = SubtaskReport([metrics] * count, attempts or {}, handles, progress)
    return told("report", vertex, sender, content, sequence)


metrics = st.tuples(
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(-9, 9),
    st.integers(-9, 9),
    st.dictionaries(st.sampled_from(["hits", "misses"]), st.integers(0, 9)),
)


@given(metrics, metrics)
def test_sums_what_the_subtasks_of_an_operator_did(one: Metrics, other: Metrics) -> None:
    outcome = EpochOutcome.of(PROGRAM, [report(1, 0, metrics=one), report(1, 1, metrics=other)])

    counted = one[4].keys() | other[4].keys()
    assert outcome.operators == {
        operator_id("Op1.0"): OperatorReport(
            "Op1.0",
            one[0] + other[0],
            one[1] + other[1],
            min(one[2], other[2]),
            min(one[3], other[3]),
            {name: one[4].get(name, 0) + other[4].get(name, 0) for name in counted},
        )
    }
    assert outcome.calls == 2


def test_tells_what_each_operator_did() -> None:
    outcome = EpochOutcome.of(PROGRAM, [report(0, 0, metrics=(1, 2, 3, 4, {"a": 5}))])

    assert outcome.operators == {
        operator_id("Op0.0"): OperatorReport("Op0.0", 1, 2, 3, 4, {"a": 5}),
    }


@given(st.permutations(range(8)))
def test_reads_in_the_same_order_however_it_comes(order: list[int]) -> None:
    buffers = [
        told("print", 1, 0, ["a", "b"], 0),
        told("print", 1, 0, ["c"], 1),
        told("collect", 1, 0, ("id", [1]), 2),
        report(1, 0, sequence=3),
        told("print", 1, 1, ["d"], 0),
        told("prepared", 1, 1, ("sink", "path"), 1),
        told("collect", 1, 1, ("id", [2]), 2),
        report(1, 1, sequence=3),
    ]

    outcome = EpochOutcome.of(PROGRAM, [buffers[place] for place in order])

    assert outcome.printed == ["a", "b", "c", "d"]
    assert outcome.collected == [("id", [1]), ("id", [2])]
    assert outcome.prepared == [("sink", "path")]


def test_takes_the_state_of_those_that_have_some() -> None:
    handle = StateHandle("path", 1, 2, is_snapshot=True)

    outcome = EpochOutcome.of(
        PROGRAM, [report(1, 0), report(1, 1, handles=(handle,)), report(2, 0, handles=())]
    )

    assert outcome.handles == {(1, 1): (handle,), (2, 0): ()}


class TestProgress:
    def test_is_that_of_each_subtask(self) -> None:
        one, other = (SubtaskProgress(ChannelWatermark(number)) for number in (5, 7))
        outcome = EpochOutcome.of(PROGRAM, [report(1, 0, progress=one), report(1, 1, progress=other)])

        assert outcome.progress == {(1, 0): one, (1, 1): other}

    def test_of_a_source_that_spark_reads_is_that_of_all_its_tasks(self) -> None:
        source, *others = PROGRAM.vertices
        operator = SourceOperator(strategy=WatermarkStrategy.for_monotonous_timestamps())
        spec = replace(source.operators[0], prototype=pickle.dumps(operator))
        shared = replace(source, is_shared=True, operators=(spec,))
        states = [pickle.dumps(({}, number, False)) for number in (5, 7)]
        parts = [
            SubtaskProgress(operators=((spec.operator_id, state),), clock=number)
            for number, state in enumerate(states)
        ]
        outcome = EpochOutcome.of(
            replace(PROGRAM, vertices=(shared, *others)),
            [report(0, 0, progress=parts[0]), report(0, 3, progress=parts[1])],
        )

        [(owner, progress)] = outcome.progress.items()
        assert owner == (0, SHARED)
        assert progress.clock == 1
        [(operator_id, state)] = progress.operators
        assert operator_id == spec.operator_id
        assert pickle.loads(state) == ({}, 7, False)


class TestErrors:
    def test_of_the_first_task_end_the_epoch(self) -> None:
        errors = {sender: UserFunctionError(f"from {sender}", hint="mend it") for sender in range(2)}
        buffers = [
            report(0, 0),
            told("error", 1, 1, errors[1]),
            told("error", 1, 0, errors[0]),
        ]

        with pytest.raises(UserFunctionError) as raised:
            EpochOutcome.of(PROGRAM, buffers)

        assert str(raised.value) == "from 0\n\nHint: mend it"

    def test_may_be_texts(self) -> None:
        with pytest.raises(PenstockError, match="^a text$"):
            EpochOutcome.of(PROGRAM, [told("error", 1, 0, "a text")])


class TestAttempts:
    def channel(self, vertex: int, sender: int) -> int:
        return channel_number(PROGRAM.vertices[vertex].inputs[0].index, sender)

    def outcome(self, *reads: tuple[int, int, int, str]) -> EpochOutcome:
        """Return the outcome where subtasks read attempts, as vertex, subtask, sender, attempt."""
        return EpochOutcome.of(
            PROGRAM,
            [
                report(vertex, subtask, attempts={self.channel(vertex, sender): attempt})
                for vertex, subtask, sender, attempt in reads
            ],
        )

    def test_that_are_the_same_for_all_readers_are_fine(self) -> None:
        assert self.outcome((1, 0, 0, "a"), (1, 1, 0, "a"), (2, 0, 0, "a")).calls == 3

    def test_differ_between_senders(self) -> None:
        assert self.outcome((1, 0, 0, "a"), (1, 1, 1, "b")).calls == 2

    def test_of_one_sender_must_not_differ(self) -> None:
        with pytest.raises(InconsistentEpochError, match="different attempts") as raised:
            self.outcome((1, 0, 0, "a"), (1, 1, 0, "b"))

        assert "'Op1.0'" in raised.value.message
        assert "orderIndependentChecksum" in str(raised.value.hint)

    def test_of_one_sender_must_not_differ_between_its_edges(self) -> None:
        with pytest.raises(InconsistentEpochError):
            self.outcome((1, 0, 0, "a"), (2, 0, 0, "b"))
