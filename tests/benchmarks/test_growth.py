from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from benchmarks.curves import programs, report, sweeps
from benchmarks.curves.measure import Point, Progress, Sweep, WrongResultError, in_process
from benchmarks.curves.report import SweepFigures, Taken
from benchmarks.growth import measured
from benchmarks.kit.entries import CURVES, ENTRIES

from penstock.common.epoch_listener import EpochCompleted

DOCS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
TAKEN: Taken = {"commit": "abc", "machine": {"machine": "a small one"}, "is_quick": True}
EPOCHS = 2


def figures() -> SweepFigures:
    sweep = Sweep("steps", "steps", "here", (1, 10), (1,), lambda *_: iter(()))
    points = [Point(1, 100, [1.0, 4.0, 2.0]), Point(10, 100, [20.0, 10.0, 40.0])]
    return report.figures_of(sweep, points, TAKEN)


class TestCurvesInOneProcess:
    @pytest.mark.parametrize(
        ("curve", "values", "records"),
        [
            (sweeps.keys, [3, 10, 50], 2_000),
            (sweeps.chain, [1, 4], 2_000),
            (sweeps.panes, [1, 2, 5], 2_000),
            (sweeps.calls, [40, 100], 400),
        ],
    )
    def test_come_to_what_they_should(
        self, curve: Callable[..., Iterator[Point]], values: list[int], records: int
    ) -> None:
        points = list(curve(values, EPOCHS, records))

        assert [point.x for point in points] == values
        assert {point.records for point in points} == {records}
        for point in points:
            assert len(point.milliseconds) == EPOCHS
            assert min(point.milliseconds) > 0

    def test_bring_many_keys_in_several_epochs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sweeps, "LOADED", 7)

        points = list(sweeps.keys([5, 30], EPOCHS, 10))

        assert [point.x for point in points] == [5, 30]


class TestChecks:
    def test_refuse_a_wrong_sum(self) -> None:
        wrong = partial(programs.added_to, 5, 3)

        with pytest.raises(WrongResultError, match=r"\(5, 15\) reached the sink .* not \(5, 25\)"):
            in_process([lambda: [0, 1, 2, 3, 4]], programs.chained(1), wrong)

    def test_refuse_a_wrong_count(self) -> None:
        progress = Progress()
        report = {"records_in": 3, "user": {"sum": 6}}
        progress.on_epoch_completed(EpochCompleted("job", 4, 1, 3, 0, 0, {"sink": report}))

        progress.check((3, 6))
        assert progress.epochs == 5
        with pytest.raises(WrongResultError):
            progress.check((4, 6))


class TestWhatProgramsComeTo:
    @pytest.mark.parametrize("records", [0, 7, 1_000, 2_500])
    def test_counts_by_bucket(self, records: int) -> None:
        seen = [0] * programs.BUCKETS
        total = 0
        for number in range(records):
            seen[programs.bucket(number)] += 1
            total += seen[programs.bucket(number)]

        assert programs.counted_by_bucket_to(records) == (records, total)

    def test_exchanges_as_a_chain(self) -> None:
        numbers = list(range(500))
        wanted = partial(programs.added_to, 500, 3)

        assert len(in_process([lambda: numbers], programs.exchanged(3), wanted)) == 1

    def test_known_keys_are_those_that_came(self) -> None:
        known = programs.KnownKeys()

        assert known.grown(3) == [0, 1, 2]
        assert known.found == (3, 3)
        chosen = known.chosen(4)
        assert set(chosen) <= {0, 1, 2}
        assert known.found[0] == 7
        assert known.grown(5) == [3, 4]


class TestFigures:
    def test_of_a_point(self) -> None:
        assert Point(7, 100, [1.0, 4.0, 2.0]).figures() == {
            "x": 7,
            "records": 100,
            "epochs": 3,
            "records_per_second": {"median": 50_000, "min": 25_000, "max": 100_000},
            "epoch_ms": {"median": 2, "min": 1, "max": 4},
        }

    def test_of_a_measured_curve(self, capsys: pytest.CaptureFixture[str]) -> None:
        asked = []

        def points(values: object, epochs: int) -> object:
            asked.append((values, epochs))
            return iter([Point(1_000, 10, [2.0])])

        sweep = Sweep("steps", "steps", "here", (1, 10), (5,), points)  # type: ignore[arg-type]

        found = json.loads(json.dumps(measured(sweep, TAKEN)))

        assert asked == [((5,), 5)]
        assert found["command"] == "python benchmarks/growth.py --sweep steps --quick"
        assert found["commit"] == "abc"
        assert [point["x"] for point in found["points"]] == [1_000]
        assert "1,000" in capsys.readouterr().out


class TestPage:
    def test_has_each_curve_between_its_marks_and_the_same_picture_each_time(
        self, tmp_path: Path
    ) -> None:
        page = tmp_path / "growth.md"
        page.write_text("before\n<!-- steps -->old<!-- end of steps -->\nafter\n")

        report.write([figures()], page)
        once = page.read_text()
        picture = (tmp_path / "growth-steps.svg").read_bytes()
        report.write([figures()], page)

        assert page.read_text() == once
        assert (tmp_path / "growth-steps.svg").read_bytes() == picture
        assert b"<svg" in picture
        assert "(growth-steps.svg)" in once
        assert once.startswith("before\n<!-- steps -->\n")
        assert once.endswith("<!-- end of steps -->\nafter\n")
        assert "old" not in once
        assert "| 10 | **5,000** (2,500 to 10,000) | **20.0** (10.0 to 40.0) | 100 |" in once
        assert "commit abc" in once

    def test_gets_a_curve_at_its_end_that_it_has_no_marks_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(report, "draw", lambda *_: None)

        report.write([figures()], tmp_path / "new.md")

        text = (tmp_path / "new.md").read_text()
        assert text.startswith("<!-- steps -->\n")
        assert text.endswith("<!-- end of steps -->\n")

    @pytest.mark.parametrize("name", CURVES)
    def test_of_the_documentation_has_every_curve(self, name: str) -> None:
        page = (DOCS / "growth.md").read_text()

        assert f"<!-- {name} -->" in page
        assert f"<!-- end of {name} -->" in page
        if f"(growth-{name}.svg)" in page:
            assert (DOCS / f"growth-{name}.svg").exists()


def test_the_suite_runs_every_curve() -> None:
    assert [sweep.name for sweep in sweeps.SWEEPS] == list(CURVES)
    runs = [entry.arguments for entry in ENTRIES if entry.script == "growth"]
    assert runs == [("--sweep", name) for name in CURVES]
