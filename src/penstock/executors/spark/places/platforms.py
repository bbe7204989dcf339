"""What managed platforms do not allow: refused before a job runs, or said in plain words when they refuse it."""

from __future__ import annotations

import os
import re
from typing import Final

from penstock.errors import PenstockError, TriggerNotSupportedError, UnsupportedOperationError
from penstock.executors.driver.run_end import RunEnd
from penstock.executors.port import JobRequest
from penstock.graph.stream_graph import StreamNode
from penstock.runtime.planned.planned_source import PlannedSource

_TRIGGER: Final = re.compile(r"\[?INFINITE_STREAMING_TRIGGER_NOT_SUPPORTED\b[^\n]*")
_OTHER: Final = re.compile(
    r"\[?(?:UNSUPPORTED_STREAMING_SOURCE_PERMISSION_ENFORCED|NOT_SUPPORTED_WITH_SERVERLESS)\b[^\n]*"
)
_RUN_OFTEN: Final = (
    "Set execution.trigger to available-now: each run then reads what is there, and the next one goes on from there. Have a "
    "schedule start the job, or run it on a cluster that lets streams run on. See docs/concepts/available-now.md."
)
_RUN_ELSEWHERE: Final = (
    "Run the job on a cluster that allows it: on Databricks, classic compute with dedicated access mode. Programs for which "
    "Spark reads no stream may run here: those whose sources all end, and, with execution.trigger set to available-now, "
    "those that read a KafkaSource or a monitored FileSource."
)
_YES: Final = {"TRUE", "True", "true", "1"}


def refuse_endless(request: JobRequest) -> None:
    """Refuse a program that reads a stream until it is stopped, where the platform is known to let none run on.

    It is the client's environment that tells: a process of a server of Spark Connect has another.

    Args:
        request: The program.

    Raises:
        TriggerNotSupportedError: If it does.
    """
    environment = os.environ
    is_serverless = environment.get("IS_SERVERLESS") in _YES
    if "DATABRICKS_RUNTIME_VERSION" not in environment or not is_serverless:
        return
    if RunEnd.of(request.configuration).is_present:
        return
    if any(map(_is_endless, request.graph.sources)):
        raise TriggerNotSupportedError(
            f"Job {request.name!r} reads a stream until it is stopped, and serverless compute of Databricks lets no stream "
            "run on.",
            hint=_RUN_OFTEN,
        )


def _is_endless(source: StreamNode) -> bool:
    """Whether a source does not end; of a function and a socket, nobody knows."""
    read = source.source
    is_fed = isinstance(read, PlannedSource) and not read.has_present
    return not source.is_bounded and not is_fed


def refused(text: str, what: str) -> PenstockError | None:
    """Return the error to show if a platform has refused something; None if it has not.

    Args:
        text: What the platform said.
        what: What was being done, as in "Job 'x'".
    """
    said = _TRIGGER.search(text)
    if said is not None:
        return TriggerNotSupportedError(
            f"{what} reads a stream until it is stopped, and this platform lets no stream run on. It says: {said.group(0)}",
            hint=_RUN_OFTEN,
        )
    said = _OTHER.search(text)
    if said is not None:
        return UnsupportedOperationError(
            f"{what} needs what this platform does not allow. It says: {said.group(0)}",
            hint=_RUN_ELSEWHERE,
        )
    return None
