from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import ProgramBuilder
from tests.strategies import many_of

from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.partitioners import ForwardPartitioner
from penstock.runtime.layout import Layout
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import Program


def layout_of(vertices: list[tuple[int, tuple[bool, ...]]], cores: int) -> Layout:
    """Lay out vertices of some parallelism, each of which may read from any before it."""
    builder = ProgramBuilder()
    for index, (parallelism, reads) in enumerate(vertices):
        senders = [sender for sender in range(index) if reads[sender]]
        builder.vertex(
            MapOperator(str),
            inputs=[(sender, ForwardPartitioner()) for sender in senders],
            parallelism=parallelism,
        )
    return Layout(builder.build(), cores)


def layouts() -> st.SearchStrategy[Layout]:
    """Programs of any shape on any number of cores."""
    vertices = product(range(1, 10), product([False, True], repeat=4))
    return st.builds(layout_of, many_of(vertices, min_size=1, max_size=5), st.integers(1, 5))


@settings(max_examples=50)
@given(layouts())
def test_carriers_share_the_subtasks_of_a_vertex_evenly(layout: Layout) -> None:
    for vertex in layout.program.vertices:
        carriers = range(layout.carriers(vertex.level))
        assert len(carriers) <= layout.cores
        loads = Counter(layout.carrier_of(vertex, subtask) for subtask in range(vertex.parallelism))
        assert set(loads) <= set(carriers)
        shares = [loads[carrier] for carrier in carriers]
        assert max(shares) - min(shares) <= 1


@settings(max_examples=50)
@given(layouts())
def test_the_way_to_a_subtask_ends_at_its_carrier(layout: Layout) -> None:
    for vertex in layout.program.vertices:
        for subtask in range(vertex.parallelism):
            for level in range(vertex.level):
                carrier = layout.next_carrier(level, vertex, subtask)
                assert 0 <= carrier < layout.carriers(level + 1)
            if vertex.level:
                assert carrier == layout.carrier_of(vertex, subtask)


@settings(max_examples=50)
@given(layouts(), st.integers(0, 100))
def test_the_way_to_the_driver_leads_over_carriers_that_are_there(
    layout: Layout, sender: int
) -> None:
    for level in range(layout.levels - 1):
        assert 0 <= layout.driver_carrier(level, sender) < layout.carriers(level + 1)
    assert layout.driver_carrier(layout.levels - 1, sender) == 0


def test_senders_spread_over_the_carriers_on_the_way_to_the_driver() -> None:
    layout = Layout(_two_sources(), 2)

    assert [layout.driver_carrier(0, sender) for sender in range(4)] == [0, 1, 0, 1]


def _two_sources() -> Program:
    builder = ProgramBuilder()
    one, other = builder.source([[1]]), builder.source([[1]])
    only = builder.vertex(MapOperator(str), inputs=[(one, ForwardPartitioner())], parallelism=2)
    builder.vertex(
        MapOperator(str),
        inputs=[(only, ForwardPartitioner()), (other, ForwardPartitioner())],
        parallelism=2,
    )
    return builder.build()


@pytest.mark.parametrize(
    ("finished", "finishing", "expected"),
    [
        (set(), set(), [False, False, False, False]),
        (set(), {0}, [True, False, True, False]),
        ({0}, set(), [True, False, True, False]),
        ({0}, {1}, [True, True, True, True]),
        (set(), {0, 1}, [True, True, True, True]),
        (set(), {1}, [False, True, False, False]),
    ],
)
def test_a_vertex_finishes_with_the_last_of_its_sources(
    finished: set[int], finishing: set[int], expected: list[bool]
) -> None:
    layout = Layout(_two_sources(), 2)
    epoch = Epoch("job", finished=frozenset(finished), finishing=frozenset(finishing))

    assert [layout.is_finishing(vertex, epoch) for vertex in layout.program.vertices] == expected
