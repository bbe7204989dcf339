from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.datastream.connectors.file_system import StreamFormat
from penstock.errors import SourceNotReadableError
from penstock.runtime.planned.files import FilesSource
from penstock.runtime.planned.planned_source import Plan

LINES = StreamFormat.text_line_format()


def names(plan: Plan) -> list[str]:
    return [Path(piece.content).name for piece in plan.pieces]


def write(folder: Path, *files: str) -> None:
    for name in files:
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"{name}\n")


def passed_on(plan: Plan) -> str:
    """Return the state of a plan as a checkpoint keeps it."""
    found = json.loads(json.dumps(plan.state))
    assert isinstance(found, str)
    return found


def test_kinds_are_called_as_checkpoints_call_them() -> None:
    kinds = FilesSource(LINES, []).kind, FilesSource(LINES, [], 1).kind
    assert kinds == ("a fixed set of files", "a growing set of files")


class TestFilesThatAreThere:
    def test_are_read_at_once_each_but_once(self, tmp_path: Path) -> None:
        write(tmp_path, "a", "b")
        source = FilesSource(LINES, [str(tmp_path), str(tmp_path / "a")])

        plan = source.planner().plan(None, 2)

        assert (names(plan), plan.is_over) == (["a", "b"], True)
        assert [block.values for block in source.read(plan.pieces[0].content)] == [["a"]]

    def test_are_those_of_the_folder_that_the_program_was_built_in(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path / "in", "a")
        monkeypatch.chdir(tmp_path)
        source = FilesSource(LINES, ["in", f"file:{tmp_path / 'in'}"])
        monkeypatch.chdir("/")

        assert names(source.planner().plan(None, 1)) == ["a"]

    def test_have_to_be_there(self, tmp_path: Path) -> None:
        with pytest.raises(SourceNotReadableError, match="none"):
            FilesSource(LINES, [str(tmp_path / "none")]).planner().plan(None, 1)


class TestFilesThatCome:
    def test_are_read_once_also_from_a_folder_that_is_spelled_otherwise(
        self, tmp_path: Path
    ) -> None:
        folder = tmp_path / "in"
        write(folder, "b")
        first = FilesSource(LINES, [str(folder)], 1).planner().plan(None, 1)
        write(folder, "a")
        spelling = f"file://{tmp_path}/./in/"
        planner = FilesSource(LINES, [spelling, str(folder / "b")], 1).planner()
        second = planner.plan(passed_on(first), 1)

        assert (names(first), names(second)) == (["b"], ["a"])
        assert not first.is_over
        third = FilesSource(LINES, [str(folder)], 1).planner().plan(passed_on(second), 1)
        assert (third.pieces, third.state) == ((), second.state)

    def test_are_looked_for_no_more_often_than_is_said(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [100.0]
        monkeypatch.setattr("penstock.runtime.planned.files.time.monotonic", lambda: now[0])
        planner = FilesSource(LINES, [str(tmp_path)], 1_000).planner()
        assert planner.plan(None, 1) == Plan()
        write(tmp_path, "a")

        now[0] += 0.999
        assert planner.plan(None, 1) == Plan()
        now[0] += 0.002
        assert names(planner.plan(None, 1)) == ["a"]

    def test_of_an_epoch_that_was_not_committed_are_planned_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [100.0]
        monkeypatch.setattr("penstock.runtime.planned.files.time.monotonic", lambda: now[0])
        planner = FilesSource(LINES, [str(tmp_path)], 1).planner()
        write(tmp_path, "a")
        lost = planner.plan(None, 1)
        now[0] += 1

        assert names(lost) == names(planner.plan(None, 1)) == ["a"]
        now[0] += 1
        assert names(planner.plan(lost.state, 1)) == []
        now[0] += 1
        assert names(planner.plan(None, 1)) == ["a"]

    def test_may_come_into_a_folder_that_is_not_there_yet(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        source = FilesSource(LINES, [str(tmp_path / "in")], 1)

        assert source.planner().plan(None, 1) == Plan()
        assert "is not there yet" in caplog.text
        write(tmp_path / "in", "a")
        assert names(source.planner().plan(None, 1)) == ["a"]

    def test_have_to_be_readable(self, tmp_path: Path) -> None:
        write(tmp_path, "a")
        with pytest.raises(SourceNotReadableError, match="cannot be looked for"):
            FilesSource(LINES, [str(tmp_path / "a" / "b")], 1).planner().plan(None, 1)

    def test_while_only_those_that_are_there_are_wanted_are_for_the_next_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = [100.0]
        monkeypatch.setattr("penstock.runtime.planned.files.time.monotonic", lambda: now[0])
        source = FilesSource(LINES, [str(tmp_path)], 1)
        planner = source.planner()
        planner.only_present()
        write(tmp_path, "a")
        first = planner.plan(None, 1)
        write(tmp_path, "b")
        now[0] += 1

        assert names(first) == names(planner.plan(None, 1)) == ["a"]
        assert names(planner.plan(first.state, 1)) == []
        assert names(source.planner().plan(passed_on(first), 1)) == ["b"]
