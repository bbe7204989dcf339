from __future__ import annotations

import pytest
from benchmarks import instructions_programs as programs
from benchmarks.instructions_programs import CHANGING, FIXED, PROGRAMS
from benchmarks.sides import functions


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_gives_something_and_the_same_each_time(name: str) -> None:
    once = programs.results(PROGRAMS[name], 300)

    assert once
    assert repr(programs.results(PROGRAMS[name], 300)) == repr(once)


def test_programs_are_different_and_have_names_for_readers() -> None:
    names = [program.__doc__ for program in (*FIXED, *CHANGING)]

    assert len(PROGRAMS) == len(FIXED) + len(CHANGING) == len(set(names))
    assert all(name and name.endswith(".") and "\n" not in name for name in names)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("reduced_pairs", (1, 1), (0, 600)),
        ("reduced_in_place", 1, 600),
        ("dicts_in_state", 1, 600),
        ("tumbling_reduce", (1, 303), (0, 600)),
    ],
)
def test_results_are_what_one_record_after_the_other_gives(
    name: str, first: object, last: object
) -> None:
    found = programs.results(PROGRAMS[name], 300)

    assert (found[0], found[-1]) == (first, last)


def test_sums_are_those_of_the_other_benchmarks() -> None:
    found = programs.results(programs.six_functions, 300)

    assert (len(found), sum(found)) == functions.expected(300)


def test_a_program_runs_into_nothing() -> None:
    programs.run(programs.fork, 300)
