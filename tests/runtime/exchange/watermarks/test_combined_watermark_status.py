from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.exchange.elements import ChannelWatermark, WatermarkStatus
from penstock.runtime.exchange.watermarks.combined_watermark_status import CombinedWatermarkStatus
from penstock.runtime.timestamp import MIN_TIMESTAMP

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE

Event = tuple[int, int | WatermarkStatus]
events = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-5, 5) | st.sampled_from(WatermarkStatus))
)


class Combined(CombinedWatermarkStatus):
    """One that keeps what it emits."""

    def __init__(self, inputs: int) -> None:
        self.emitted: list[int | WatermarkStatus] = []
        super().__init__(
            [ChannelWatermark()] * inputs,
            ChannelWatermark(),
            self.emitted.append,
            self.emitted.append,
        )

    def take(self, event: Event) -> None:
        number, what = event
        if isinstance(what, int):
            self.input_watermark(number, what)
        else:
            self.input_status(number, what)

    def take_all(self, *events: Event) -> None:
        for event in events:
            self.take(event)


@given(events)
def test_is_what_the_rule_says(sequence: list[Event]) -> None:
    combined = Combined(3)
    watermarks, idle = [MIN_TIMESTAMP] * 3, [False] * 3
    last = MIN_TIMESTAMP
    for number, what in sequence:
        combined.take((number, what))
        if isinstance(what, int):
            watermarks[number] = max(watermarks[number], what)
            idle[number] = False
        else:
            idle[number] = what is IDLE
        active = [at for at, is_idle in zip(watermarks, idle, strict=True) if not is_idle]
        last = max(last, min(active) if active else max(watermarks))

        assert combined.progress == ChannelWatermark(last, not active)
        assert combined.inputs == tuple(map(ChannelWatermark, watermarks, idle))

    told = [at for at in combined.emitted if isinstance(at, int)]
    assert told == sorted(set(told))
    assert told[-1:] == ([last] if last > MIN_TIMESTAMP else [])
    changes = [status for status in combined.emitted if isinstance(status, WatermarkStatus)]
    assert changes == [IDLE, ACTIVE] * (len(changes) // 2) + [IDLE] * (len(changes) % 2)


@given(events, events)
def test_goes_on_where_another_ended(before: list[Event], after: list[Event]) -> None:
    whole, first = Combined(3), Combined(3)
    for event in before:
        whole.take(event)
        first.take(event)
    second = Combined(3)
    CombinedWatermarkStatus.__init__(
        second, first.inputs, first.progress, second.emitted.append, second.emitted.append
    )
    for event in after:
        whole.take(event)
        second.take(event)

    assert first.emitted + second.emitted == whole.emitted


def test_says_the_last_watermark_before_it_says_that_all_are_idle() -> None:
    combined = Combined(2)
    combined.take_all((0, 9), (1, 4), (0, IDLE), (1, IDLE))

    assert combined.emitted == [4, 9, IDLE]


def test_says_that_it_is_active_before_it_says_how_far() -> None:
    combined = Combined(2)
    combined.take_all((0, IDLE), (1, IDLE), (1, 5))

    assert combined.emitted == [IDLE, ACTIVE, 5]
