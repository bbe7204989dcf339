"""One run of an entry: a process of its own, on a quiet machine if that can be had."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from benchmarks.kit.entries import Entry
from benchmarks.kit.machine import ROOT, busy_share, commit, facts
from benchmarks.kit.report import BUSY
from benchmarks.kit.results import Found

LONGEST = 1_800.0
"""Seconds after which an entry is given up."""
GRACE = 10.0
"""Seconds that what an entry has started may take to end."""
LAST_LINES = 15
"""How much of a failed entry's output is shown."""


class EntryFailed(Exception):
    """An entry ended without results; the message says how."""


def wait_for_quiet(
    patience: float, note: Callable[[str], None], busy: Callable[[], float] = busy_share
) -> float:
    """Waits until others leave the processors alone.

    Args:
        patience: How many seconds to wait for that; then the entry begins all the same.
        note: Is told what is waited for.
        busy: How much of the processors is in use.

    Returns:
        How much of the processors is in use now, between 0 and 1.
    """
    until = monotonic() + patience
    while (share := busy()) > BUSY:
        if monotonic() > until:
            note(f"others use {share:.0%} of the processors: measured all the same")
            break
        note(f"others use {share:.0%} of the processors: waiting")
    return share


def run_entry(
    entry: Entry, logs: Path, busy: float, tick: Callable[[], None], *, quick: bool
) -> Found:
    """Runs an entry to its end.

    Args:
        entry: What to run.
        logs: The folder for what it says.
        busy: How much of the processors others use.
        tick: Is called every second or so.
        quick: Whether it does less of everything.

    Returns:
        What it found.

    Raises:
        EntryFailed: It ended otherwise than well, wrote nothing, or took too long.
    """
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"{entry.name.replace(':', '-')}.log"
    at = commit()
    start = monotonic()
    with TemporaryDirectory(prefix="suite-") as folder, log.open("wb") as said:
        written = Path(folder, "found.json")
        command = entry.command(*(["--quick"] if quick else []), "--json", str(written))
        _run(command, said.fileno(), log, tick)
        if not written.exists():
            raise EntryFailed(f"It wrote no figures. What it said: {log}")
        output = json.loads(written.read_text())
    return Found(at, round(monotonic() - start, 1), round(busy, 2), facts(), output)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all that it has started, and returns when they are gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        start = monotonic()
        while monotonic() < start + 2 * GRACE:
            process.poll()
            os.killpg(process.pid, 0 if monotonic() < start + GRACE else signal.SIGKILL)
            sleep(0.05)


def _run(command: list[str], said: int, log: Path, tick: Callable[[], None]) -> None:
    # A session of its own: whatever it has started ends with it, and cannot disturb the next entry.
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
    )
    until = monotonic() + LONGEST
    try:
        while process.poll() is None:
            tick()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)
            if monotonic() > until:
                raise EntryFailed(f"It took longer than {LONGEST:.0f} s. What it said: {log}")
    finally:
        _end_group(process)
    if process.returncode:
        lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        raise EntryFailed("\n".join([f"It ended with {process.returncode}. Of {log}:", *lines]))
