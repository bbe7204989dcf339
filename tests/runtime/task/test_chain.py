from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import CollectingOutput, Journal, network_edge, operator_spec
from tests.runtime.timers.manual_clock import ManualClock

from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block
from penstock.runtime.exchange.output import Output
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import FilterOperator, MapOperator
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.operators.sink import CollectOperator
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.program import ChainedEdge, NetworkEdge, OperatorSpec, Program, Vertex
from penstock.runtime.state.backend import KeyedStateBackend
from penstock.runtime.state.factory import create_backend
from penstock.runtime.task.chain import OperatorChain
from penstock.runtime.timers.processing_time_service import TestProcessingTimeService
from penstock.runtime.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP


class Logging(StreamOperator):
    """Writes down what is done with it, and adds its name to the values that pass."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def _log(self, step: str) -> None:
        self._journal.append((step, self.name))

    def setup(self, **options: Any) -> None:
        super().setup(**options)
        self._log("setup")

    def open(self) -> None:
        self._log("open")

    def process_block(self, block: Block) -> None:
        self.output.collect(Block([(*value, self.name) for value in block.values]))

    def flush(self) -> None:
        self._log("flush")

    def end_input(self) -> None:
        self._log("end")

    def close(self) -> None:
        self._log("close")


class Built:
    """A chain, and what leaves it.

    Attributes:
        left: What each edge to another chain was given.
        told: What the driver was told.
    """

    def __init__(
        self,
        specs: Sequence[OperatorSpec],
        *,
        subtask: int = 0,
        parallelism: int = 1,
        **options: Any,
    ) -> None:
        self.left: dict[int, CollectingOutput] = {}
        self.told: list[tuple[str, Any]] = []
        vertex = Vertex(0, "id", "chain", tuple(specs), parallelism, 128, 0)
        program = Program("job", (vertex,), **options)
        self.chain = OperatorChain(
            program,
            vertex,
            subtask,
            self._leave,
            lambda kind, content: self.told.append((kind, content)),
            TestProcessingTimeService(),
            self._keyed_state,
        )
        self.chain.open()
        for operator in reversed(self.chain.operators):
            operator.begin_epoch(Epoch("job"))

    def _keyed_state(self, operator: str) -> KeyedStateBackend:
        return create_backend(
            "hashmap",
            max_parallelism=128,
            key_groups=range(128),
            clock=ManualClock(),
            operator=operator,
        )

    def _leave(self, edge: NetworkEdge, spec: OperatorSpec) -> Output:
        return self.left.setdefault(edge.index, CollectingOutput())


def line(*operators: StreamOperator) -> list[OperatorSpec]:
    """Return the specs of a chain without branches, whose tail sends along edge 0."""
    last = len(operators) - 1
    return [
        operator_spec(
            operator,
            f"op{place}",
            chained=[] if place == last else [ChainedEdge(place + 1)],
            network=[network_edge()] if place == last else [],
        )
        for place, operator in enumerate(operators)
    ]


@st.composite
def trees(draw: st.DrawFn) -> list[int]:
    """The parents of the operators of a chain in depth-first order; the head's is -1."""
    parents = [-1]
    path = [0]
    for place in range(1, draw(st.integers(1, 8))):
        depth = draw(st.integers(1, len(path)))
        parents.append(path[depth - 1])
        path = [*path[:depth], place]
    return parents


def tree_specs(parents: list[int], journal: Journal) -> list[OperatorSpec]:
    return [
        operator_spec(
            Logging(journal),
            f"op{place}",
            chained=[ChainedEdge(child) for child, parent in enumerate(parents) if parent == place],
            network=[network_edge(place)] if place not in parents else [],
        )
        for place in range(len(parents))
    ]


class CannotBeClosed(Logging):
    def close(self) -> None:
        super().close()
        raise ConnectionError(self.name)


