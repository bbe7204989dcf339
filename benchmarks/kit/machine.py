"""What a figure was measured on, and whether anybody else is at work there."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from time import sleep

from benchmarks.kit import peers

from penstock.executors.spark.java import ensure_java

ROOT = Path(__file__).resolve().parents[2]
MEASURED = "docs/benchmarks"
"""What the suite itself writes: it makes no commit another one."""


@cache
def facts() -> dict[str, str]:
    """The machine, and the versions of what runs on it."""
    version = importlib.metadata.version
    return {
        "machine": f"{os.cpu_count()} cores, {_processor()}, {_memory()}",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "Python": platform.python_version(),
        "Spark": version("pyspark"),
        "Java": str(ensure_java().version),
        "pyarrow": version("pyarrow"),
        "PyFlink": peers.VERSION,
    }


def commit() -> str:
    """The commit that is checked out, with a word if files differ from it."""
    found = _git("rev-parse", "--short=12", "HEAD")
    if not found:
        return "unknown"
    changed = _git("status", "--porcelain", "--", ".", f":(exclude){MEASURED}")
    return f"{found} with changes" if changed else found


def last_commit(folder: str) -> str:
    """The last commit that changed a folder, with a word if files there differ from it."""
    found = _git("log", "-1", "--abbrev=12", "--format=%h", "--", folder)
    changed = _git("status", "--porcelain", "--", folder)
    return f"{found} with changes" if changed else found or "unknown"


def busy_share(seconds: float = 1.0) -> float:
    """How much of the processors is in use, between 0 and 1.

    Where the system tells the time they have spent, over the next moment; elsewhere by the load average,
    which remembers the last minute.

    Args:
        seconds: How long to look.
    """
    before = _spent()
    if before is None:
        return min(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    sleep(seconds)
    after = _spent()
    assert after is not None
    total = sum(after) - sum(before)
    idle = sum(after[3:5]) - sum(before[3:5])
    return 1 - idle / total if total else 0.0


def _spent() -> list[int] | None:
    """What all processors together have done since the system's start; the 4th and 5th are idleness."""
    try:
        with Path("/proc/stat").open() as file:
            # What guests have used is part of the first two.
            return [int(number) for number in file.readline().split()[1:9]]
    except OSError:
        return None


def _processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{size / 2**30:.0f} GB"


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], check=False, capture_output=True, text=True, cwd=ROOT
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
