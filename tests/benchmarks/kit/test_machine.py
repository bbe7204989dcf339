from __future__ import annotations

import pytest
from benchmarks.kit import machine


def test_the_facts_name_machine_and_versions() -> None:
    facts = machine.facts()
    assert {"machine", "system", "Python", "Spark", "Java", "pyarrow", "PyFlink"} == facts.keys()
    assert all(facts.values())


def test_busy_is_what_was_spent_otherwise_than_idly(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter([[0, 0, 0, 0, 0, 0, 0, 0], [30, 0, 20, 100, 50, 0, 0, 0]])
    monkeypatch.setattr(machine, "_spent", lambda: next(spent))
    assert machine.busy_share(0) == pytest.approx(0.25)


def test_where_nobody_tells_what_was_spent_the_load_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "_spent", lambda: None)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.setattr("os.getloadavg", lambda: (1.0, 9.0, 9.0))
    assert machine.busy_share() == 0.25


@pytest.mark.parametrize(
    ("answers", "commit"),
    [(["abc", ""], "abc"), (["abc", " M file.py"], "abc with changes"), (["", ""], "unknown")],
)
def test_a_commit_with_changes_is_no_commit(
    monkeypatch: pytest.MonkeyPatch, answers: list[str], commit: str
) -> None:
    left = iter(answers)
    monkeypatch.setattr(machine, "_git", lambda *_: next(left))
    assert machine.commit() == commit


@pytest.mark.parametrize(
    ("answers", "commit"),
    [(["abc", ""], "abc"), (["abc", " M src/file.py"], "abc with changes"), (["", ""], "unknown")],
)
def test_a_folder_with_changes_is_of_no_commit(
    monkeypatch: pytest.MonkeyPatch, answers: list[str], commit: str
) -> None:
    left = iter(answers)
    monkeypatch.setattr(machine, "_git", lambda *_: next(left))
    assert machine.last_commit("src") == commit
