from __future__ import annotations

import pickle

import pytest
from tests.runtime.programs import ProgramBuilder

from penstock.runtime.exchange.partitioners import RebalancePartitioner
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import Program


@pytest.fixture
def program() -> Program:
    builder = ProgramBuilder(job_parameters={"a": "b"})
    source = builder.source([[1]], parallelism=2)
    wide = builder.vertex(
        MapOperator(str), inputs=[(source, RebalancePartitioner())], parallelism=7
    )
    slim = builder.vertex(
        MapOperator(str), inputs=[(source, RebalancePartitioner())], parallelism=1
    )
    builder.vertex(
        MapOperator(str),
        inputs=[(wide, RebalancePartitioner()), (slim, RebalancePartitioner())],
        parallelism=3,
    )
    return builder.build()


def test_knows_its_levels(program: Program) -> None:
    assert program.levels == 3
    assert [
        [vertex.index for vertex in program.on_level(level)] for level in range(program.levels)
    ] == [[0], [1, 2], [3]]


@pytest.mark.parametrize(("cores", "carriers"), [(1, [1, 1, 1]), (4, [2, 4, 3]), (16, [2, 7, 3])])
def test_a_level_has_as_many_carriers_as_cores_but_no_idle_ones(
    program: Program, cores: int, carriers: list[int]
) -> None:
    assert [program.carriers(level, cores) for level in range(3)] == carriers


def test_travels_to_workers(program: Program) -> None:
    assert pickle.loads(pickle.dumps(program)) == program
