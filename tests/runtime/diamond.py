"""A program whose records reach one of its subtasks by two ways, as wide as a test wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from tests.runtime.programs import ProgramBuilder

from penstock.runtime.exchange.partitioners import (
    BroadcastPartitioner,
    ForwardPartitioner,
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
)
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.sink import PrintOperator
from penstock.runtime.program import Program

NUMBERS = list(range(20))


def negated(value: int) -> int:
    return -value


def remainder(value: int) -> int:
    return value % 7


def diamond(*parallelism: int, function: Callable[[Any], Any] = negated) -> Program:
    """Numbers reach the sum twice: over a chain between, and straight from the source."""
    builder = ProgramBuilder()
    source = builder.source([NUMBERS, NUMBERS], parallelism=parallelism[0])
    middle = builder.vertex(
        MapOperator(function),
        inputs=[(source, RebalancePartitioner())],
        parallelism=parallelism[1],
    )
    summed = builder.vertex(
        ReduceOperator(lambda one, other: one + other),
        inputs=[
            (middle, KeyGroupStreamPartitioner(remainder)),
            (source, KeyGroupStreamPartitioner(remainder)),
        ],
        parallelism=parallelism[2],
    )
    builder.vertex(
        PrintOperator(), inputs=[(summed, ForwardPartitioner())], parallelism=parallelism[2]
    )
    builder.vertex(PrintOperator("all"), inputs=[(middle, BroadcastPartitioner())])
    return builder.build()


parallelisms = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
cores = st.integers(1, 4)
