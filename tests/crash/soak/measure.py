"""The soak: `python -m tests.crash.soak.measure --minutes 60`. Runs a job on Spark, and measures what may grow.

Writes what it measured as CSV and as a picture, and says of each series whether it is flat: how much it grew
over the second half of the time, by its slope. If one is not, it ends with 1.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.crash.killer import number_of
from tests.crash.soak import verdict as soak_verdict
from tests.servers.processes import Process, Session

_MEGABYTE: Final = 1 << 20
_SETTLED: Final = 5.0
"""After how many seconds a file of the output counts as read, and is removed."""


class Soak:
    """A job that runs, and what is measured of it.

    Args:
        folder: Its folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "temporary").mkdir()
        self._log = (folder / "log").open("wb")
        command = [sys.executable, "-m", "tests.crash.soak.job", str(folder)]
        environment = {**os.environ, "TMPDIR": str(folder / "temporary")}
        self._session = Session(command, environment, self._log, self._log)
        self._began = time.monotonic()
        self._last = (0.0, -1)
        self.epoch = -1

    def is_over(self) -> bool:
        return self._session.poll() is not None

    def log(self) -> str:
        return (self._folder / "log").read_text(errors="replace")

    def end(self) -> None:
        self._session.end()
        self._log.close()

    def sample(self) -> dict[str, float]:
        """Return what is measured now, by the names of the series; those not known yet are left out."""
        self._read_output()
        seconds = time.monotonic() - self._began
        found = {"seconds": seconds}
        metadata = self._metadata()
        if metadata is not None:
            self.epoch, found["metadata_kb"] = metadata
            before, epoch = self._last
            if epoch >= 0 and self.epoch > epoch:
                found["epoch_ms"] = (seconds - before) / (self.epoch - epoch) * 1_000
            self._last = seconds, self.epoch
        found["epoch"] = self.epoch
        found |= self._memory()
        if (used := self._heap()) is not None:
            found["jvm_heap_mb"] = used
        for place in ("checkpoints", "output", "temporary"):
            files, size = _sizes(self._folder / place)
            found[f"{place}_files"], found[f"{place}_kb"] = files, size / 1_024
        return found

    def _metadata(self) -> tuple[int, float] | None:
        """Return the last epoch, and how large its metadata is (KB)."""
        folder = self._folder / "checkpoints" / "epochs"
        with contextlib.suppress(FileNotFoundError):
            name = max(os.listdir(folder), key=number_of, default="")
            if number_of(name) >= 0:
                return number_of(name), (folder / name).stat().st_size / 1_024
        return None

    def _memory(self) -> dict[str, float]:
        found = {"driver_mb": 0.0, "jvm_mb": 0.0, "workers_mb": 0.0}
        for process in self._session.processes():
            role, size = _role(process), _proportional_size(process.pid) / _MEGABYTE
            # A JVM that starts a process is there twice for an instant.
            found[role] = max(found[role], size) if process.is_java else found[role] + size
        return {name: size for name, size in found.items() if size}

    def _heap(self) -> float | None:
        """Return how much of Java's heap was used after the last collection of everything (MB)."""
        path = self._folder / "gc.log"
        if not path.exists():
            return None
        found = re.findall(r"Pause Full.* \d+M->(\d+)M", path.read_text())
        return float(found[-1]) if found else None

    def _read_output(self) -> None:
        """Remove files that are visible: as whoever reads them would."""
        with contextlib.suppress(FileNotFoundError):
            for path in (self._folder / "output").rglob("part-*"):
                if path.stat().st_mtime < time.time() - _SETTLED:
                    path.unlink()


def _role(process: Process) -> str:
    if process.is_java:
        return "jvm_mb"
    return "workers_mb" if process.is_spark_worker else "driver_mb"


def _proportional_size(pid: int) -> int:
    """Return the memory of a process, each page that it shares counted in part (bytes)."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        found = re.search(r"^Pss: +(\d+) kB", text, re.MULTILINE)
        return int(found[1]) * 1_024 if found else 0
    return 0


def _sizes(folder: Path) -> tuple[int, int]:
    """Return how many files are below a folder, and their bytes."""
    count = size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += os.stat(os.path.join(place, name)).st_size
                count += 1
    return count, size


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument(
        "--every", type=float, help="seconds between samples; by default 400 samples"
    )
    parser.add_argument("--csv", type=Path, default=Path("soak.csv"))
    parser.add_argument("--svg", type=Path, default=Path("soak.svg"))
    return parser.parse_args()


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all it started ends with it
    every = options.every or max(options.minutes * 60 / 400, 1.0)
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    names = ["seconds", "epoch", *soak_verdict.SERIES]
    soak = Soak(folder)
    try:
        with options.csv.open("w", newline="") as file:
            rows = csv.DictWriter(file, names, restval="", lineterminator="\n")
            rows.writeheader()
            end = time.monotonic() + options.minutes * 60
            while time.monotonic() < end and not soak.is_over():
                sample = soak.sample()
                rows.writerow({name: f"{value:.1f}" for name, value in sample.items()})
                file.flush()
                _tell(sample, end)
                time.sleep(every)
        if soak.is_over():
            print(f"\nThe job ended by itself:\n{soak.log()[-4000:]}")
            return 2
    finally:
        soak.end()
        shutil.rmtree(folder, ignore_errors=True)
    print()
    return soak_verdict.tell(options.csv, options.svg)


def _tell(sample: dict[str, float], end: float) -> None:
    left = max(end - time.monotonic(), 0) / 60
    memory = [f"{name} {sample.get(name, 0):.0f}" for name in ("driver_mb", "jvm_mb", "workers_mb")]
    line = f"{left:5.1f} min left  epoch {sample['epoch']:.0f}  {'  '.join(memory)}"
    if sys.stdout.isatty():
        print(f"\r\033[K{line}"[: shutil.get_terminal_size().columns], end="", flush=True)


if __name__ == "__main__":
    sys.exit(main())
