"""The example with a page worth looking at, run as a program of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[5]


@contextmanager
def running_shop(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `examples/watched_shop.py` inside, with its checkpoints in a folder, and yield the address of its page."""
    settings = [f"execution.checkpointing.dir={folder / 'checkpoints'}", "rest.port=0"]
    command = [sys.executable, "examples/watched_shop.py", *settings]
    program = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        yield _address(program), program
    finally:
        program.kill()
        program.wait()


def _address(program: subprocess.Popen[str]) -> str:
    assert program.stderr is not None
    lines = []
    for line in program.stderr:
        lines.append(line)
        if found := re.search(r"Job 'clicks per user': (http\S+)", line):
            # What it writes from now on would keep it waiting if nobody read it.
            threading.Thread(target=lines.extend, args=(program.stderr,), daemon=True).start()
            return found[1]
    raise AssertionError("".join(lines))
