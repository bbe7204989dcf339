"""Which reporters take a job's metrics where, and how they name what a metric is about. Keys and defaults are Flink's.

What one reporter is told has keys of its own, `metrics.reporter.<name>.*`: see `executors/driver/reporters`.
"""

from __future__ import annotations

from typing import Final

from penstock.common.configuration.config_option import ConfigOption

REPORTER_PREFIX: Final = "metrics.reporter."

METRIC_REPORTERS: Final[ConfigOption[str | None]] = ConfigOption(
    "metrics.reporters",
    str,
    None,
    "The names of the metric reporters to use, separated by commas. Default: all that have a "
    "`metrics.reporter.<name>.factory.class`. [Metrics](concepts/metrics.md) lists the settings "
    "of each, `metrics.reporter.<name>.*`.",
)
SCOPE_DELIMITER: Final = ConfigOption(
    "metrics.scope.delimiter",
    str,
    ".",
    "The separator between the parts of a metric's identifier, unless "
    "`metrics.reporter.<name>.scope.delimiter` is set.",
)
SCOPE_JM: Final = ConfigOption(
    "metrics.scope.jm",
    str,
    "<host>.jobmanager",
    "What a `*` at the beginning of `metrics.scope.jm-job` stands for.",
)
SCOPE_JM_JOB: Final = ConfigOption(
    "metrics.scope.jm-job",
    str,
    "<host>.jobmanager.<job_name>",
    "The prefix of a job's metrics, in identifiers such as StatsD's.",
    fallback_keys=("metrics.scope.jm.job",),
)
SCOPE_TM: Final = ConfigOption(
    "metrics.scope.tm",
    str,
    "<host>.taskmanager.<tm_id>",
    "What a `*` at the beginning of `metrics.scope.tm-job` stands for. The only task manager is "
    "the `driver`, which reports for all workers.",
)
SCOPE_TM_JOB: Final = ConfigOption(
    "metrics.scope.tm-job",
    str,
    "<host>.taskmanager.<tm_id>.<job_name>",
    "What a `*` at the beginning of `metrics.scope.task` stands for.",
    fallback_keys=("metrics.scope.tm.job",),
)
SCOPE_TASK: Final = ConfigOption(
    "metrics.scope.task",
    str,
    "<host>.taskmanager.<tm_id>.<job_name>.<task_name>.<subtask_index>",
    "The prefix of a task's metrics. A task is a subtask of a chain of operators.",
)
SCOPE_OPERATOR: Final = ConfigOption(
    "metrics.scope.operator",
    str,
    "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>",
    "The prefix of an operator's metrics, including those of your functions.",
)
