from __future__ import annotations

import sys
import traceback
from types import ModuleType

import pytest

from penstock.executors.spark.workers import QuietTraceback, end_quietly


def printed(error: Exception, capsys: pytest.CaptureFixture[str]) -> str:
    try:
        raise error
    except type(error):
        QuietTraceback.print_exc()
    return capsys.readouterr().err


def test_only_the_end_of_spark_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(BrokenPipeError("gone"), capsys) == ""
    assert "ValueError: mine" in printed(ValueError("mine"), capsys)


def test_only_a_worker_of_spark_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    script, daemon = ModuleType("__main__"), ModuleType("__main__")
    vars(script)["traceback"] = traceback
    vars(daemon).update(traceback=traceback, worker=lambda: None)
    for main in (script, daemon):
        monkeypatch.setitem(sys.modules, "__main__", main)
        end_quietly()

    assert vars(script)["traceback"] is traceback
    assert vars(daemon)["traceback"] is QuietTraceback
