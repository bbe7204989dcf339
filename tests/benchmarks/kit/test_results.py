from __future__ import annotations

from pathlib import Path

from benchmarks.kit.measure import Row
from benchmarks.kit.results import Found, Results


def found(figure: float) -> Found:
    row = Row(job="counting", unit="s", penstock=[figure], other=[])
    return Found("abc", 1.5, 0.1, {"Python": "3.11"}, {"rows": [row.as_json()], "more": [1]})


def test_what_was_put_is_there_for_the_next_reader(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    Results(path).put("chain:1", found(1))
    entries = Results(path).entries
    assert entries == {"chain:1": found(1)}
    assert entries["chain:1"].rows == [Row(job="counting", unit="s", penstock=[1], other=[])]


def test_a_second_run_replaces_its_own_entry_and_no_other(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json")
    results.put("chain:1", found(1))
    results.put("chain:2", found(2))
    results.put("chain:1", found(3))
    again = Results(tmp_path / "results.json")
    assert again.entries == {"chain:1": found(3), "chain:2": found(2)}
    assert again.rows_of("chain:1")[0].penstock == [3]
    assert again.rows_of("chain:9") == []


def test_entries_come_in_the_wanted_order_and_those_that_are_gone_go(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.json")
    for name in ("windows:1", "chain:1", "removed:1"):
        results.put(name, found(1))
    results.arrange(["chain:1", "timers:1", "windows:1"])
    assert list(Results(tmp_path / "results.json").entries) == ["chain:1", "windows:1"]
