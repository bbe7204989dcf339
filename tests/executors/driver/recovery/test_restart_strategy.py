from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.configuration import Configuration
from penstock.executors.driver.recovery.restart_strategy import (
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    NoRestart,
    RestartStrategy,
    restart_strategy_of,
)


class Time:
    """A clock that is set by hand, and chance that is none: in the middle."""

    def __init__(self) -> None:
        self.now = 1_000
        self.chance = 0.5

    def strategy(self, **settings: str) -> RestartStrategy:
        configuration = Configuration()
        for name, value in settings.items():
            configuration.set_string(
                f"restart-strategy.{name.replace('__', '.').replace('_', '-')}", value
            )
        return restart_strategy_of(
            configuration, clock=lambda: self.now, chance=lambda: self.chance
        )

    def fail(self, strategy: RestartStrategy, after: int = 0) -> int | None:
        """Let the job run for a while and fail; if it is restarted, let the delay pass."""
        self.now += after
        delay = strategy.delay_after_failure()
        self.now += delay or 0
        return delay

    def delays(self, strategy: RestartStrategy, failures: int) -> list[int | None]:
        return [self.fail(strategy) for _ in range(failures)]


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, NoRestart),
        ({"execution.checkpointing.interval": "10 s"}, ExponentialDelay),
        ({"execution.checkpointing.interval": "10 s", "restart-strategy.type": "none"}, NoRestart),
        ({"restart-strategy.type": "off"}, NoRestart),
        ({"restart-strategy.type": "disable"}, NoRestart),
        ({"restart-strategy.type": "fixed-delay"}, FixedDelay),
        ({"restart-strategy": "fixed-delay"}, FixedDelay),
        ({"restart-strategy.type": "exponential-delay"}, ExponentialDelay),
        ({"restart-strategy.type": "failure-rate"}, FailureRate),
    ],
)
def test_is_the_one_that_is_configured(settings: dict[str, str], kind: type) -> None:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    assert type(restart_strategy_of(configuration)) is kind


def test_none_gives_up_at_once() -> None:
    assert Time().delays(NoRestart(), 2) == [None, None]


class TestFixedDelay:
    def test_restarts_once_after_a_second_by_default(self) -> None:
        time = Time()
        assert time.delays(time.strategy(type="fixed-delay"), 3) == [1_000, None, None]

    def test_restarts_as_often_as_it_is_told(self) -> None:
        time = Time()
        strategy = time.strategy(
            type="fixed-delay", fixed_delay__attempts="3", fixed_delay__delay="20 ms"
        )
        assert time.delays(strategy, 5) == [20, 20, 20, None, None]


class TestExponentialDelay:
    def test_grows_by_half_from_a_second_to_a_minute_by_default(self) -> None:
        time = Time()
        strategy = time.strategy(type="exponential-delay")
        assert time.delays(strategy, 12) == [
            *[1_000, 1_500, 2_250, 3_375, 5_062, 7_594, 11_391, 17_086, 25_629, 38_443],
            *[57_665, 60_000],
        ]

    def test_is_without_limit_by_default(self) -> None:
        time = Time()
        assert None not in time.delays(time.strategy(type="exponential-delay"), 1_000)

    def test_begins_anew_when_the_job_has_run_long_enough(self) -> None:
        time = Time()
        strategy = time.strategy(
            type="exponential-delay",
            exponential_delay__reset_backoff_threshold="10 s",
            exponential_delay__attempts_before_reset_backoff="2",
        )
        assert time.fail(strategy) == 1_000
        # The time counts from the restart, not from the failure before it.
        assert time.fail(strategy, after=9_999) == 1_500
        assert time.fail(strategy, after=10_000) == 1_000
        assert time.fail(strategy) == 1_500
        assert time.fail(strategy) is None

    @pytest.mark.parametrize(("chance", "delays"), [(0.0, [1_000, 1_500]), (1.0, [1_500, 2_500])])
    def test_is_left_to_chance_within_its_bounds(self, chance: float, delays: list[int]) -> None:
        time = Time()
        time.chance = chance
        strategy = time.strategy(
            type="exponential-delay",
            exponential_delay__backoff_multiplier="2",
            exponential_delay__jitter_factor="0.5",
            exponential_delay__max_backoff="2500 ms",
        )
        # The first delay is never below the initial one: 1,000 and 500 to either side, then 2,000.
        first, second = time.delays(strategy, 2)
        assert first == delays[0]
        assert second == (1_000 if chance == 0 else 2_500)

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
    def test_is_never_beyond_its_bounds(self, chances: list[float]) -> None:
        time = Time()
        strategy = time.strategy(type="exponential-delay", exponential_delay__jitter_factor="1")
        for chance in chances:
            time.chance = chance
            delay = time.fail(strategy)
            assert delay is not None
            assert 1_000 <= delay <= 60_000


class TestFailureRate:
    def test_survives_one_failure_a_minute_by_default(self) -> None:
        time = Time()
        strategy = time.strategy(type="failure-rate")
        assert time.fail(strategy) == 1_000
        assert time.fail(strategy, after=60_000) == 1_000
        assert time.fail(strategy, after=58_999) is None

    @given(st.lists(st.integers(0, 30), max_size=30))
    def test_gives_up_as_soon_as_an_interval_has_one_failure_too_many(
        self, gaps: list[int]
    ) -> None:
        time = Time()
        strategy = time.strategy(
            type="failure-rate",
            failure_rate__max_failures_per_interval="3",
            failure_rate__failure_rate_interval="40 ms",
            failure_rate__delay="0 ms",
        )
        failures: list[int] = []
        for gap in gaps:
            delay = time.fail(strategy, after=gap)
            failures.append(time.now)
            within = [at for at in failures if time.now - at <= 40]
            assert (delay is None) == (len(within) > 3)
