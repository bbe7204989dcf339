"""What a metric is about, in Flink's words: as an identifier, as a logical scope, and as variables."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.common.configuration.config_option import ConfigOption
from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.metric_options import (
    SCOPE_JM,
    SCOPE_JM_JOB,
    SCOPE_OPERATOR,
    SCOPE_TASK,
    SCOPE_TM,
    SCOPE_TM_JOB,
)
from penstock.common.plain_text import encodable
from penstock.errors import InvalidConfigurationValueError
from penstock.executors.driver.reports.flink_metrics import JobMetric, Level, Scope
from penstock.metrics import ReportedMetric

TASK_MANAGER: Final = "driver"
"""The id of the only task manager that there is to see."""

_VARIABLE: Final = re.compile("<([^<>]*)>")
_LOGICAL: Final = {
    Level.JOB: "jobmanager.job",
    Level.TASK: "taskmanager.job.task",
    Level.OPERATOR: "taskmanager.job.task.operator",
}
_OF_JOB: Final = ("host", "job_id", "job_name")
_OF_TASK: Final = (*_OF_JOB, "tm_id", "task_id", "task_name", "subtask_index")
_OF_OPERATOR: Final = (*_OF_TASK, "operator_id", "operator_name")
_FORMATS: Final[Mapping[Level, tuple[tuple[ConfigOption[str], ...], tuple[str, ...]]]] = {
    Level.JOB: ((SCOPE_JM_JOB, SCOPE_JM), _OF_JOB),
    Level.TASK: ((SCOPE_TASK, SCOPE_TM_JOB, SCOPE_TM), _OF_TASK),
    Level.OPERATOR: ((SCOPE_OPERATOR, SCOPE_TASK, SCOPE_TM_JOB, SCOPE_TM), _OF_OPERATOR),
}
"""For each level its format, with those that a `*` in it stands for; and the variables that there are."""


@dataclass(frozen=True)
class ScopeFormats:
    """How the parts of identifiers are made; without a word of that, they are names alone.

    Attributes:
        job: The parts before the names of a job's metrics.
        task: Those before a task's.
        operator: Those before an operator's.
    """

    job: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    operator: tuple[str, ...] = ()

    @classmethod
    def read(cls, configuration: Configuration) -> ScopeFormats:
        """Read them.

        Raises:
            InvalidConfigurationValueError: If one has a variable that there is not.
        """
        job, task, operator = (_format(configuration, level) for level in _FORMATS)
        return cls(job, task, operator)

    def of(self, level: Level) -> tuple[str, ...]:
        """Return the parts of a level."""
        return {Level.JOB: self.job, Level.TASK: self.task, Level.OPERATOR: self.operator}[level]


def _format(configuration: Configuration, level: Level) -> tuple[str, ...]:
    options, known = _FORMATS[level]
    parts: tuple[str, ...] = ("*",)
    for option in options:
        if parts[0] != "*":
            break
        text = configuration.get(option)
        for name in _VARIABLE.findall(text):
            if name not in known:
                listed = ", ".join(f"<{one}>" for one in known)
                raise InvalidConfigurationValueError(
                    f"{text!r} is no value of the configuration key {option.key!r}: there is no <{name}>.",
                    hint=f"There are {listed}.",
                )
        parts = (*text.split("."), *parts[1:])
    return parts


@dataclass(frozen=True)
class Naming:
    """How a reporter names things.

    Attributes:
        formats: What identifiers are made of.
        delimiter: What stands between their parts.
        excluded: Variables that are left out.
        additional: Variables that are added.
    """

    formats: ScopeFormats
    delimiter: str = "."
    excluded: frozenset[str] = frozenset()
    additional: tuple[tuple[str, str], ...] = ()

    def reported(self, metrics: Iterable[JobMetric]) -> Iterator[ReportedMetric]:
        """Yield the metrics as a reporter is given them: what their names are can be written as UTF-8."""
        known: dict[Scope, tuple[list[str], dict[str, str]]] = {}
        for metric in metrics:
            scope = metric.scope
            if scope not in known:
                known[scope] = self._of(scope)
            before, variables = known[scope]
            own = {
                encodable(key): encodable(value)
                for key, value in metric.variables
                if key not in self.excluded
            }
            yield ReportedMetric(
                encodable(metric.name),
                metric.kind,
                metric.value,
                encodable(self.delimiter.join((*before, *metric.groups, metric.name))),
                encodable(".".join((_LOGICAL[scope.level], *metric.logical_groups))),
                {**variables, **own} if own else variables,
                metric.is_user,
            )

    def _of(self, scope: Scope) -> tuple[list[str], dict[str, str]]:
        found = variables_of(scope)
        parts = [
            _VARIABLE.sub(lambda variable: found[variable[1]], part)
            for part in self.formats.of(scope.level)
        ]
        kept = {key: encodable(value) for key, value in found.items() if key not in self.excluded}
        return parts, {**kept, **dict(self.additional)}


def variables_of(scope: Scope) -> dict[str, str]:
    """Return what Flink calls the variables of a scope, by their names."""
    found = {"host": _HOST, "job_id": scope.job_id, "job_name": scope.job_name}
    if scope.level is Level.JOB:
        return found
    found |= {
        "tm_id": TASK_MANAGER,
        "task_id": str(scope.vertex_id),
        "task_name": str(scope.vertex_name),
        "subtask_index": str(scope.subtask),
    }
    if scope.level is Level.OPERATOR:
        found |= {
            "operator_id": str(scope.operator_id),
            "operator_name": str(scope.operator_name),
        }
    return found


_HOST: Final = socket.gethostname()
