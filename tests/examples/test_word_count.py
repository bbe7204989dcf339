from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.examples.running import EXAMPLES, interrupt, serving, started

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.spark


def test_counts_the_words_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "hamlet.txt"
    file.write_text("To be, or not to be:\nthat is the question.\n\nTo die -- to sleep\n")

    run = subprocess.run(
        [sys.executable, EXAMPLES / "word_count.py", file],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    assert [line.split() for line in run.stdout.splitlines()] == [
        ["4", "to"],
        ["2", "be"],
        *[["1", word] for word in ("die", "is", "not", "or", "question", "sleep", "that", "the")],
    ]


def test_counts_the_words_of_a_socket_until_interrupted() -> None:
    with (
        serving("to be or not", "to be") as server,
        started("word_count.py", "--socket", "localhost", server.port) as run,
    ):
        assert run.stdout is not None
        wanted = {("to", 2), ("be", 2), ("or", 1), ("not", 1)}
        for line in run.stdout:
            wanted -= {
                (word, int(count)) for word, count in re.findall(r"\('(\w+)', (\d+)\)", line)
            }
            if not wanted:
                break
        errors = interrupt(run)

    assert not wanted, errors
    assert run.returncode == 0, errors
    assert re.search(r": cancelled after [^·]+ · 2 records · \d+ epochs?", errors)
    assert "Traceback" not in errors
