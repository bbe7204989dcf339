"""What follows a failure of a job, as PyFlink 1 sets it."""

from __future__ import annotations

from datetime import timedelta
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
from penstock.errors import InvalidArgumentError

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
    Times are a `datetime.timedelta`, or in milliseconds.

    Example:
        >>> RestartStrategies.no_restart().get_description()
        'restart-strategy.type: none'
    """

    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Lets a job that fails fail: what `no_restart` returns."""

        def __init__(self) -> None:
            super().__init__({RESTART_STRATEGY.key: "none"})

    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Leaves it to the default: what `fall_back_restart` returns."""

        def __init__(self) -> None:
            super().__init__({})

    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts a job a number of times: what `fixed_delay_restart` returns.

        Args:
            restart_attempts: How often it is restarted before it fails.
            delay_between_attempts_interval: The time before each restart.

        Raises:
            InvalidArgumentError: If one is not given, or is no number or interval.
        """

        def __init__(
            self,
            restart_attempts: int | None = None,
            delay_between_attempts_interval: timedelta | int | None = None,
        ) -> None:
            self._attempts = _count(restart_attempts)
            self._delay = _interval(delay_between_attempts_interval)
            super().__init__(
                {
                    RESTART_STRATEGY.key: "fixed-delay",
                    FIXED_DELAY_ATTEMPTS.key: str(restart_attempts),
                    FIXED_DELAY.key: _text(self._delay),
                }
            )

        def get_restart_attempts(self) -> int:
            """Return how often a job is restarted before it fails."""
            return self._attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Return the time before each restart."""
            return self._delay

    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts a job unless it fails too often: what `failure_rate_restart` returns.

        Args:
            max_failure_rate: How many failures within the interval it survives.
            failure_interval: The interval in which failures are counted.
            delay_between_attempts_interval: The time before each restart.

        Raises:
            InvalidArgumentError: If one is not given, or is no number or interval.
        """

        def __init__(
            self,
            max_failure_rate: int | None = None,
            failure_interval: timedelta | int | None = None,
            delay_between_attempts_interval: timedelta | int | None = None,
        ) -> None:
            self._rate = _count(max_failure_rate)
            self._interval = _interval(failure_interval)
            self._delay = _interval(delay_between_attempts_interval)
            super().__init__(
                {
                    RESTART_STRATEGY.key: "failure-rate",
                    FAILURE_RATE_MAX.key: str(max_failure_rate),
                    FAILURE_RATE_INTERVAL.key: _text(self._interval),
                    FAILURE_RATE_DELAY.key: _text(self._delay),
                }
            )

        def get_max_failure_rate(self) -> int:
            """Return how many failures within the interval a job survives."""
            return self._rate

        def get_failure_interval(self) -> timedelta:
            """Return the interval in which failures are counted."""
            return self._interval

        def get_delay_between_attempts_interval(self) -> timedelta:
            """Return the time before each restart."""
            return self._delay

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        """Let a job that fails fail."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        """Leave it to the default: exponential delay if checkpoints are enabled, else no restart."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: timedelta | int
    ) -> FixedDelayRestartStrategyConfiguration:
        """Restart a job a number of times, each time after the same delay.

        Args:
            restart_attempts: How often it is restarted before it fails.
            delay_between_attempts: The time before each restart.

        Returns:
            The settings.
        """
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(
            restart_attempts, delay_between_attempts
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: timedelta | int, delay_interval: timedelta | int
    ) -> FailureRateRestartStrategyConfiguration:
        """Restart a job unless it fails too often.

        Args:
            failure_rate: How many failures within the interval it survives.
            failure_interval: The interval in which failures are counted.
            delay_interval: The time before each restart.

        Returns:
            The settings.
        """
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, failure_interval, delay_interval
        )


def _count(number: int | None) -> int:
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    raise InvalidArgumentError(
        f"{number!r} is no number of failures or restarts.", hint="Give a whole number."
    )


def _interval(time: timedelta | int | None) -> timedelta:
    if isinstance(time, timedelta):
        return time
    if isinstance(time, int) and not isinstance(time, bool):
        return timedelta(milliseconds=time)
    raise InvalidArgumentError(
        f"{time!r} is no interval of a restart strategy.",
        hint="Give a datetime.timedelta, or milliseconds as a whole number.",
    )


def _text(interval: timedelta) -> str:
    return str(Duration.of_millis(interval // timedelta(milliseconds=1)))
