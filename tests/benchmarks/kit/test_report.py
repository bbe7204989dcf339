from __future__ import annotations

from pathlib import Path

from benchmarks.kit import report
from benchmarks.kit.measure import Row
from benchmarks.kit.results import Found

ROWS = [
    Row(
        job="ten maps | in one process",
        unit="records/s",
        penstock=[80.0, 90.0, 100.0],
        against="a loop",
        other=[100.0, 100.0, 100.0],
        target=0.95,
        command="python benchmarks/chain.py --part 2",
    ),
    Row(job="memory", unit="bytes", penstock=[80.0], target=100, lower_is_better=True),
]


def found(rows: list[Row], commit: str = "abc", busy: float = 0.0) -> Found:
    return Found(commit, 1, busy, {"Python": "3.11"}, {"rows": [row.as_json() for row in rows]})


def test_each_row_is_a_line_of_the_table(tmp_path: Path) -> None:
    page = tmp_path / "index.md"
    report.write({"chain:2": found(ROWS)}, page)
    lines = page.read_text().splitlines()
    assert (
        "| ten maps / in one process, records/s | 90.00 (80.00 to 100) | a loop: 100 (100 to 100) "
        "| **0.90** (0.80 to 1.00) | at least 0.95 | missed by 5% "
        "| `python benchmarks/chain.py --part 2` |"
    ) in lines
    assert "| memory, bytes | 80.00 (80.00 to 80.00) |  |  | at most 100 | reached | `` |" in lines
    assert (
        "Of 2 rows, 1 reach their target and 1 miss it; in 0 the spread is too wide"
        in page.read_text()
    )


def test_what_stands_around_the_results_stays(tmp_path: Path) -> None:
    page = tmp_path / "index.md"
    page.write_text(f"before\n\n{report.BEGIN}\nold\n{report.END}\n\nafter\n")
    report.write({"chain:2": found(ROWS)}, page)
    once = page.read_text()
    assert once.startswith(f"before\n\n{report.BEGIN}\n\nOf 2 rows")
    assert once.endswith(f"{report.END}\n\nafter\n")
    assert "old" not in once
    report.write({"chain:2": found(ROWS)}, page)
    assert page.read_text() == once


def test_a_script_with_ratios_has_a_picture(tmp_path: Path) -> None:
    report.write({"chain:2": found(ROWS), "timers:1": found(ROWS[1:])}, tmp_path / "index.md")
    assert (tmp_path / "chain.svg").exists()
    assert not (tmp_path / "timers.svg").exists()
    page = (tmp_path / "index.md").read_text()
    assert "(chain.svg)" in page
    assert "timers.svg" not in page


def test_entries_of_several_commits_are_told_apart(tmp_path: Path) -> None:
    page = tmp_path / "index.md"
    report.write({"chain:1": found([], "abc"), "chain:2": found([], "def", busy=0.5)}, page)
    text = page.read_text()
    assert "- chain:1: Python 3.11; commit abc." in text
    assert "- chain:2: Python 3.11; commit def." in text
    assert "Others used the processors just before these entries: chain:2 (50%)." in text


def test_most_of_the_entries_need_no_names(tmp_path: Path) -> None:
    page = tmp_path / "index.md"
    most = {f"timers:{part}": found([], "abc") for part in (1, 2, 3)}
    report.write({**most, "chain:2": found([], "def")}, page)
    text = page.read_text()
    assert (
        "- chain:2: Python 3.11; commit def.\n- All other entries: Python 3.11; commit abc."
    ) in text
