from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from benchmarks import instructions
from benchmarks.instructions import BEGIN, END, Counted
from benchmarks.instructions_programs import PROGRAMS
from benchmarks.kit import report
from benchmarks.kit.machine import ROOT
from benchmarks.kit.report import between


def written(folder: Path, process: int, thread: int, instructions: int) -> None:
    (folder / f"{process}-{thread:02}").write_text(f"fn=(1)\n1 2\n\ntotals: {instructions}\n")


class TestTotal:
    def test_leaves_out_the_thread_that_waits_and_other_processes(self, tmp_path: Path) -> None:
        for process, thread, count in [(7, 1, 1_000), (7, 2, 20), (7, 3, 3), (77, 2, 500)]:
            written(tmp_path, process, thread, count)
        (tmp_path / "7").write_text("")

        assert instructions.total(tmp_path, 7) == 23
        assert {file.name for file in tmp_path.iterdir()} == {"7", "77-02"}

    def test_of_a_process_without_other_threads_is_nothing(self, tmp_path: Path) -> None:
        written(tmp_path, 7, 1, 1_000)

        assert instructions.total(tmp_path, 7) == 0


class TestCounted:
    def test_is_a_line_of_the_table(self) -> None:
        found = Counted("ten_maps", 8_000.4, 8_400)

        assert found.what == "Ten maps in a chain"
        assert found.cells == ("8,000", "8,400", "1.05")

    def test_says_that_results_were_others(self) -> None:
        found = Counted("ten_maps", 8_000, 8_400, is_same=False)

        assert found.what == "Ten maps in a chain (other results at the base)"


class TestSection:
    def test_has_a_line_for_each_program(self) -> None:
        found = [Counted(name, 1_000, 1_100) for name in PROGRAMS]

        text = instructions.section(found, "abc", "def")

        assert "`python benchmarks/instructions.py --base abc`, commit def" in text
        assert text.count("| 1,000 | 1,100 | 1.10 |") == len(PROGRAMS)

    def test_takes_the_place_of_the_last_one(self) -> None:
        page = f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n"

        once = between(page, BEGIN, END, "new")

        assert once == f"before\n\n{BEGIN}\n\nnew\n\n{END}\n\nafter\n"
        assert between(once, BEGIN, END, "new") == once


class TestPage:
    @pytest.mark.parametrize("name", PROGRAMS)
    def test_has_every_program(self, name: str) -> None:
        _, _, rest = instructions.PAGE.read_text().partition(BEGIN)
        table, found, _ = rest.partition(END)

        assert found
        assert f"\n| {Counted(name, 1, 1).what}" in table

    def test_keeps_the_table_when_the_suite_writes_its_results(self, tmp_path: Path) -> None:
        page = tmp_path / "index.md"
        page.write_text(instructions.PAGE.read_text())
        _, _, before = page.read_text().partition(report.END)

        report.write({}, page)

        _, _, after = page.read_text().partition(report.END)
        assert BEGIN in after
        assert after == before


class TestResults:
    def test_are_told_apart(self) -> None:
        names = ["ten_maps", "reduced_in_place"]

        found = instructions.results(ROOT, names)

        assert list(found) == names
        assert len(set(found.values())) == 2


def test_without_valgrind_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["instructions.py", "--base", "HEAD"])
    monkeypatch.setattr("shutil.which", lambda _: None)

    with pytest.raises(SystemExit, match=r"(?s)valgrind is not on the PATH.*Hint: install it"):
        instructions.main()


def test_a_commit_that_is_not_there_leaves_nothing_behind() -> None:
    with (
        pytest.raises(subprocess.CalledProcessError),
        instructions.worktree("no-such-commit"),
    ):
        pytest.fail("there is no such commit")
