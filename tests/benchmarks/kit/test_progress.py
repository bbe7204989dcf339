from __future__ import annotations

import io
from time import monotonic

import pytest
from benchmarks.kit.progress import Progress, clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_line_moves() -> None:
    out = Terminal()
    progress = Progress("[1/2] chain:1", 83.0, monotonic(), out)
    progress.tick()
    progress.tick()
    progress.end("done")
    lines = out.getvalue().split("\r\033[K")
    assert lines[1:3] == ["[1/2] chain:1  0:00 (last time 1:23); 0:00 in all"] * 2
    assert lines[3] == "[1/2] chain:1  done after 0:00\n"


def test_elsewhere_there_are_lines() -> None:
    out = io.StringIO()
    progress = Progress("[1/2] chain:1", None, monotonic(), out)
    progress.note("waiting")
    progress.tick()
    progress.end("failed\nbecause")
    assert out.getvalue() == "[1/2] chain:1\n  waiting\n  failed after 0:00\nbecause\n"


@pytest.mark.parametrize(("seconds", "text"), [(5.9, "0:05"), (125, "2:05"), (3_600, "60:00")])
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
