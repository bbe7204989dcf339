"""What assigners by event time raise."""

from __future__ import annotations

from typing import Any

from penstock.errors import InvalidTimestampError
from penstock.runtime.user_code import record_text
from penstock.runtime.windowing.assigner import WindowAssigner


def missing_timestamp(
    assigner: Any, element: Any, context: WindowAssigner.WindowAssignerContext
) -> InvalidTimestampError:
    """Return the error for a record that cannot be put into windows, having no timestamp."""
    operator = context.get_runtime_context().get_task_name()
    return InvalidTimestampError(
        f"Operator {operator!r} puts records into {assigner!r} by their timestamps, and the record "
        f"{record_text(element)} has none.",
        hint="Call assign_timestamps_and_watermarks() before, with a strategy that has a timestamp "
        "assigner; or use windows by processing time.",
    )
