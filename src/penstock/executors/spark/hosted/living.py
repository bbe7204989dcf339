"""Which driver runs a job at a checkpoint location on a server, by the signs of life that it gives."""

from __future__ import annotations

import time
from typing import Final

from penstock.executors.spark.hosted.client_files import ClientFiles
from penstock.executors.spark.hosted.mailbox import drivers_at
from penstock.executors.spark.hosted.reports import ReportName

_SECONDS_FOR_SIGN: Final = 4.0
_POLL_SECONDS: Final = 0.5


def living_driver(files: ClientFiles, seconds: float = _SECONDS_FOR_SIGN) -> str | None:
    """Return the folder of a driver that gives signs of life; None if none does for some seconds.

    Args:
        files: The files at the location.
        seconds: For how long.
    """
    before = _unended(files)
    until = time.monotonic() + seconds
    while before and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
        for folder, names in _unended(files).items():
            if names != before.get(folder):
                return folder
    return None


def _unended(files: ClientFiles) -> dict[str, set[ReportName]]:
    return {
        folder: set(names)
        for folder, names in drivers_at(files).items()
        if not any(name.is_end for name in names)
    }