def test_all_are_closed_also_if_one_cannot_be() -> None:
    journal = Journal()
    specs = [
        operator_spec(Logging(journal), "head", chained=[ChainedEdge(1)]),
        operator_spec(CannotBeClosed(journal), "tail", network=[network_edge(0)]),
    ]
    chain = Built(specs).chain
    with pytest.raises(ConnectionError, match="tail"):
        chain.close()
    assert [name for step, name in journal if step == "close"] == ["tail", "head"]


class TestAnyTree:
    @settings(max_examples=50)
    @given(trees())
    def test_is_built_and_opened_from_its_tails_and_flushed_from_its_head(
        self, parents: list[int]
    ) -> None:
        journal = Journal()
        chain = Built(tree_specs(parents, journal)).chain
        chain.flush()
        chain.end_input()
        chain.close()

        for step, is_head_first in (
            ("setup", False),
            ("open", False),
            ("flush", True),
            ("end", True),
            ("close", False),
        ):
            places = {
                name: place
                for place, name in enumerate(name for logged, name in journal if logged == step)
            }
            assert len(places) == len([entry for entry in journal if entry[0] == step])
            assert set(places) == {f"op{place}" for place in range(len(parents))}
            for child, parent in enumerate(parents[1:], 1):
                assert (places[f"op{parent}"] < places[f"op{child}"]) == is_head_first

    @settings(max_examples=50)
    @given(trees(), st.lists(st.integers(), max_size=3))
    def test_takes_records_to_all_its_ends(self, parents: list[int], values: list[int]) -> None:
        built = Built(tree_specs(parents, Journal()))
        built.chain.process(Block([(value,) for value in values]))

        def path(place: int) -> tuple[str, ...]:
            return () if place < 0 else (*path(parents[place]), f"op{place}")

        leaves = set(range(len(parents))) - set(parents)
        assert {place: output.values() for place, output in built.left.items()} == {
            place: [(value, *path(place)) for value in values] for place in leaves
        }
        for metrics in built.chain.metrics:
            assert (metrics.records_in, metrics.records_out) == (len(values), len(values))

    @settings(max_examples=50)
    @given(trees())
    def test_takes_watermarks_to_all_its_ends(self, parents: list[int]) -> None:
        built = Built(tree_specs(parents, Journal()))
        built.chain.entry.emit_watermark(5)

        assert all(output.log == [("watermark", 5)] for output in built.left.values())
        for metrics in built.chain.metrics:
            assert (metrics.input_watermark, metrics.output_watermark) == (5, 5)


def test_operators_stand_in_the_order_of_the_program() -> None:
    journal = Journal()
    chain = Built(tree_specs([-1, 0, 1, 0], journal)).chain

    assert [operator.name for operator in chain.operators] == ["op0", "op1", "op2", "op3"]
    assert [operator.metrics for operator in chain.operators] == chain.metrics
    assert [name for step, name in journal if step == "open"] == ["op3", "op2", "op1", "op0"]


def test_every_subtask_has_operators_of_its_own() -> None:
    specs = line(MapOperator(str))

    assert Built(specs).chain.operators[0] is not Built(specs).chain.operators[0]


def test_counts_what_each_operator_receives_and_emits() -> None:
    late = OutputTag("late")
    specs = [
        operator_spec(
            ProcessOperator(lambda value, context: [value, value, (late, value)]),
            "process",
            chained=[ChainedEdge(1), ChainedEdge(2, "late")],
        ),
        operator_spec(FilterOperator(lambda value: value > 1), "filter", network=[network_edge(0)]),
        operator_spec(MapOperator(str), "map", network=[network_edge(1), network_edge(2)]),
    ]
    built = Built(specs)
    built.chain.process(Block([1, 2, 3]))

    assert [(entry.records_in, entry.records_out) for entry in built.chain.metrics] == [
        (3, 9),
        (6, 4),
        (3, 3),
    ]
    assert built.left[0].values() == [2, 2, 3, 3]
    assert built.left[1].values() == built.left[2].values() == ["1", "2", "3"]


