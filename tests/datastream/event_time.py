"""What the programs with event time, timers and state share: sources, strategies, functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.common import Configuration, WatermarkStrategy
from penstock.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.functions import ProcessFunction
from penstock.testing import TestingSource, local_environment

MIN, MAX = -(2**63), 2**63 - 1
MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps


def own_time(value: Any, timestamp: int | None) -> Any:
    """Records of these programs are times, or begin with their time."""
    return value[0] if isinstance(value, tuple) else value


class PerRecord(WatermarkGenerator):
    """Each record is followed by its own watermark."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


PER_RECORD = WatermarkStrategy.for_generator(PerRecord)


def timed(
    epochs: Sequence[Sequence[Any]],
    strategy: WatermarkStrategy,
    *,
    parallelism: int = 1,
    environment: StreamExecutionEnvironment | None = None,
) -> DataStream:
    env = environment or local_environment(parallelism)
    source = TestingSource(epochs)
    # The first subtask reads all, so others would hold the watermark back until the end.
    return env.from_source(source, strategy, "times").set_parallelism(1)


def with_backend(backend: str, parallelism: int = 1) -> StreamExecutionEnvironment:
    """Return an environment whose state lives there."""
    env = local_environment(parallelism)
    env.configure(Configuration().set_string("state.backend.type", backend))
    return env


def results(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


class Seen(ProcessFunction):
    """Yields each record with its timestamp and the watermark before it."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def seen(epochs: Sequence[Sequence[Any]], strategy: WatermarkStrategy) -> list[Any]:
    return results(timed(epochs, strategy).process(Seen()))
