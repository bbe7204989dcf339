"""Timers in processing time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.datastream.clock import CLOCK, Clock
from tests.datastream.event_time import results

from penstock.common import WatermarkStrategy
from penstock.datastream.functions import KeyedProcessFunction
from penstock.datastream.time_domain import TimeDomain
from penstock.testing import TestingSource, local_environment


class TestProcessingTimers:
    class Remind(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            timers = ctx.timer_service()
            for delay in value[1:]:
                timers.register_processing_time_timer(timers.current_processing_time() + delay)
            yield value[0]
            CLOCK.now += value[0]

        def on_timer(
            self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
        ) -> Iterator[Any]:
            assert ctx.time_domain() is TimeDomain.PROCESSING_TIME
            yield timestamp - 1_000_000, ctx.timer_service().current_processing_time() - 1_000_000

    def run(self, *epochs: list[Any]) -> list[Any]:
        env = local_environment()
        source = TestingSource(epochs, block_size=1)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "waits")
        return results(stream.key_by(lambda value: 0).process(self.Remind()))

    def test_fire_when_the_clock_has_passed_their_time(self, clock: Clock) -> None:
        # Records that are read together are not cut apart by a fast function, so: one an epoch.
        assert self.run([(10, 10, 15)], [(1,)], [(4,)], [(1,)], [(1,)]) == [
            10,
            1,
            (10, 11),
            4,
            1,
            (15, 16),
            1,
        ]

    def test_never_fire_after_the_end_of_input(self, clock: Clock) -> None:
        assert self.run([(10, 50)], [(10,)]) == [10, 10]

    def test_may_be_deleted(self, clock: Clock) -> None:
        class Delete(self.Remind):  # type: ignore[misc, name-defined]
            def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
                yield from super().process_element(value, ctx)
                ctx.timer_service().delete_processing_time_timer(1_000_005)

        source = TestingSource([[(10, 5, 7)], [(1,)], [(1,)]])
        stream = local_environment().from_source(source, WatermarkStrategy.no_watermarks(), "waits")
        found = results(stream.key_by(lambda value: 0).process(Delete()))
        assert found == [10, (7, 10), 1, 1]
