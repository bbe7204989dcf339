"""Notes of jobs that were started on servers outlast the programs that started them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.job_notes import JobNote, drop_note, keep_note, kept_notes, notes_folder

CLICKS = JobNote("sc://a:15002", "/checkpoints/clicks", "1" * 32, "clicks")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_note_is_kept_until_it_is_dropped() -> None:
    assert kept_notes() == []
    others = JobNote("sc://a:15002", "/checkpoints/alarms", "2" * 32, "alarms")
    keep_note(CLICKS)
    keep_note(others)
    assert kept_notes() == [others, CLICKS]
    drop_note(others)
    drop_note(others)
    assert kept_notes() == [CLICKS]


def test_a_location_has_one_note_that_of_its_last_job() -> None:
    later = JobNote(CLICKS.server, CLICKS.location, "2" * 32, "clicks")
    keep_note(CLICKS)
    keep_note(later)
    drop_note(CLICKS)
    assert kept_notes() == [later]


def test_nobody_else_reads_a_note() -> None:
    keep_note(CLICKS)
    assert CLICKS.path.stat().st_mode & 0o77 == 0
    assert notes_folder().stat().st_mode & 0o77 == 0


@pytest.mark.parametrize("text", ["", "{}", "[1]", json.dumps({**vars(CLICKS), "name": 1})])
def test_what_is_no_note_is_passed_over(text: str) -> None:
    keep_note(CLICKS)
    (notes_folder() / "other.json").write_text(text)
    assert kept_notes() == [CLICKS]


def test_without_a_place_for_notes_there_are_none(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.write_text("a file")
    keep_note(CLICKS)
    drop_note(CLICKS)
    assert list(kept_notes()) == []
    monkeypatch.setenv("XDG_STATE_HOME", "~nobody-has-this-name/state")
    keep_note(CLICKS)
    assert list(kept_notes()) == []
