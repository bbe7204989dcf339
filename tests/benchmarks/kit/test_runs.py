from __future__ import annotations

from benchmarks.kit.report import BUSY
from benchmarks.kit.runs import wait_for_quiet


def test_a_quiet_machine_is_not_waited_for() -> None:
    notes: list[str] = []
    assert wait_for_quiet(60, notes.append, lambda: BUSY) == BUSY
    assert notes == []


def test_others_are_waited_for() -> None:
    shares = iter([0.9, 0.5, 0.01])
    notes: list[str] = []
    assert wait_for_quiet(60, notes.append, lambda: next(shares)) == 0.01
    assert notes == [
        "others use 90% of the processors: waiting",
        "others use 50% of the processors: waiting",
    ]


def test_patience_ends() -> None:
    notes: list[str] = []
    assert wait_for_quiet(-1, notes.append, lambda: 0.9) == 0.9
    assert notes == ["others use 90% of the processors: measured all the same"]
