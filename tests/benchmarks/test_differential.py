from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.differential import (
    RECORDED,
    ProgramsFailed,
    Run,
    answers,
    numbers,
    on_penstock,
)
from benchmarks.flink_programs import kinds, programs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FEW = 6
"""How many programs run on Spark, in one job."""


@pytest.fixture(scope="module")
def recorded() -> list[dict[str, Any]]:
    """Programs with PyFlink's results."""
    found: list[dict[str, Any]] = json.loads(RECORDED.read_text())
    return found


def test_fixed_programs_give_what_pyflink_gave(recorded: list[dict[str, Any]]) -> None:
    assert different(recorded, on_penstock("local")) == []


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_fixed_programs_give_the_same_on_spark(
    spark: SparkSession, recorded: list[dict[str, Any]], mode: str
) -> None:
    setting = {"mode": mode, "parallelism": 2}
    chosen = [each for each in recorded if each["program"] | setting == each["program"]]
    assert different(chosen[:FEW], on_penstock("spark", spark)) == []


def different(recorded: list[dict[str, Any]], run: Run) -> list[Any]:
    found = answers([each["program"] for each in recorded], run)
    return [
        (each["program"], each["results"], results)
        for each, results in zip(recorded, found, strict=True)
        if results != each["results"]
    ]


def test_kinds_of_steps_are_in_fixed_programs_but_for_one(recorded: list[dict[str, Any]]) -> None:
    used = {kind for each in recorded for kind, _, _ in each["program"]["steps"]}
    assert set(kinds.KINDS) - used == {"custom"}


class TestPrograms:
    def test_are_the_same_for_one_number(self) -> None:
        assert programs.program(7) == programs.program(7) != programs.program(8)
        assert programs.records(7) == programs.records(7) != programs.records(8)

    def test_have_records_that_are_never_late(self) -> None:
        for seed in range(200):
            records, disorder = programs.records(seed)
            latest = 0
            for _, _, time in records:
                assert time > latest - disorder
                latest = max(latest, time)
            assert len({time for _, _, time in records}) == len(records)

    def test_have_no_step_that_nobody_reads(self) -> None:
        steps = [["grow", [0], 1], ["turn", [0], 2], ["union", [1, 3], 3], ["filter", [2], 4]]
        assert programs.reachable(1, [*steps[:2], steps[3]]) == [
            ["turn", [0], 2],
            ["filter", [1], 4],
        ]

    def test_take_order_only_where_it_is_certain(self) -> None:
        ordered = kinds.KINDS["running"]
        for mode, parallelism, certain in (
            ("STREAMING", 2, False),
            ("STREAMING", 1, True),
            ("BATCH", 2, True),
        ):
            source = programs.source(mode, parallelism)
            moved = programs.after(kinds.KINDS["turn"], mode, parallelism, [source])
            assert programs.fits(ordered, mode, [source], [0, 0])
            assert programs.fits(ordered, mode, [moved], [0, 0]) is certain


class TestJobs:
    def test_that_fail_are_run_program_by_program(self) -> None:
        several = [programs.program(seed) for seed in range(30)]

        def run(order: dict[str, Any]) -> list[Any]:
            if several[3]["steps"] in order["programs"]:
                raise ProgramsFailed("the third")
            return on_penstock("local")(order)

        found = answers(several, run)
        assert found[3] == "the third"
        assert all(isinstance(each, list) for place, each in enumerate(found) if place != 3)


def test_numbers_are_one_or_a_range() -> None:
    assert (numbers("5"), numbers("5-7")) == (range(5, 6), range(5, 8))
