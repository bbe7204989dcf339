from __future__ import annotations

import pickle
import sys
import threading
import types
from typing import Any

import pytest
from tests.graph.programs import Programs

from penstock.errors import FunctionNotSerializableError
from penstock.graph.compiler import compile_program
from penstock.runtime.exchange.partitioners import (
    BroadcastPartitioner,
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
    StreamPartitioner,
)
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.program import ChainedEdge, Program


def compiled(program: Programs, **options: Any) -> Program:
    return compile_program(program.job_graph(**options))


def branching_program(function: Any = abs) -> Programs:
    program = Programs()
    mapped = program.map(program.source(), function=function)
    program.sink(program.map(program.key_by(mapped), name="keyed", parallelism=2), parallelism=2)
    program.sink(program.side_output(mapped, "late"), name="Sink: late")
    return program


def test_chains_become_vertices() -> None:
    program = compiled(
        branching_program(),
        job_name="job",
        object_reuse=False,
        batch=True,
        job_parameters={"a": "b"},
    )
    assert (program.name, program.object_reuse, program.batch) == ("job", False, True)
    assert program.job_parameters == {"a": "b"}
    assert program.levels == 2
    first, second = program.vertices
    assert first.name == "Source: numbers -> Map -> Sink: late"
    assert (first.index, first.level, first.source, first.parallelism) == (0, 0, 0, 1)
    assert (second.index, second.level, second.source, second.parallelism) == (1, 1, None, 2)
    assert second.vertex_id == second.operators[0].operator_id
    source, mapped, _ = first.operators
    assert source.chained == (ChainedEdge(1),)
    assert mapped.chained == (ChainedEdge(2, "late"),)
    assert mapped.network == second.inputs
    [edge] = second.inputs
    assert (edge.index, edge.source, edge.target, edge.input, edge.tag) == (0, 0, 1, 0, None)


def test_operators_and_partitioners_are_pickled() -> None:
    program = pickle.loads(pickle.dumps(compiled(branching_program(lambda value: -value))))
    operator = pickle.loads(program.vertices[0].operators[1].prototype)
    assert isinstance(operator, MapOperator)
    assert operator.function.call(3) == -3
    [edge] = program.vertices[1].inputs
    assert isinstance(pickle.loads(edge.partitioner), KeyGroupStreamPartitioner)


def test_a_side_output_that_crosses() -> None:
    program = Programs()
    program.sink(program.key_by(program.side_output(program.source(), "late")))
    [edge] = compiled(program).vertices[1].inputs
    assert edge.tag == "late"


@pytest.mark.parametrize(
    ("partitioner", "is_broadcast"),
    [(BroadcastPartitioner(), True), (RebalancePartitioner(), False)],
)
def test_an_edge_tells_whether_all_get_every_record(
    partitioner: StreamPartitioner, is_broadcast: bool
) -> None:
    program = Programs()
    program.sink(program.partition(program.source(), partitioner), parallelism=2)
    [edge] = compiled(program).vertices[1].inputs
    assert edge.is_broadcast is is_broadcast


def test_sources_are_numbered_like_those_of_the_job_graph() -> None:
    program = Programs()
    streams = [program.source(name) for name in "abc"]
    program.sink(program.map(program.union(*streams)))
    graph = program.job_graph()
    vertices = [vertex for vertex in compile_program(graph).vertices if vertex.source is not None]
    assert [vertex.source for vertex in vertices] == [0, 1, 2]
    for vertex in vertices:
        assert vertex.source is not None
        assert graph.sources[vertex.source].name == vertex.name


def test_equal_programs_have_equal_digests() -> None:
    digest = compiled(branching_program()).digest
    assert len(digest) == 64
    assert compiled(branching_program()).digest == digest


@pytest.mark.parametrize(
    "options",
    [
        {"job_name": "other"},
        {"default_parallelism": 2},
        {"max_parallelism": 64},
        {"object_reuse": False},
        {"batch": True},
        {"job_parameters": {"a": "b"}},
        {"chaining_enabled": False},
    ],
    ids=repr,
)
def test_different_options_have_different_digests(options: dict[str, Any]) -> None:
    assert compiled(branching_program(), **options).digest != compiled(branching_program()).digest


def test_different_functions_have_different_digests() -> None:
    digests = {compiled(branching_program(function)).digest for function in (abs, str)}
    program = Programs()
    digests.add(compiled_with_key(program, abs).digest)
    digests.add(compiled_with_key(Programs(), str).digest)
    assert len(digests) == 4


def compiled_with_key(program: Programs, key_selector: Any) -> Program:
    partitioner = KeyGroupStreamPartitioner(key_selector)
    program.sink(program.partition(program.source(), partitioner))
    return compiled(program)


def test_a_function_that_cannot_be_pickled() -> None:
    lock = threading.Lock()
    with pytest.raises(FunctionNotSerializableError) as caught:
        compiled(branching_program(lambda value: (value, lock)))
    assert caught.value.message == (
        "Operator 'Map' cannot be pickled, so that no worker could run it: "
        "variable 'lock' is a lock (cannot pickle '_thread.lock' object)."
    )
    assert "open()" in str(caught.value.hint)
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_key_selector_that_cannot_be_pickled() -> None:
    lock = threading.Lock()
    message = "key selector or partitioner behind operator 'Source: numbers'.*variable 'lock'"
    with pytest.raises(FunctionNotSerializableError, match=message):
        compiled_with_key(Programs(), lambda value: (value, lock))


class TestMainClasses:
    @pytest.fixture
    def script(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """The variables of a user's script."""
        module = types.ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", module)
        exec(
            "from dataclasses import dataclass\n"
            "from threading import Lock, Thread\n"
            "@dataclass(frozen=True)\n"
            "class Point:\n"
            "    x: int\n"
            "class Locked:\n"
            "    lock = Lock()\n"
            "number = 3\n"
            "def to_point(value):\n"
            "    return Point(value)\n",
            vars(module),
        )
        return vars(module)

    def test_classes_of_the_script_are_pickled_by_value(self, script: dict[str, Any]) -> None:
        main_classes = compiled(branching_program()).main_classes
        assert b"frozen" in main_classes
        assert pickle.loads(main_classes)["Point"](1) == script["Point"](1)

    def test_only_classes_of_the_script_that_can_be_pickled(self, script: dict[str, Any]) -> None:
        assert set(pickle.loads(compiled(branching_program()).main_classes)) == {"Point"}

    def test_the_classes_are_those_that_the_functions_use(self, script: dict[str, Any]) -> None:
        program = compiled(branching_program(script["to_point"]))
        operator = pickle.loads(program.vertices[0].operators[1].prototype)
        found = pickle.loads(program.main_classes)["Point"]
        assert type(operator.function.call(1)) is found

    def test_a_script_without_classes(self, script: dict[str, Any]) -> None:
        script.clear()
        assert compiled(branching_program()).main_classes == b""
