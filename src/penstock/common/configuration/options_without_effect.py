"""Flink's options that are accepted without effect, so that a configuration for Flink need not be changed.

They are checked as all others. Each description says why there is nothing to choose.
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
CHECKPOINT_STORAGE: Final[ConfigOption[str | None]] = ConfigOption(
    "execution.checkpointing.storage",
    str,
    None,
    "execution.checkpointing.dir alone says where checkpoints are.",
    choices=("jobmanager", "filesystem"),
    fallback_keys=("state.checkpoint-storage",),
)
CHECKPOINT_TIMEOUT: Final = ConfigOption(
    "execution.checkpointing.timeout",
    Duration,
    Duration.of_minutes(10),
    "A checkpoint is part of its epoch, and takes as long as it takes.",
    minimum=1,
)
CHECKPOINT_MIN_PAUSE: Final = ConfigOption(
    "execution.checkpointing.min-pause",
    Duration,
    Duration.of_millis(0),
    "Each epoch is a checkpoint; execution.epoch.interval says how often one begins.",
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
    "What cannot be made durable fails its epoch, and the restart strategy decides.",
    minimum=0,
)
CHECKPOINT_RETENTION: Final = ConfigOption(
    "execution.checkpointing.externalized-checkpoint-retention",
    str,
    "NO_EXTERNALIZED_CHECKPOINTS",
    "What lies below execution.checkpointing.dir stays when a job is cancelled, and a temporary folder is removed.",
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
    description="An epoch writes what changed.",
    fallback_keys=("state.backend.incremental",),
)
CHANGELOG_ENABLED: Final[ConfigOption[bool | None]] = ConfigOption(
    "state.changelog.enabled",
    bool,
    None,
    "State is always kept as snapshots and changelogs.",
    fallback_keys=("state.backend.changelog.enabled",),
)
RECOVERY_CLAIM_MODE: Final = ConfigOption(
    "execution.state-recovery.claim-mode",
    str,
    "NO_CLAIM",
    "A savepoint stays the user's, and a job that starts from it works on a copy.",
    choices=("NO_CLAIM", "CLAIM", "LEGACY"),
    fallback_keys=("execution.savepoint-restore-mode",),
)
PYTHON_EXECUTION_MODE: Final = ConfigOption(
    "python.execution-mode",
    str,
    "process",
    "A function always runs in the process that runs the operators.",
    choices=("process", "thread"),
)
PYTHON_BUNDLE_SIZE: Final = ConfigOption(
    "python.fn-execution.bundle.size",
    int,
    1_000,
    "There are no bundles.",
    minimum=1,
)
PYTHON_BUNDLE_TIME: Final = ConfigOption(
    "python.fn-execution.bundle.time",
    int,
    1_000,
    "There are no bundles.",
    minimum=1,
)
