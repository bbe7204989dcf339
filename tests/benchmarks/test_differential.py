from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.differential import (
    RECORDED,
    ProgramHung,
    ProgramsFailed,
    Run,
    Tally,
    answers,
    asked,
    compare,
    numbers,
    on_penstock,
)
from benchmarks.flink_programs import kinds, programs
from benchmarks.kit.peers import PeerHung, PyFlink

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


class TestCompare:
    def test_tells_of_differences_and_of_programs_that_hang(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        several = [programs.program(seed) for seed in range(12)]
        hung, other = (
            next(each for each in several if each["mode"] == mode)
            for mode in ("STREAMING", "BATCH")
        )

        def pyflink(order: dict[str, Any]) -> list[Any]:
            if order["programs"] == [hung["steps"]]:
                raise ProgramHung("no answer")
            results = on_penstock("local")(order)
            return (
                [*results, (0, ("z", 1, 1))] if order["programs"] == [other["steps"]] else results
            )

        tally = Tally(len(several), io.StringIO())
        compare(several, pyflink, {"local": on_penstock("local")}, tally)
        told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert {"hung": "no answer", "program": hung} in told
        (different,) = [each for each in told if "target" in each]
        assert different["program"] == other
        assert ["z", 1, 1] in different["pyflink"]
        assert ["z", 1, 1] not in different["penstock"]
        assert str(tally) == "11 of 12 programs compared, 1 differences, 1 hung on PyFlink"

    def test_shows_a_line_that_moves_on_a_terminal_and_one_a_job_elsewhere(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        moving, still = Screen(), io.StringIO()
        for out in (moving, still):
            tally = Tally(3, out)
            tally.show()
            tally.tell({"hung": "once"})
            tally.show(whole=True)
        line = "0 of 3 programs compared, 0 differences, 0 hung on PyFlink"
        shown = f"{line} (0 run there)"
        assert moving.getvalue().split("\r\033[K") == ["", shown, "", shown, shown]
        assert still.getvalue() == f"{line}\n"
        assert capsys.readouterr().out == '{"hung": "once"}\n' * 2


class TestAsked:
    def test_asks_once_more_before_a_program_counts_as_hung(self) -> None:
        flink = Slow(1)
        assert asked(flink, 3)({"mode": "BATCH"}) == [(0, 1)]
        assert flink.orders == [(3, {"mode": "BATCH"})] * 2
        with pytest.raises(ProgramHung, match="too long"):
            asked(Slow(2), 3)({})

    def test_fails_with_what_pyflink_says(self) -> None:
        with pytest.raises(ProgramsFailed, match="no such step"):
            asked(Slow(0, {"error": "no such step"}), 3)({})


class Slow(PyFlink):
    """Answers from its second or third time on."""

    def __init__(self, hangs: int, answer: dict[str, Any] | None = None) -> None:
        self._hangs = hangs
        self._answer = answer or {"results": [(0, 1)]}
        self.orders: list[tuple[float | None, dict[str, Any]]] = []

    def ask(self, within: float | None = None, **order: Any) -> dict[str, Any]:
        self.orders.append((within, order))
        if len(self.orders) <= self._hangs:
            raise PeerHung("too long")
        return self._answer


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_numbers_are_one_or_a_range() -> None:
    assert (numbers("5"), numbers("5-7")) == (range(5, 6), range(5, 8))
