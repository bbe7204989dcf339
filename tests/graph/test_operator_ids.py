from __future__ import annotations

import pytest
from tests.graph.programs import Programs

from penstock.errors import DuplicateUidError
from penstock.graph.operator_ids import operator_ids


def ids_by_name(program: Programs, **options: bool) -> dict[str, str]:
    graph = program.graph(**options)
    return {graph.nodes[number].name: found for number, found in operator_ids(graph).items()}


def straight_program() -> Programs:
    program = Programs()
    mapped = program.map(program.source("Sequence Source"))
    filtered = program.map(mapped, name="Filter")
    keyed = program.map(program.key_by(filtered), name="keyed", is_keyed=True)
    program.sink(keyed, name="Sink: Writer")
    return program


# The ids below are those that Flink printed for the same programs.


def test_ids_of_chained_operators() -> None:
    assert ids_by_name(straight_program()) == {
        "Source: Sequence Source": "cbc357ccb763df2852fee8c4fc7d55f2",
        "Map": "570f707193e0fe32f4d86d067aba243b",
        "Filter": "b728d985904d42b0fdd945a9e3253fca",
        "keyed": "c27dcf7b54ef6bfd6cff02ca8870b681",
        "Sink: Writer": "72ee2076ad4244f19e7388e24679c996",
    }


def test_ids_without_chaining() -> None:
    assert ids_by_name(straight_program(), chaining_enabled=False) == {
        "Source: Sequence Source": "bc764cd8ddf7a0cff126f51c16239658",
        "Map": "0a448493b4782967b150582570326227",
        "Filter": "ea632d67b7d595e5b851708ae9ad79d6",
        "keyed": "6d2677a0ecc3fd8df0b72ec675edf8f4",
        "Sink: Writer": "ddb598ad156ed281023ba4eebbe487e3",
    }


def test_ids_at_a_union_and_from_uids() -> None:
    program = Programs()
    left = program.map(program.source("left", uid="source"), name="map left")
    right = program.map(program.source("right"), name="map right")
    mapped = program.map(program.union(left, right))
    program.sink(mapped, name="Sink: Writer", uid="sink")
    assert ids_by_name(program) == {
        "Source: left": "e5a72f353fc1e6bbf3bd96a41384998c",
        "map left": "058086c13c6c5a39fabcbe0b8a1b827d",
        "Source: right": "6cdc5bb954874d922eaee11a8e7b5dd5",
        "map right": "eb99017e0f9125fa6648bf56123bdcf7",
        "Map": "2d44d36ea2629e1c0a8d9f79510c2917",
        "Sink: Writer": "2e588ce1c86a9d46e2e85186773ce4fd",
    }


def test_names_and_parallelism_do_not_enter() -> None:
    ids = []
    for name, parallelism in (("one", 1), ("two", 4)):
        program = Programs()
        program.sink(program.map(program.source(name), name=name))
        ids.append(list(program.job_graph(default_parallelism=parallelism).operator_ids.values()))
    assert ids[0] == ids[1]


def test_a_uid_keeps_the_id_when_the_program_changes() -> None:
    short, long = Programs(), Programs()
    short.sink(short.map(short.source(), name="counted", uid="count"))
    long.sink(long.map(long.map(long.source()), name="counted", uid="count"))
    assert ids_by_name(short)["counted"] == ids_by_name(long)["counted"]


def test_a_uid_hash_is_the_id_and_changes_no_other() -> None:
    uid_hash = "0123456789ABCDEF0123456789abcdef"
    plain, hashed = Programs(), Programs()
    plain.sink(plain.map(plain.source()))
    hashed.sink(hashed.map(hashed.source(), uid_hash=uid_hash))
    expected = ids_by_name(plain) | {"Map": uid_hash.lower()}
    assert ids_by_name(hashed) == expected


def test_an_operator_waits_for_all_its_inputs() -> None:
    # The short way reaches the union before the long one.
    program = Programs()
    source = program.source()
    long = program.map(program.map(source, name="first"), name="second")
    program.sink(program.map(program.union(source, long), name="join"))
    ids = ids_by_name(program)
    assert len(set(ids.values())) == 5


def test_equal_ids_are_refused() -> None:
    program = Programs()
    mapped = program.map(program.source(), uid_hash="0" * 32)
    program.sink(mapped, uid_hash="0" * 32)
    with pytest.raises(DuplicateUidError, match="'Map' and 'Sink: Print'"):
        operator_ids(program.graph())
