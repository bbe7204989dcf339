"""What follows a failure: whether a job is restarted, and after what time."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from penstock.common.configuration import options
from penstock.common.configuration.configuration import Configuration

Clock = Callable[[], int]
"""Returns a time in milliseconds that never goes back."""


class RestartStrategy(Protocol):
    """Decides what follows a failure. It is asked once for each, when it has happened."""

    def delay_after_failure(self) -> int | None:
        """Return after how many milliseconds the job is restarted; None to give up."""


class NoRestart:
    """Never restarts a job."""

    def delay_after_failure(self) -> int | None:
        return None


class FixedDelay:
    """Restarts a job a number of times, each time after the same delay.

    Args:
        attempts: How often.
        delay: The delay, in milliseconds.
    """

    def __init__(self, attempts: int, delay: int) -> None:
        self._left = attempts
        self._delay = delay

    def delay_after_failure(self) -> int | None:
        self._left -= 1
        return self._delay if self._left >= 0 else None


class ExponentialDelay:
    """Restarts a job after delays that grow from failure to failure, up to a longest one.

    The first delay is the initial one again, and attempts count anew, once the job has run long enough
    without failure after a restart.

    Args:
        initial: The first delay, in milliseconds.
        longest: The longest delay, in milliseconds.
        multiplier: By how much a delay is longer than the one before.
        reset_after: How long the job must run for that, in milliseconds.
        jitter: The part of a delay that is left to chance, to either side.
        attempts: How often the job is restarted before it fails; None for without limit.
        clock: The time.
        chance: Returns a number from 0 to 1 by chance.
    """

    def __init__(
        self,
        initial: int,
        longest: int,
        multiplier: float,
        reset_after: int,
        jitter: float,
        attempts: int | None,
        *,
        clock: Clock,
        chance: Callable[[], float],
    ) -> None:
        self._initial = initial
        self._longest = longest
        self._multiplier = multiplier
        self._reset_after = reset_after
        self._jitter = jitter
        self._attempts = attempts
        self._clock = clock
        self._chance = chance
        self._delay: float = initial
        self._failures = 0
        self._restarted_at: int | None = None

    def delay_after_failure(self) -> int | None:
        now = self._clock()
        if self._restarted_at is not None and now - self._restarted_at >= self._reset_after:
            self._failures = 0
        self._failures += 1
        if self._attempts is not None and self._failures > self._attempts:
            return None
        is_first = self._failures == 1
        self._delay = self._limited(self._initial if is_first else self._delay * self._multiplier)
        offset = (2 * self._chance() - 1) * self._jitter * self._delay
        delay = round(self._limited(self._delay + offset))
        self._restarted_at = now + delay
        return delay

    def _limited(self, delay: float) -> float:
        return max(self._initial, min(delay, self._longest))


class FailureRate:
    """Restarts a job after a fixed delay, unless it has failed too often within an interval.

    Args:
        most: How many failures within the interval the job survives.
        interval: The interval, in milliseconds.
        delay: The delay, in milliseconds.
        clock: The time.
    """

    def __init__(self, most: int, interval: int, delay: int, *, clock: Clock) -> None:
        self._failures: deque[int] = deque(maxlen=most + 1)
        self._interval = interval
        self._delay = delay
        self._clock = clock

    def delay_after_failure(self) -> int | None:
        now = self._clock()
        self._failures.append(now)
        is_full = len(self._failures) == self._failures.maxlen
        if is_full and now - self._failures[0] <= self._interval:
            return None
        return self._delay


def restart_strategy_of(
    configuration: Configuration,
    *,
    clock: Clock = lambda: time.monotonic_ns() // 1_000_000,
    chance: Callable[[], float] = random.random,
) -> RestartStrategy:
    """Return the strategy that a configuration asks for.

    Without `restart-strategy.type` it is the exponential delay if `execution.checkpointing.interval` is
    set, and else none.

    Args:
        configuration: The job's configuration.
        clock: The time.
        chance: Returns a number from 0 to 1 by chance.
    """
    kind = configuration.get(options.RESTART_STRATEGY)
    if kind is None:
        has_interval = configuration.get(options.CHECKPOINT_INTERVAL) is not None
        kind = "exponential-delay" if has_interval else "none"
    if kind == "fixed-delay":
        return FixedDelay(
            configuration.get(options.FIXED_DELAY_ATTEMPTS),
            configuration.get(options.FIXED_DELAY).to_millis(),
        )
    if kind == "exponential-delay":
        return ExponentialDelay(
            configuration.get(options.EXPONENTIAL_INITIAL_BACKOFF).to_millis(),
            configuration.get(options.EXPONENTIAL_MAX_BACKOFF).to_millis(),
            configuration.get(options.EXPONENTIAL_MULTIPLIER),
            configuration.get(options.EXPONENTIAL_RESET).to_millis(),
            configuration.get(options.EXPONENTIAL_JITTER),
            configuration.get(options.EXPONENTIAL_ATTEMPTS),
            clock=clock,
            chance=chance,
        )
    if kind == "failure-rate":
        return FailureRate(
            configuration.get(options.FAILURE_RATE_MAX),
            configuration.get(options.FAILURE_RATE_INTERVAL).to_millis(),
            configuration.get(options.FAILURE_RATE_DELAY).to_millis(),
            clock=clock,
        )
    return NoRestart()
