"""What an attempt leaves behind that cannot begin."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.executors.spark.runs.attempts import Attempts


class Run:
    """Has a folder of its own."""

    leaves_functions_open = False

    def __init__(self, at_end: ExitStack) -> None:
        folder = tempfile.mkdtemp(prefix="penstock-ticks-")
        at_end.callback(Path(folder).rmdir)

    def __call__(self, stop: Any) -> None:
        raise AssertionError


class HalfMade(Run):
    """Cannot be made, and has its folder already."""

    def __init__(self, at_end: ExitStack) -> None:
        super().__init__(at_end)
        failing()


def failing(*_: Any) -> Any:
    raise PenstockError("it does not go on from here")


@pytest.mark.parametrize("step", ["run", "interruption"])
def test_an_attempt_that_cannot_begin_leaves_no_folder(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if step == "interruption":
        monkeypatch.setattr("penstock.executors.spark.runs.attempts.Interruption", failing)
    job: Any = SimpleNamespace(spark=None, job_id="job")
    with pytest.raises(PenstockError, match="does not go on"):
        Attempts(job, HalfMade if step == "run" else Run)

    assert list(tmp_path.iterdir()) == []


def test_an_attempt_removes_what_it_has_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    job: Any = SimpleNamespace(spark=None, job_id="job")
    attempts = Attempts(job, Run)
    assert len(list(tmp_path.iterdir())) == 2

    attempts.clean_up()
    attempts.clean_up()
    assert list(tmp_path.iterdir()) == []
