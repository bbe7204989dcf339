from __future__ import annotations

import json
import os
import runpy
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks import suite
from benchmarks.kit import runs
from benchmarks.kit.entries import Entry
from benchmarks.kit.measure import Row
from benchmarks.kit.results import Found, Results

ROW = Row(job="counting", unit="s", penstock=[1.0], against="by hand", other=[2.0])
WRITES = """
import json, sys
row = json.loads(sys.argv[1])
with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
    json.dump({"rows": [row], "arguments": sys.argv[2:-2]}, file)
"""


@dataclass(frozen=True)
class Fake(Entry):
    """An entry with a program of its own."""

    program: str = WRITES

    def command(self, *more: str) -> list[str]:
        return [sys.executable, "-c", self.program, json.dumps(ROW.as_json()), *more]


@pytest.fixture(autouse=True)
def _own_logs_and_a_quiet_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "HOME", tmp_path)
    monkeypatch.setattr(suite, "wait_for_quiet", lambda *_: 0.0)
    monkeypatch.setattr(runs, "commit", lambda: "abc")
    monkeypatch.setattr(runs, "facts", lambda: {"Python": "3.11"})


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "results.json")


def test_an_entry_that_fails_is_reported_and_the_others_run(
    results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [
        Fake("chain", "1", ()),
        Fake("chain", "2", (), program="print('Wrong results'); raise SystemExit(3)"),
        Fake("chain", "3", (), program="pass"),
        Fake("chain", "4", ()),
    ]
    assert suite.run_all(entries, results, quick=False) == ["chain:2", "chain:3"]
    assert list(results.entries) == ["chain:1", "chain:4"]
    said = capsys.readouterr().out
    assert "It ended with 3." in said
    assert "Wrong results" in said
    assert "It wrote no figures." in said


def test_what_an_entry_found_is_kept_when_it_fails_later(results: Results) -> None:
    suite.run_all([Fake("chain", "1", ())], results, quick=False)
    suite.run_all([Fake("chain", "1", (), program="raise SystemExit(1)")], results, quick=False)
    assert results.rows_of("chain:1") == [ROW]


def test_a_second_run_says_what_was_and_what_is(
    results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    suite.run_all([Fake("chain", "1", ())], results, quick=False)
    suite.run_all([Fake("chain", "1", ())], results, quick=False)
    assert "was 0.50, is 0.50: counting-s-by-hand" in capsys.readouterr().out


def test_the_quick_form_is_asked_for(results: Results) -> None:
    suite.run_all([Fake("chain", "", ())], results, quick=True)
    assert results.entries["chain"].output["arguments"] == ["--quick"]


def test_an_entry_that_takes_too_long_is_ended(
    results: Results, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runs, "LONGEST", 0.0)
    hangs = Fake("chain", "1", (), program="import time; time.sleep(600)")
    assert suite.run_all([hangs], results, quick=False) == ["chain:1"]
    assert "It took longer than 0 s." in capsys.readouterr().out


def test_what_an_entry_has_started_ends_with_it(results: Results, tmp_path: Path) -> None:
    starts = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
{WRITES}
"""
    suite.run_all([Fake("chain", "1", (), program=starts)], results, quick=False)
    assert results.rows_of("chain:1") == [ROW]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


ENTRIES = [Entry("chain", "1", ()), Entry("chain", "2", ()), Entry("windows", "1", ())]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([], ["chain:1", "chain:2", "windows:1"]),
        (["chain:2"], ["chain:2"]),
        (["windows", "chain:1"], ["chain:1", "windows:1"]),
        (["chain"], ["chain:1", "chain:2"]),
        ([ROW.name], ["windows:1"]),
    ],
)
def test_an_entry_is_chosen_by_its_name_its_script_or_a_row(
    words: list[str], names: list[str], results: Results
) -> None:
    results.put("windows:1", Found("abc", 1, 0, {}, {"rows": [ROW.as_json()]}))
    assert [entry.name for entry in suite.choose(words, ENTRIES, results)] == names


def test_an_unknown_name_is_refused(results: Results) -> None:
    with pytest.raises(SystemExit, match="chian"):
        suite.choose(["chain", "chian"], ENTRIES, results)


def test_the_list_has_entries_and_rows(results: Results) -> None:
    results.put("windows:1", Found("abc", 1, 0, {}, {"rows": [ROW.as_json()]}))
    lines = suite.listing(ENTRIES, results).splitlines()
    assert lines[0].split() == ["chain:1", "never", "run"]
    assert lines[2].split() == ["windows:1", "1", "s,", "at", "abc"]
    assert lines[3].strip() == ROW.name


def test_only_one_suite_runs_on_a_machine(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with suite.alone(lock), pytest.raises(SystemExit, match="Another suite"), suite.alone(lock):
        pass
    with suite.alone(lock):
        pass


def test_the_command_line_is_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["suite.py", "--help"])
    monkeypatch.setattr(sys, "path", list(sys.path))

    with pytest.raises(SystemExit) as ended:
        runpy.run_path(suite.__file__, run_name="__main__")

    assert ended.value.code == 0
    assert "--only" in capsys.readouterr().out
