"""What managed platforms do not allow: refused before a job runs, or said in plain words when they refuse it."""

from __future__ import annotations

import os
import re
from typing import Final

from penstock.errors import TriggerNotSupportedError

_REFUSED: Final = re.compile(r"\[?INFINITE_STREAMING_TRIGGER_NOT_SUPPORTED\b[^\n]*")
_HINT: Final = (
    "Set execution.trigger to available-now: each run then reads what is there, and the next one goes on from there. Have a "
    "schedule start the job, or run it on a cluster that lets streams run on. See docs/concepts/available-now.md."
)
_YES: Final = {"TRUE", "True", "true", "1"}


def refuse_endless(what: str) -> None:
    """Refuse a stream of Spark's that runs on, where the platform is known to allow none.

    Args:
        what: What is to run, as in "Job 'x'".

    Raises:
        TriggerNotSupportedError: If it is.
    """
    environment = os.environ
    if "DATABRICKS_RUNTIME_VERSION" in environment and environment.get("IS_SERVERLESS") in _YES:
        raise TriggerNotSupportedError(
            f"{what} reads a stream until it is stopped, and serverless compute of Databricks lets no stream run on.",
            hint=_HINT,
        )


def trigger_refused(text: str, what: str) -> TriggerNotSupportedError | None:
    """Return the error to show if a platform has refused a stream that runs on; None if it has not.

    Args:
        text: What the platform said.
        what: What was being done, as in "Job 'x'".
    """
    said = _REFUSED.search(text)
    if said is None:
        return None
    return TriggerNotSupportedError(
        f"{what} reads a stream until it is stopped, and this platform lets no stream run on. It says: {said.group(0)}",
        hint=_HINT,
    )
