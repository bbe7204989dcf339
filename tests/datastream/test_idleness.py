"""Streams that are empty too long no longer hold watermarks back."""

from __future__ import annotations

from tests.datastream.clock import Clock, passing
from tests.datastream.event_time import MIN, MONOTONOUS, Seen, own_time, results, timed

from penstock.common import Duration, WatermarkStrategy
from penstock.testing import local_environment


class TestIdleness:
    """Time passes as records say."""

    def run(
        self, quiet: list[list[int]], waits: list[list[int]], *, timeout: int = 100
    ) -> dict[int, int]:
        """Return the watermark that each record of the busy stream met."""
        env = local_environment()
        strategy = MONOTONOUS().with_timestamp_assigner(own_time)
        idle = strategy.with_idleness(Duration.of_millis(timeout))
        other = timed(quiet, idle, environment=env)
        counted = iter(range(0, 10_000, 1000))
        busy = timed(waits, WatermarkStrategy.no_watermarks(), environment=env)
        busy = busy.map(passing).assign_timestamps_and_watermarks(
            MONOTONOUS().with_timestamp_assigner(lambda value, _: next(counted))
        )
        found = results(busy.union(other).process(Seen()))
        return {entry[1]: entry[2] for entry in found}

    def test_releases_a_stream_that_was_empty_too_long(self, clock: Clock) -> None:
        found = self.run([[5], [], [], [], []], [[0], [0], [60], [60], [0]])
        # Empty from the end of the second epoch on; 120 ms later it is idle.
        assert found[2000] == found[3000] == 4
        assert found[4000] == 2999

    def test_releases_a_stream_that_never_had_a_record(self, clock: Clock) -> None:
        found = self.run([[], [], [], []], [[0], [101], [0], [0]])
        assert found[1000] == MIN
        assert found[2000] == 999

    def test_does_not_count_the_time_of_an_epoch_that_has_records(self, clock: Clock) -> None:
        found = self.run([[5], [6], [7], [8]], [[500], [500], [500], [500]])
        assert found[2000] == 6

    def test_counts_more_than_the_timeout(self, clock: Clock) -> None:
        found = self.run([[], [], [], []], [[0], [100], [0], [0]])
        assert found[2000] == MIN

    def test_ends_with_the_next_watermark(self, clock: Clock) -> None:
        found = self.run([[5], [], [], [900], [901], []], [[0], [101], [101], [0], [0], [0]])
        # It comes back behind the watermark, and is not waited for.
        assert found[5000] == 3999
