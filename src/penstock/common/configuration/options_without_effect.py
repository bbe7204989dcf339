"""Flink's options that are accepted without effect, and that a method of PyFlink sets or reads.

Their values are checked as all others. Each description says why there is nothing to choose. Those that only a
configuration can hold are in `flink_keys.txt`.
"""

from __future__ import annotations

from typing import Final

from penstock.common.configuration.config_option import ConfigOption
from penstock.common.time import Duration

BUFFER_TIMEOUT: Final = ConfigOption(
    "execution.buffer-timeout.interval",
    Duration,
    Duration.of_millis(100),
    "Results leave an epoch when it ends.",
    minimum=0,
    fallback_keys=("execution.buffer-timeout",),
)
BUFFER_TIMEOUT_ENABLED: Final = ConfigOption(
    "execution.buffer-timeout.enabled",
    bool,
    default=True,
    description="Results leave an epoch when it ends.",
)
CHECKPOINT_MODE: Final = ConfigOption(
    "execution.checkpointing.mode",
    str,
    "EXACTLY_ONCE",
    "State is exactly once in either mode.",
    choices=("EXACTLY_ONCE", "AT_LEAST_ONCE"),
)
CHECKPOINT_TIMEOUT: Final = ConfigOption(
    "execution.checkpointing.timeout",
    Duration,
    Duration.of_minutes(10),
    "A checkpoint is part of its epoch, and has no time limit.",
    minimum=1,
)
CHECKPOINT_MIN_PAUSE: Final = ConfigOption(
    "execution.checkpointing.min-pause",
    Duration,
    Duration.of_millis(0),
    "Every epoch is a checkpoint; execution.epoch.interval sets how often one begins.",
    minimum=0,
)
MAX_CONCURRENT_CHECKPOINTS: Final = ConfigOption(
    "execution.checkpointing.max-concurrent-checkpoints",
    int,
    1,
    "There is one at a time.",
    minimum=1,
)
TOLERABLE_FAILED_CHECKPOINTS: Final = ConfigOption(
    "execution.checkpointing.tolerable-failed-checkpoints",
    int,
    0,
    "If something cannot be made durable, its epoch fails, and the restart strategy decides.",
    minimum=0,
)
CHECKPOINT_RETENTION: Final = ConfigOption(
    "execution.checkpointing.externalized-checkpoint-retention",
    str,
    "NO_EXTERNALIZED_CHECKPOINTS",
    "Checkpoints below execution.checkpointing.dir stay when a job is cancelled, and a temporary "
    "folder is removed.",
    choices=("NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION"),
)
UNALIGNED_CHECKPOINTS: Final = ConfigOption(
    "execution.checkpointing.unaligned.enabled",
    bool,
    default=False,
    description="No records are under way between operators when an epoch ends.",
    fallback_keys=("execution.checkpointing.unaligned",),
)
FORCE_UNALIGNED_CHECKPOINTS: Final = ConfigOption(
    "execution.checkpointing.unaligned.forced",
    bool,
    default=False,
    description="No records are under way between operators when an epoch ends.",
)
ALIGNED_CHECKPOINT_TIMEOUT: Final = ConfigOption(
    "execution.checkpointing.aligned-checkpoint-timeout",
    Duration,
    Duration.of_millis(0),
    "No records are under way between operators when an epoch ends.",
    minimum=0,
    fallback_keys=("execution.checkpointing.alignment-timeout",),
)
INCREMENTAL_CHECKPOINTS: Final = ConfigOption(
    "execution.checkpointing.incremental",
    bool,
    default=False,
    description="Every epoch writes what has changed.",
    fallback_keys=("state.backend.incremental",),
)
CHANGELOG_ENABLED: Final[ConfigOption[bool | None]] = ConfigOption(
    "state.changelog.enabled",
    bool,
    None,
    "State is always kept as snapshots and changelogs.",
    fallback_keys=("state.backend.changelog.enabled",),
)
CLOSURE_CLEANER_LEVEL: Final = ConfigOption(
    "pipeline.closure-cleaner-level",
    str,
    "RECURSIVE",
    "A Python function is sent to the workers with what it refers to, and nothing else.",
    choices=("NONE", "TOP_LEVEL", "RECURSIVE"),
)
FORCE_KRYO: Final = ConfigOption(
    "pipeline.force-kryo",
    bool,
    default=False,
    description="Records are Python objects; Java's serializers are not used.",
)
FORCE_AVRO: Final = ConfigOption(
    "pipeline.force-avro",
    bool,
    default=False,
    description="Records are Python objects; Java's serializers are not used.",
)
GENERIC_TYPES: Final = ConfigOption(
    "pipeline.generic-types",
    bool,
    default=True,
    description="A record without a declared type is pickled, which Python does for nearly all objects.",
)
LATENCY_INTERVAL: Final = ConfigOption(
    "metrics.latency.interval",
    Duration,
    Duration.of_millis(0),
    "An epoch is as late as it is long: JobClient.progress() and execution.profile tell.",
)
TASK_CANCELLATION_INTERVAL: Final = ConfigOption(
    "task.cancellation.interval",
    Duration,
    Duration.of_seconds(30),
    "A job is cancelled between epochs, and Spark ends the tasks of one that runs.",
    fallback_keys=("task.cancellation-interval",),
)
TASK_CANCELLATION_TIMEOUT: Final = ConfigOption(
    "task.cancellation.timeout",
    Duration,
    Duration.of_minutes(3),
    "A job is cancelled between epochs, and Spark ends the tasks of one that runs.",
    minimum=0,
)
SNAPSHOT_COMPRESSION: Final = ConfigOption(
    "execution.checkpointing.snapshot-compression",
    bool,
    default=False,
    description="The format of an epoch's files cannot be chosen.",
)
