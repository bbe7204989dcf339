"""The example with a page worth looking at, run as a program of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[5]


@contextmanager
def running_shop(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `examples/watched_shop.py` inside, with its checkpoints in a folder, and yield the address of its page."""
    settings = [f"execution.checkpointing.dir={folder / 'checkpoints'}", "rest.port=0"]
    command = [sys.executable, "examples/watched_shop.py", *settings]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        try:
            address = _address(program.stderr)
            # What it writes from now on would keep it waiting if nobody read it.
            reader = threading.Thread(target=program.stderr.readlines)
            reader.start()
            try:
                yield address, program
            finally:
                program.kill()
                reader.join()
        finally:
            program.kill()


def _address(output: IO[str]) -> str:
    lines = []
    for line in output:
        lines.append(line)
        if found := re.search(r"Job 'clicks per user': (http\S+)", line):
            return found[1]
    raise AssertionError("".join(lines))