def test_gauges_tell_where_a_watermark_is_held() -> None:
    class Holding(StreamOperator):
        def process_watermark(self, timestamp: int) -> None:
            if timestamp == MAX_TIMESTAMP:
                super().process_watermark(timestamp)

    chain = Built(line(StreamOperator(), Holding(), StreamOperator())).chain
    chain.entry.emit_watermark(5)

    def gauges() -> list[tuple[int, int]]:
        return [(entry.input_watermark, entry.output_watermark) for entry in chain.metrics]

    nothing = MIN_TIMESTAMP
    assert gauges() == [(5, 5), (5, nothing), (nothing, nothing)]
    chain.entry.emit_watermark(MAX_TIMESTAMP)
    assert gauges() == [(MAX_TIMESTAMP, MAX_TIMESTAMP)] * 3


class TestObjectReuse:
    @pytest.mark.parametrize("object_reuse", [True, False])
    def test_a_branch_knows_nothing_of_what_another_does(self, object_reuse: bool) -> None:
        def spoil(value: list[int]) -> None:
            value.append(99)

        specs = [
            operator_spec(
                StreamOperatorPassing(),
                "head",
                chained=[ChainedEdge(1), ChainedEdge(2)],
                network=[network_edge(1)],
            ),
            operator_spec(MapOperator(spoil), "spoils"),
            operator_spec(MapOperator(list), "reads", network=[network_edge(0)]),
        ]
        built = Built(specs, object_reuse=object_reuse)
        built.chain.process(Block([[1]]))

        assert [built.left[edge].values() for edge in (0, 1)] == [[[1]], [[1]]]

    @pytest.mark.parametrize(("object_reuse", "left"), [(True, [1, 99]), (False, [1])])
    def test_values_are_shared_along_a_chain(self, object_reuse: bool, left: list[int]) -> None:
        """What a function keeps and gives on, those behind it may change."""
        kept: list[list[int]] = Journal()

        def keep(value: list[int]) -> list[int]:
            kept.append(value)
            return value

        def spoil(value: list[int]) -> list[int]:
            value.append(99)
            return value

        built = Built(line(MapOperator(keep), MapOperator(spoil)), object_reuse=object_reuse)
        built.chain.process(Block([[1]]))

        assert list(kept) == [left]
        assert [output.values() for output in built.left.values()] == [[[1, 99]]]

    def test_off_does_not_copy_what_enters_the_chain(self) -> None:
        built = Built(line(StreamOperatorPassing()), object_reuse=False)
        value = [1]
        built.chain.process(Block([value]))

        assert built.left[0].values()[0] is value


class StreamOperatorPassing(StreamOperator):
    def process_block(self, block: Block) -> None:
        self.output.collect(block)


def test_operators_know_their_place() -> None:
    built = Built(
        line(StreamOperatorPassing(), StreamOperatorPassing()),
        subtask=2,
        parallelism=3,
        job_parameters={"rate": "5"},
        batch=True,
    )

    for place, operator in enumerate(built.chain.operators):
        context = operator.context
        assert operator.name == context.task_name == f"op{place}"
        assert (context.subtask, context.parallelism, context.max_parallelism) == (2, 3, 128)
        assert context.job_parameters == {"rate": "5"}
        assert operator.batch
        assert context.get_metrics_group() is operator.metrics.user


def test_operators_tell_the_driver() -> None:
    built = Built(line(CollectOperator("id")))
    built.chain.process(Block([1]))

    assert built.told == [("collect", ("id", [1]))]


@pytest.mark.parametrize("size", [1, 7, 1024, 3000])
def test_a_chain_gives_the_same_wherever_its_input_is_cut(size: int) -> None:
    def run(blocks: Sequence[Block]) -> list[Any]:
        built = Built(
            line(
                MapOperator(lambda value: value * 3),
                FilterOperator(lambda value: value % 2 == 0),
                ProcessOperator(lambda value, context: range(value % 5)),
            )
        )
        for block in blocks:
            built.chain.process(block)
        return built.left[0].records()

    whole = Block(list(range(3000)), list(range(3000)))

    assert run(list(whole.cut(size))) == run([whole])
