from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import ProgramBuilder, operator_id, subtask_report

from penstock.checkpoint.handles import StateHandle
from penstock.errors import (
    InconsistentEpochError,
    LostBufferError,
    PenstockError,
    UserFunctionError,
)
from penstock.executors.driver.epoch_outcome import (
    EpochOutcome,
    OperatorReport,
    add_user_metrics,
)
from penstock.runtime.exchange.buffer import Buffer, channel_number
from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.gauges import Reading
from penstock.runtime.layout import Layout
from penstock.runtime.metrics import Distribution, Rate
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import Program
from penstock.runtime.task.message import Message
from penstock.runtime.task.subtask import driver_buffer

Metrics = tuple[int, int, int, int, dict[str, Any]]


def _program() -> Program:
    """A source of two subtasks that two chains of two subtasks read."""
    builder = ProgramBuilder()
    source = builder.source([[1]], parallelism=2)
    for _ in range(2):
        builder.vertex(MapOperator(str), inputs=[(source, RebalancePartitioner())], parallelism=2)
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
    sequence: int = 0,
) -> Buffer:
    if attempts is None:
        attempts = {
            channel_number(edge.index, other): f"{edge.source}.{other}"
            for edge in PROGRAM.vertices[vertex].inputs
            for other in range(2)
        }
    count = len(PROGRAM.vertices[vertex].operators)
    content = subtask_report([metrics] * count, attempts, handles, attempt=f"{vertex}.{sender}")
    return told("report", vertex, sender, content, sequence)


def epoch(*buffers: Buffer) -> list[Buffer]:
    """Return the buffers of an epoch: these, and the reports of all other subtasks."""
    known = {(buffer.channel, buffer.subtask) for buffer in buffers}
    others = {(vertex, sender) for vertex in range(3) for sender in range(2)} - known
    return [*buffers, *(report(vertex, sender) for vertex, sender in sorted(others))]


metrics = st.tuples(
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(-9, 9),
    st.integers(-9, 9),
    st.dictionaries(st.sampled_from(["hits", "misses"]), st.integers(0, 9)),
)


@given(metrics, metrics)
def test_sums_what_the_subtasks_of_an_operator_did(one: Metrics, other: Metrics) -> None:
    outcome = EpochOutcome.of(
        PROGRAM, epoch(report(1, 0, metrics=one), report(1, 1, metrics=other))
    )

    counted = one[4].keys() | other[4].keys()
    assert outcome.operators == {
        operator_id("Op0.0"): OperatorReport("Op0.0", 0, 0, 0, 0),
        operator_id("Op1.0"): OperatorReport(
            "Op1.0",
            one[0] + other[0],
            one[1] + other[1],
            min(one[2], other[2]),
            min(one[3], other[3]),
            {name: one[4].get(name, 0) + other[4].get(name, 0) for name in counted},
        ),
        operator_id("Op2.0"): OperatorReport("Op2.0", 0, 0, 0, 0),
    }
    assert outcome.calls == 6


def test_no_job_fails_because_metrics_of_two_kinds_have_one_name() -> None:
    assert add_user_metrics({"x": 1}, {"x": 0.5}) == {"x": 1.5}
    kinds: list[Any] = [1, Distribution(), Rate(60), Reading("full")]
    for known, new in itertools.permutations(kinds, 2):
        assert add_user_metrics({"x": known}, {"x": new}) == {"x": new}


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

    outcome = EpochOutcome.of(PROGRAM, epoch(*(buffers[place] for place in order)))

    assert outcome.printed == ["a", "b", "c", "d"]
    assert outcome.collected == [("id", [1]), ("id", [2])]
    assert outcome.prepared == [("sink", "path")]


def test_takes_the_state_of_those_that_have_some() -> None:
    handle = StateHandle("path", 1, 2, is_snapshot=True)

    outcome = EpochOutcome.of(
        PROGRAM, epoch(report(1, 1, handles=(handle,)), report(2, 0, handles=()))
    )

    assert outcome.handles == {(1, 1): (handle,), (2, 0): ()}


