"""The settings of a job's checkpoints."""

from __future__ import annotations

from penstock.common.configuration.configuration import Configuration
from penstock.common.configuration.options import CHECKPOINT_DIR, CHECKPOINT_INTERVAL
from penstock.common.configuration.options_without_effect import (
    ALIGNED_CHECKPOINT_TIMEOUT,
    CHECKPOINT_MIN_PAUSE,
    CHECKPOINT_MODE,
    CHECKPOINT_RETENTION,
    CHECKPOINT_TIMEOUT,
    FORCE_UNALIGNED_CHECKPOINTS,
    MAX_CONCURRENT_CHECKPOINTS,
    TOLERABLE_FAILED_CHECKPOINTS,
    UNALIGNED_CHECKPOINTS,
)
from penstock.common.time import Duration
from penstock.datastream.checkpoint_storage import CheckpointStorage, FileSystemCheckpointStorage
from penstock.datastream.checkpointing_mode import CheckpointingMode
from penstock.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from penstock.errors import InvalidArgumentError

__all__ = ["CheckpointConfig"]

_ANY_NUMBER = 2_147_483_647


class CheckpointConfig:
    """The settings of a job's checkpoints: see `StreamExecutionEnvironment.get_checkpoint_config`.

    It is a view of a configuration: what is set here is set there, and the other way round. Every
    epoch of a job is a checkpoint. The interval sets how often what has changed is folded into
    snapshots, and, by being set, that a job which fails is restarted. Times are in milliseconds.

    Args:
        configuration: The configuration. Default: a new one.

    Raises:
        InvalidArgumentError: On setting a mode, a retention or a storage that is none.
        InvalidConfigurationValueError: On setting a number that is out of range.

    Example:
        >>> config = CheckpointConfig().set_checkpoint_interval(10_000)
        >>> config.is_checkpointing_enabled(), config.get_checkpointing_mode()
        (True, <CheckpointingMode.EXACTLY_ONCE: 0>)
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def is_checkpointing_enabled(self) -> bool:
        """Tell whether an interval is set. Default: False."""
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return what a restart guarantees. Default: `CheckpointingMode.EXACTLY_ONCE`."""
        return CheckpointingMode[self._configuration.get(CHECKPOINT_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Set what a restart guarantees. Without effect: state is exactly once in either mode.

        Args:
            checkpointing_mode: The mode.

        Returns:
            This object.
        """
        if not isinstance(checkpointing_mode, CheckpointingMode):
            raise InvalidArgumentError(
                f"{checkpointing_mode!r} is no checkpointing mode.",
                hint="Give CheckpointingMode.EXACTLY_ONCE or CheckpointingMode.AT_LEAST_ONCE.",
            )
        self._configuration.set(CHECKPOINT_MODE, checkpointing_mode.name)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return how often changelogs are folded into snapshots; -1 if that is not set."""
        interval = self._configuration.get(CHECKPOINT_INTERVAL)
        return -1 if interval is None else interval.to_millis()

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Set how often changelogs are folded into snapshots.

        Args:
            checkpoint_interval: Milliseconds, at least 1.

        Returns:
            This object.
        """
        self._configuration.set(CHECKPOINT_INTERVAL, Duration.of_millis(checkpoint_interval))
        return self

    def get_checkpoint_timeout(self) -> int:
        """Return how long a checkpoint may take. Default: 600,000."""
        return self._configuration.get(CHECKPOINT_TIMEOUT).to_millis()

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Set how long a checkpoint may take. Without effect: it is part of its epoch.

        Args:
            checkpoint_timeout: Milliseconds, at least 1.

        Returns:
            This object.
        """
        self._configuration.set(CHECKPOINT_TIMEOUT, Duration.of_millis(checkpoint_timeout))
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """Return the least time between two checkpoints. Default: 0."""
        return self._configuration.get(CHECKPOINT_MIN_PAUSE).to_millis()

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        """Set the least time between two checkpoints. Without effect: see `execution.epoch.interval`.

        Args:
            min_pause_between_checkpoints: Milliseconds, at least 0.

        Returns:
            This object.
        """
        pause = Duration.of_millis(min_pause_between_checkpoints)
        self._configuration.set(CHECKPOINT_MIN_PAUSE, pause)
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """Return how many checkpoints may be under way at once. Default: 1."""
        return self._configuration.get(MAX_CONCURRENT_CHECKPOINTS)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Set how many checkpoints may be under way at once. Without effect: it is one.

        Args:
            max_concurrent_checkpoints: The number, at least 1.

        Returns:
            This object.
        """
        self._configuration.set(MAX_CONCURRENT_CHECKPOINTS, max_concurrent_checkpoints)
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Tell whether no checkpoint may fail. Default: True."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """Set whether no checkpoint may fail. Without effect: none may.

        Args:
            fail_on_checkpointing_errors: Whether none may.

        Returns:
            This object.
        """
        return self.set_tolerable_checkpoint_failure_number(
            0 if fail_on_checkpointing_errors else _ANY_NUMBER
        )

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return how many checkpoints in a row may fail. Default: 0."""
        return self._configuration.get(TOLERABLE_FAILED_CHECKPOINTS)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        """Set how many checkpoints in a row may fail. Without effect: none may.

        What cannot be made durable fails its epoch, and the restart strategy decides what follows.

        Args:
            tolerable_checkpoint_failure_number: The number, at least 0.

        Returns:
            This object.
        """
        number = tolerable_checkpoint_failure_number
        self._configuration.set(TOLERABLE_FAILED_CHECKPOINTS, number)
        return self

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Set what becomes of the checkpoints of a cancelled job.

        Without effect: what lies below the checkpoint location stays, and a temporary folder is
        removed. PyFlink 1 calls it `set_externalized_checkpoint_cleanup`.

        Args:
            retention_mode: What becomes of them.

        Returns:
            This object.
        """
        if not isinstance(retention_mode, ExternalizedCheckpointRetention):
            raise InvalidArgumentError(
                f"{retention_mode!r} does not say what becomes of checkpoints.",
                hint="Give ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION, for instance.",
            )
        self._configuration.set(CHECKPOINT_RETENTION, retention_mode.name)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Tell whether a retention is set. Default: False."""
        return (
            self.get_externalized_checkpoint_retention()
            is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        )

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return the retention. Default: `NO_EXTERNALIZED_CHECKPOINTS`."""
        return ExternalizedCheckpointRetention[self._configuration.get(CHECKPOINT_RETENTION)]

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Tell whether unaligned checkpoints are enabled. Default: False."""
        return self._configuration.get(UNALIGNED_CHECKPOINTS)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Enable unaligned checkpoints. Without effect: nothing is under way when an epoch ends.

        Args:
            enabled: Whether to. Default: True.

        Returns:
            This object.
        """
        self._configuration.set(UNALIGNED_CHECKPOINTS, enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Disable unaligned checkpoints.

        Returns:
            This object.
        """
        return self.enable_unaligned_checkpoints(enabled=False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Set how long alignment may take before a checkpoint is unaligned. Without effect.

        Args:
            alignment_timeout: The time.

        Returns:
            This object.
        """
        self._configuration.set(ALIGNED_CHECKPOINT_TIMEOUT, alignment_timeout)
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return how long alignment may take before a checkpoint is unaligned. Default: 0."""
        return self._configuration.get(ALIGNED_CHECKPOINT_TIMEOUT)

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Do what `set_aligned_checkpoint_timeout` does; this is its older name.

        Args:
            alignment_timeout: The time.

        Returns:
            This object.
        """
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """Do what `get_aligned_checkpoint_timeout` does; this is its older name."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Force unaligned checkpoints. Without effect: see `enable_unaligned_checkpoints`.

        Args:
            force_unaligned_checkpoints: Whether to. Default: True.

        Returns:
            This object.
        """
        self._configuration.set(FORCE_UNALIGNED_CHECKPOINTS, force_unaligned_checkpoints)
        return self

    def is_force_unaligned_checkpoints(self) -> bool:
        """Tell whether unaligned checkpoints are forced. Default: False."""
        return self._configuration.get(FORCE_UNALIGNED_CHECKPOINTS)

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Set where checkpoints are kept. The same as `execution.checkpointing.dir`.

        PyFlink 1 has this method; in PyFlink 2 the key took its place.

        Args:
            storage: For instance a `FileSystemCheckpointStorage`.

        Returns:
            This object.

        Example:
            >>> storage = FileSystemCheckpointStorage("/tmp/checkpoints")
            >>> config = CheckpointConfig().set_checkpoint_storage(storage)
            >>> print(config.get_checkpoint_storage())
            FileSystemCheckpointStorage('/tmp/checkpoints')
        """
        if not isinstance(storage, CheckpointStorage):
            raise InvalidArgumentError(
                f"{storage!r} is no checkpoint storage.",
                hint="Give FileSystemCheckpointStorage(path), or call set_checkpoint_storage_dir(path).",
            )
        self._configuration.set(CHECKPOINT_DIR, storage.get_checkpoint_path())
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Set the folder or object store where checkpoints are kept, as in PyFlink 1.

        Args:
            checkpoint_path: The path, or a URL.

        Returns:
            This object.
        """
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return where checkpoints are kept; None if it is not set."""
        path = self._configuration.get(CHECKPOINT_DIR)
        return None if path is None else FileSystemCheckpointStorage(path)
