"""What follows a failure of a job, as PyFlink 1 sets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.configuration.options import (
    FAILURE_RATE_DELAY,
    FAILURE_RATE_INTERVAL,
    FAILURE_RATE_MAX,
    FIXED_DELAY,
    FIXED_DELAY_ATTEMPTS,
    OPTIONS,
    RESTART_STRATEGY,
)
from penstock.common.time import Duration

if TYPE_CHECKING:
    from penstock.common.configuration.configuration import Configuration

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


class RestartStrategyConfiguration:
    """What follows a failure: settings that `StreamExecutionEnvironment.set_restart_strategy` takes.

    Two are equal if their settings are.

    Args:
        settings: The settings by key; empty to leave it to the default.
    """

    def __init__(self, settings: dict[str, str]) -> None:
        self._settings = settings

    def get_description(self) -> str:
        """Return the settings as a text for people."""
        listed = ", ".join(f"{key}: {value}" for key, value in self._settings.items())
        return listed or "default restart strategy"

    def apply_to(self, configuration: Configuration) -> None:
        """Put the settings in the place of all settings of restarts that a configuration has."""
        for option in OPTIONS.values():
            if option.key.startswith("restart-strategy."):
                configuration.set(option, None)
        for key, value in self._settings.items():
            configuration.set_string(key, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RestartStrategyConfiguration) and self._settings == other._settings

    def __hash__(self) -> int:
        return hash(frozenset(self._settings.items()))

    def __repr__(self) -> str:
        return f"RestartStrategyConfiguration({self._settings!r})"


class RestartStrategies:
    """Makes what `StreamExecutionEnvironment.set_restart_strategy` takes.

    In PyFlink 2 the keys that begin with `restart-strategy.` took the place of these; both work here.
    Times are in milliseconds.

    Example:
        >>> RestartStrategies.no_restart().get_description()
        'restart-strategy.type: none'
    """

    @staticmethod
    def no_restart() -> RestartStrategyConfiguration:
        """Let a job that fails fail."""
        return RestartStrategyConfiguration({RESTART_STRATEGY.key: "none"})

    @staticmethod
    def fall_back_restart() -> RestartStrategyConfiguration:
        """Leave it to the default: exponential delay if checkpoints are enabled, else no restart."""
        return RestartStrategyConfiguration({})

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int
    ) -> RestartStrategyConfiguration:
        """Restart a job a number of times, each time after the same delay.

        Args:
            restart_attempts: How often it is restarted before it fails.
            delay_between_attempts: The time before each restart.

        Returns:
            The settings.
        """
        return RestartStrategyConfiguration(
            {
                RESTART_STRATEGY.key: "fixed-delay",
                FIXED_DELAY_ATTEMPTS.key: str(restart_attempts),
                FIXED_DELAY.key: str(Duration.of_millis(delay_between_attempts)),
            }
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int, delay_interval: int
    ) -> RestartStrategyConfiguration:
        """Restart a job unless it fails too often.

        Args:
            failure_rate: How many failures within the interval it survives.
            failure_interval: The interval in which failures are counted.
            delay_interval: The time before each restart.

        Returns:
            The settings.
        """
        return RestartStrategyConfiguration(
            {
                RESTART_STRATEGY.key: "failure-rate",
                FAILURE_RATE_MAX.key: str(failure_rate),
                FAILURE_RATE_INTERVAL.key: str(Duration.of_millis(failure_interval)),
                FAILURE_RATE_DELAY.key: str(Duration.of_millis(delay_interval)),
            }
        )