class TestErrors:
    def test_of_the_first_task_end_the_epoch(self) -> None:
        errors = {
            sender: UserFunctionError(f"from {sender}", hint="mend it") for sender in range(2)
        }
        buffers = [
            report(0, 0),
            told("error", 1, 1, errors[1]),
            told("error", 1, 0, errors[0]),
        ]

        with pytest.raises(UserFunctionError) as raised:
            EpochOutcome.of(PROGRAM, buffers)

        assert str(raised.value) == "from 0\n\nHint: mend it"

    def test_may_be_texts(self) -> None:
        with pytest.raises(PenstockError, match=r"^a text$"):
            EpochOutcome.of(PROGRAM, [told("error", 1, 0, "a text")])


class TestAttempts:
    def channel(self, vertex: int, sender: int) -> int:
        return channel_number(PROGRAM.vertices[vertex].inputs[0].index, sender)

    def read(self, vertex: int, subtask: int, *attempts: str) -> Buffer:
        """Return the report of a subtask that read these attempts of the source's two subtasks."""
        return report(
            vertex,
            subtask,
            attempts={
                self.channel(vertex, sender): attempt for sender, attempt in enumerate(attempts)
            },
        )

    def test_that_are_the_same_for_all_readers_are_fine(self) -> None:
        outcome = EpochOutcome.of(PROGRAM, epoch())

        assert outcome.calls == 6

    @pytest.mark.parametrize("sender", [0, 1])
    def test_of_one_sender_must_not_differ(self, sender: int) -> None:
        attempts = ["0.0", "0.1"]
        attempts[sender] = "another"
        with pytest.raises(InconsistentEpochError, match="different attempts") as raised:
            EpochOutcome.of(PROGRAM, epoch(self.read(1, 1, *attempts)))

        assert "'Op1.0'" in raised.value.message
        assert "orderIndependentChecksum" in str(raised.value.hint)

    def test_of_one_sender_must_not_differ_between_its_edges(self) -> None:
        another = [self.read(2, subtask, "another", "0.1") for subtask in range(2)]

        with pytest.raises(InconsistentEpochError):
            EpochOutcome.of(PROGRAM, epoch(*another))

    def test_of_one_sender_must_not_differ_between_the_driver_and_its_readers(self) -> None:
        another = [
            self.read(vertex, subtask, "another", "0.1")
            for vertex in (1, 2)
            for subtask in range(2)
        ]

        with pytest.raises(InconsistentEpochError):
            EpochOutcome.of(PROGRAM, epoch(*another))


class TestWhatIsMissing:
    """Or came twice."""

    @pytest.mark.parametrize(
        "lost",
        [
            pytest.param((0, 1), id="the report of a source"),
            pytest.param((1, 1), id="the report of a receiver"),
        ],
    )
    def test_is_noticed_among_reports(self, lost: tuple[int, int]) -> None:
        rest = [buffer for buffer in epoch() if (buffer.channel, buffer.subtask) != lost]

        with pytest.raises(LostBufferError):
            EpochOutcome.of(PROGRAM, rest)

    @pytest.mark.parametrize("place", range(3))
    def test_is_noticed_among_the_messages_of_a_task(self, place: int) -> None:
        buffers = [
            told("print", 1, 0, ["a"], 0),
            told("collect", 1, 0, ("id", [1]), 1),
            report(1, 0, sequence=2),
        ]

        with pytest.raises(LostBufferError):
            EpochOutcome.of(PROGRAM, epoch(*buffers, buffers[place]))
        del buffers[place]
        with pytest.raises(LostBufferError):
            EpochOutcome.of(PROGRAM, epoch(*buffers))

    def test_is_noticed_where_a_task_read_nothing_of_a_sender(self) -> None:
        channel = channel_number(PROGRAM.vertices[1].inputs[0].index, 0)

        with pytest.raises(LostBufferError):
            EpochOutcome.of(PROGRAM, epoch(report(1, 0, attempts={channel: "0.0"})))

    def test_is_no_news_where_an_error_was_told(self) -> None:
        with pytest.raises(PenstockError, match=r"^the error$"):
            EpochOutcome.of(PROGRAM, [report(0, 0), told("error", 0, 1, "the error", 3)])
