"""Says that records were dropped as late, where, and what would have kept them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from penstock.common.plain_text import counted, shown_name
from penstock.errors import LateRecordsDroppedWarning
from penstock.executors.driver.reports.recent_log import CLIENT_TELLS
from penstock.runtime.late_records import LATENESS
from penstock.runtime.metrics import LATE_RECORDS, Distribution
from penstock.runtime.user_code import UserLine

_LOG: Final = logging.getLogger("penstock")
_EXACT_MILLIS: Final = 10_000

Reports = Iterable[Mapping[str, Any]]
"""What each operator did in all epochs."""


def warn_of_late_records(job: str, reports: Reports, line: UserLine) -> None:
    """Warn that a bounded job has dropped late records, if it has.

    Args:
        job: The name of the job.
        reports: What its operators did.
        line: Where it was started.
    """
    dropped = _Dropped(reports)
    if not dropped.count:
        return
    more = dropped.more
    enough = f"; {more} more would have kept all of them" if more else ""
    line.warn(
        LateRecordsDroppedWarning(
            f"The bounded job {job!r} dropped records that came behind the watermark: {dropped.where}.\n\n"
            "Hint: In BATCH mode (set_runtime_mode) none is late. Else let the watermark stay further behind "
            f"(for_bounded_out_of_orderness{enough}), keep windows for late records (allowed_lateness), or take "
            "these in a side output (side_output_late_data)."
        )
    )


class LateRecordsLog:
    """Says in the log that a job without an end drops late records: at the first, and at ten times as many.

    Args:
        job: The name of the job.
    """

    def __init__(self, job: str) -> None:
        self._job = job
        self._next = 1

    def note(self, reports: Reports) -> None:
        """Look at what its operators have done so far."""
        count = sum(report["user"].get(LATE_RECORDS, 0) for report in reports)
        if count < self._next:
            return
        while self._next <= count:
            self._next *= 10
        dropped = _Dropped(reports)
        more = f"; {dropped.more} more would have kept all of them" if dropped.more else ""
        _LOG.warning(
            "%s: dropped %s that came behind the watermark: %s. To keep them, let the watermark stay further behind "
            "(for_bounded_out_of_orderness%s), keep windows for them (allowed_lateness), or take them in a side "
            "output (side_output_late_data). This is said again at %s records.",
            shown_name(self._job),
            counted(dropped.count, "record"),
            dropped.where,
            more,
            f"{self._next:,}",
            extra={CLIENT_TELLS: True},
        )


class _Dropped:
    """What operators have dropped.

    Attributes:
        count: How many records.
        where: How many at which operator.
        more: How much longer the watermark would have had to wait for all of them; nothing if that would not
            have helped.
    """

    def __init__(self, reports: Reports) -> None:
        found = [report for report in reports if report["user"].get(LATE_RECORDS)]
        counts = [(report["user"][LATE_RECORDS], report["name"]) for report in found]
        lateness = [report["user"].get(LATENESS) for report in found]
        self.count = sum(count for count, _ in counts)
        self.where = ", ".join(f"{count:,} at {name!r}" for count, name in counts)
        known = [one.summary()["max"] for one in lateness if isinstance(one, Distribution)]
        self.more = _rounded_up(int(max(known))) if known else ""


def _rounded_up(millis: int) -> str:
    if millis < _EXACT_MILLIS:
        return f"{millis:,} ms"
    return f"{-(-millis // 1000):,} s"
