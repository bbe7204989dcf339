"""What the environment can be told of checkpoints, savepoints and restarts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, cast

from penstock.common.configuration.options import CHECKPOINT_DIR, SAVEPOINT_DIR, SAVEPOINT_PATH
from penstock.common.configuration.options_without_effect import CHANGELOG_ENABLED
from penstock.common.epoch_listener import EpochListener
from penstock.common.restart_strategy import RestartStrategyConfiguration
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.errors import InvalidArgumentError

if TYPE_CHECKING:
    from penstock.common.configuration.configuration import Configuration
    from penstock.datastream.checkpointing_mode import CheckpointingMode

__all__ = ["EnvironmentCheckpointing"]


class EnvironmentCheckpointing:
    """What the environment can be told of checkpoints, savepoints and restarts."""

    _configuration: Configuration
    _listeners: list[EpochListener]

    def add_epoch_listener(self, listener: EpochListener) -> None:
        """Let a listener hear of the jobs that are started from now on. PyFlink has no such method.

        Args:
            listener: The listener; see `penstock.datastream.EpochListener`.

        Raises:
            InvalidArgumentError: If it is none.
        """
        if not isinstance(listener, EpochListener):
            raise InvalidArgumentError(
                f"{listener!r} is no epoch listener.",
                hint="Derive a class from penstock.datastream.EpochListener, and give an object of it.",
            )
        self._listeners.append(listener)

    def _begins_anew(self) -> bool:
        """Whether there is no state that a job might go on from."""
        places = (CHECKPOINT_DIR, SAVEPOINT_PATH)
        return all(self._configuration.get(place) is None for place in places)

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the settings of checkpoints; what is set there is set here."""
        return CheckpointConfig(self._configuration)

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> Self:
        """Restart the job from its last epoch when it fails, and fold changelogs now and then.

        Every epoch is durable, with or without this. To take up a job that was started anew, give it a
        checkpoint location of its own: `execution.checkpointing.dir`.

        Args:
            interval: How often changelogs are folded into snapshots, in milliseconds, at least 1.
            mode: What a restart guarantees. Default: `CheckpointingMode.EXACTLY_ONCE`; state is exactly
                once in either mode.

        Returns:
            This environment.

        Raises:
            InvalidArgumentError: If the mode is none.
            InvalidConfigurationValueError: If the interval is below 1.

        Example:
            >>> from penstock.testing import local_environment
            >>> env = local_environment().enable_checkpointing(10_000)
            >>> env.get_checkpoint_interval()
            10000
        """
        config = self.get_checkpoint_config()
        if mode is not None:
            config.set_checkpointing_mode(mode)
        config.set_checkpoint_interval(interval)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return how often changelogs are folded, in milliseconds; -1 if it is not set."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return what a restart guarantees. Default: `CheckpointingMode.EXACTLY_ONCE`."""
        return self.get_checkpoint_config().get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Do what `get_checkpointing_mode` does; this is its newer name."""
        return self.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Tell whether unaligned checkpoints are enabled, which has no effect. Default: False."""
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Tell whether unaligned checkpoints are forced, which has no effect. Default: False."""
        return self.get_checkpoint_config().is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(self, enabled: bool) -> Self:
        """Say whether state is kept as changelogs between snapshots.

        Accepted, so that a PyFlink program runs unchanged, and without effect: it always is.

        Args:
            enabled: Whether it is.

        Returns:
            This environment.
        """
        self._configuration.set(CHANGELOG_ENABLED, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Return what `enable_changelog_state_backend` was given. Default: None."""
        return self._configuration.get(CHANGELOG_ENABLED)

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Set where savepoints are written that are not told where.

        Args:
            directory: The path of a folder, or the URL of a place in an object store. The same as
                `execution.checkpointing.savepoint-dir`.

        Returns:
            This environment.

        Raises:
            InvalidArgumentError: If it is no path.
        """
        if not isinstance(directory, str) or not directory:
            raise InvalidArgumentError(
                f"{directory!r} is no folder for savepoints.",
                hint="Give the path of a folder, or a URL, as a string.",
            )
        self._configuration.set(SAVEPOINT_DIR, cast("str | None", directory))
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Return where savepoints are written that are not told where. Default: None."""
        return self._configuration.get(SAVEPOINT_DIR)

    def set_restart_strategy(self, restart_strategy: RestartStrategyConfiguration) -> None:
        """Set what follows a failure of the job, as in PyFlink 1.

        In PyFlink 2 the keys that begin with `restart-strategy.` took its place; both work here.

        Args:
            restart_strategy: One of `penstock.common.RestartStrategies`. It takes the place of all
                settings of restarts.

        Raises:
            InvalidArgumentError: If it is none.
            InvalidConfigurationValueError: If a number of it is out of range.

        Example:
            >>> from penstock.common import RestartStrategies
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 10_000))
        """
        if not isinstance(restart_strategy, RestartStrategyConfiguration):
            raise InvalidArgumentError(
                f"{restart_strategy!r} is no restart strategy.",
                hint="For instance: RestartStrategies.fixed_delay_restart(3, 10_000).",
            )
        restart_strategy.apply_to(self._configuration)
