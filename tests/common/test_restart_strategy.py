from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock.common import RestartStrategies
from penstock.errors import InvalidArgumentError

FixedDelay = RestartStrategies.FixedDelayRestartStrategyConfiguration
FailureRate = RestartStrategies.FailureRateRestartStrategyConfiguration


def test_strategies_tell_what_they_were_given() -> None:
    delay = RestartStrategies.fixed_delay_restart(3, 1_500)
    assert type(delay) is FixedDelay
    assert delay == FixedDelay(3, timedelta(seconds=1.5))
    assert delay.get_restart_attempts() == 3
    assert delay.get_delay_between_attempts_interval() == timedelta(milliseconds=1_500)

    rate = RestartStrategies.failure_rate_restart(2, timedelta(minutes=5), 10)
    assert type(rate) is FailureRate
    assert rate == FailureRate(2, 300_000, 10)
    assert rate.get_max_failure_rate() == 2
    assert rate.get_failure_interval() == timedelta(minutes=5)
    assert rate.get_delay_between_attempts_interval() == timedelta(milliseconds=10)


def test_strategies_without_settings_are_of_classes_of_their_own() -> None:
    none, fall_back = RestartStrategies.no_restart(), RestartStrategies.fall_back_restart()
    assert type(none) is RestartStrategies.NoRestartStrategyConfiguration
    assert type(fall_back) is RestartStrategies.FallbackRestartStrategyConfiguration
    assert none != fall_back


@pytest.mark.parametrize(
    "wrong",
    [
        FixedDelay,
        lambda: FixedDelay(3, "1 s"),  # type: ignore[arg-type]
        lambda: FailureRate(1, None, 1),
        lambda: FailureRate(1, 1, None),
    ],
)
def test_what_is_no_number_or_interval_is_refused(wrong: Callable[[], Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"is no (number|interval)"):
        wrong()
