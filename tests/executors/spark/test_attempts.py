"""What an attempt leaves behind that cannot begin."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.executors.spark.attempts import Attempts


class Run:
    """Has a folder of its own."""

    leaves_functions_open = False

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="penstock-ticks-")

    def __call__(self, stop: Any) -> None:
        raise AssertionError

    def clean_up(self) -> None:
        Path(self.folder).rmdir()


def failing(*_: Any) -> Any:
    raise PenstockError("it does not go on from here")


@pytest.mark.parametrize("step", ["run", "interruption"])
def test_an_attempt_that_cannot_begin_leaves_no_folder(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if step == "interruption":
        monkeypatch.setattr("penstock.executors.spark.attempts.Interruption", failing)
    job: Any = SimpleNamespace(spark=None, job_id="job")
    with pytest.raises(PenstockError, match="does not go on"):
        Attempts(job, failing if step == "run" else Run)

    assert list(tmp_path.iterdir()) == []
