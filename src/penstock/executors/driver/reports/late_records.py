"""Says what a bounded job dropped because it was late: nobody looks for what is not there."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.errors import LateRecordsDroppedWarning
from penstock.runtime.user_code import stack_level_of_user
from penstock.runtime.windows.operator.window_operator import LATE_RECORDS


def warn_of_late_records(job: str, reports: Iterable[Mapping[str, Any]]) -> None:
    """Say so where operators dropped records that came late.

    Args:
        job: The name of the job.
        reports: What each operator did in all epochs.
    """
    counts = [
        f"{count} at {report['name']!r}"
        for report in reports
        if (count := report["user"].get(LATE_RECORDS, 0))
    ]
    if not counts:
        return
    warnings.warn(
        LateRecordsDroppedWarning(
            f"The bounded job {job!r} dropped records that came behind the watermark: {', '.join(counts)}.\n\n"
            "Hint: In BATCH mode (set_runtime_mode) none is late. Else let the watermark stay further behind "
            "(for_bounded_out_of_orderness), keep windows for late records (allowed_lateness), or take these "
            "in a side output (side_output_late_data)."
        ),
        stacklevel=stack_level_of_user(),
    )
