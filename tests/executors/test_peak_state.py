"""What a bounded job keeps at a time does not depend on how long its input is."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import WatermarkStrategy
from penstock.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from penstock.datastream import DataStream
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.runtime.exchange import record_size
from penstock.runtime.windows.operator.pane_windows import AlignedWindows
from penstock.runtime.windows.operator.session_windows import Sessions
from penstock.runtime.windows.operator.window_operator import WindowOperator, WindowSet
from penstock.testing import local_environment

CHANNELS = 4
KEYS = 10
WINDOW = 100
BUFFER = 32


class Punctual(WatermarkGenerator):
    """Emits watermarks by what the records say, so that the test does not depend on a clock."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event_timestamp // CHANNELS % 9 == 0:
            output.emit_watermark(event_timestamp - 1)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


STRATEGY = WatermarkStrategy.for_generator(Punctual).with_timestamp_assigner(
    lambda event, _: event[1]
)


class Watched:
    """Counts what is kept after each block."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: type[WindowSet]) -> None:
        self.peaks: dict[int, int] = {}
        process_block, peaks = WindowOperator.process_block, self.peaks

        def counting(operator: WindowOperator, block: Any) -> None:
            assert operator.windows is kind
            process_block(operator, block)
            subtask = operator.context.get_index_of_this_subtask()
            kept = sum(1 for _ in operator.state.entries())
            peaks[subtask] = max(peaks.get(subtask, 0), kept)

        monkeypatch.setattr(WindowOperator, "process_block", counting)

    def take(self) -> int:
        """Return how much all subtasks kept at most, and begin anew."""
        peak = sum(self.peaks.values())
        self.peaks.clear()
        return peak


def event(number: int, a_channel: int) -> tuple[int, int]:
    """Return the key and the time of an event: each channel runs through all of the time."""
    channel, place = divmod(number, a_channel)
    return number * 7919 % KEYS, place * CHANNELS + channel


def by_splits(events: int) -> DataStream:
    a_channel = events // CHANNELS
    source = NumberSequenceSource(0, events - 1)
    numbers = local_environment(parallelism=CHANNELS).from_source(
        source, WatermarkStrategy.no_watermarks(), "numbers"
    )
    return numbers.map(lambda number: event(number, a_channel)).assign_timestamps_and_watermarks(
        STRATEGY
    )


def by_sources(events: int) -> DataStream:
    env, a_channel = local_environment(parallelism=2), events // CHANNELS
    first, *others = [
        env.from_collection(
            [event(number, a_channel) for number in range(start, start + a_channel)]
        ).assign_timestamps_and_watermarks(STRATEGY)
        for start in range(0, events, a_channel)
    ]
    return first.union(*others)


@pytest.mark.parametrize("read", [by_splits, by_sources])
@pytest.mark.parametrize(
    ("assigner", "kind"),
    [
        (TumblingEventTimeWindows.of(WINDOW), AlignedWindows),
        (EventTimeSessionWindows.with_gap(5), Sessions),
    ],
)
def test_windows_do_not_pile_up(
    monkeypatch: pytest.MonkeyPatch, read: Any, assigner: Any, kind: type[WindowSet]
) -> None:
    monkeypatch.setattr(record_size, "BUFFER_SIZE", BUFFER)
    watched = Watched(monkeypatch, kind)

    def peak_of(events: int) -> int:
        windows = read(events).key_by(lambda it: it[0]).window(assigner)
        counts = windows.apply(lambda key, window, events: [len(events)])
        found = list(counts.execute_and_collect())
        assert sum(found) == events
        return watched.take()

    # Buffers come whole: a channel may be one ahead of the others.
    short, long = peak_of(2_000), peak_of(6_000)
    assert 0 < long <= short * 1.2
