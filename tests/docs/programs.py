"""Runs programs in processes that begin with penstock imported: that takes longer than most of them."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["penstock.executors.local", "penstock.testing", "pyarrow"])


@dataclass(frozen=True)
class Finished:
    """A program that has ended, and what it wrote."""

    returncode: int | None
    stdout: str
    stderr: str


def run_as_main(script: Path, *arguments: str) -> Finished:
    """Run a script in its folder as `python -W error` would, in a process of its own."""
    written = [script.with_suffix(f".{stream}") for stream in ("stdout", "stderr")]
    process = PROCESSES.Process(target=_run, args=(script, *written, *arguments))
    process.start()
    process.join()
    return Finished(process.exitcode, *(path.read_text(encoding="utf-8") for path in written))


def _run(script: Path, stdout: Path, stderr: Path, *arguments: str) -> None:
    sys.stdout, sys.stderr = (path.open("w", encoding="utf-8") for path in (stdout, stderr))
    os.chdir(script.parent)
    sys.argv[:] = [str(script), *arguments]
    warnings.simplefilter("error")
    runpy.run_path(str(script), run_name="__main__")
