from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import any_of

from penstock.runtime.exchange.elements import WatermarkStatus
from penstock.runtime.exchange.watermarks.status_watermark_valve import StatusWatermarkValve
from penstock.runtime.timestamp import MIN_TIMESTAMP

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE


class Valve(StatusWatermarkValve):
    """A valve, and what it emits."""

    def __init__(self, *channels: Any, **options: Any) -> None:
        self.emitted: list[int | WatermarkStatus] = []
        super().__init__(self.emitted.append, self.emitted.append, **options)
        for channel in channels:
            self.add_channel(channel)

    def taken(self) -> list[int | WatermarkStatus]:
        found = self.emitted.copy()
        self.emitted.clear()
        return found


class Model:
    """The rules in their plainest form: everything is looked at, every time."""

    def __init__(self) -> None:
        self.channels: dict[int, dict[str, Any]] = {}
        self.last = MIN_TIMESTAMP
        self.idle = False
        self.emitted: list[int | WatermarkStatus] = []

    def _emit(self, watermark: int) -> None:
        if watermark > self.last:
            self.last = watermark
            self.emitted.append(watermark)

    def _advance(self) -> None:
        aligned = [c["watermark"] for c in self.channels.values() if c["aligned"]]
        if aligned:
            self._emit(min(aligned))

    def _be_active(self) -> None:
        if self.idle:
            self.idle = False
            self.emitted.append(ACTIVE)

    def _left(self, channel: dict[str, Any]) -> None:
        if any(c["active"] for c in self.channels.values()):
            self._advance()
        elif not self.idle:
            if channel["watermark"] == self.last or not self.channels:
                everything = [channel, *self.channels.values()]
                self._emit(max(c["watermark"] for c in everything))
            self.idle = True
            self.emitted.append(IDLE)

    def add_channel(self, name: int, watermark: int, *, is_idle: bool, holds_back: bool) -> None:
        aligned = not is_idle and (
            holds_back or watermark == MIN_TIMESTAMP or watermark >= self.last
        )
        channel = {"watermark": watermark, "active": not is_idle, "aligned": aligned}
        self.channels[name] = channel
        if is_idle:
            self._left(channel)
        else:
            self._be_active()
            self._advance()

    def remove_channel(self, name: int) -> None:
        channel = self.channels.pop(name)
        self._left(channel)

    def input_watermark(self, name: int, watermark: int) -> None:
        channel = self.channels[name]
        if channel["active"] and watermark > channel["watermark"]:
            channel["watermark"] = watermark
            channel["aligned"] = channel["aligned"] or watermark >= self.last
            self._advance()

    def input_status(self, name: int, status: WatermarkStatus) -> None:
        channel = self.channels[name]
        if status is IDLE and channel["active"]:
            channel.update(active=False, aligned=False)
            self._left(channel)
        elif status is ACTIVE and not channel["active"]:
            channel.update(active=True, aligned=channel["watermark"] >= self.last)
            self._be_active()


steps = st.lists(
    st.tuples(
        any_of(
            ["watermark"] * 5 + ["idle", "active", "add", "remove"],
            range(10),
            [False, True],
            [False, True],
        ),
        st.sampled_from([*range(31), *[MIN_TIMESTAMP] * 9]),
    ),
    max_size=60,
)


@settings(max_examples=300)
@given(st.integers(1, 4), steps)
def test_does_what_the_model_does(channels: int, steps: list[Any]) -> None:
    valve, model = Valve(), Model()
    names = list(range(channels))
    for name in names:
        valve.add_channel(name)
        model.add_channel(name, MIN_TIMESTAMP, is_idle=False, holds_back=False)
    for (step, place, is_idle, holds_back), watermark in steps:
        if step == "add":
            names.append(max(names, default=0) + 1)
            valve.add_channel(
                names[-1], watermark=watermark, is_idle=is_idle, holds_back=holds_back
            )
            model.add_channel(names[-1], watermark, is_idle=is_idle, holds_back=holds_back)
            continue
        if not names:
            continue
        name = names[place % len(names)]
        if step == "remove":
            names.remove(name)
            valve.remove_channel(name)
            model.remove_channel(name)
        elif step == "watermark":
            valve.input_watermark(name, watermark)
            model.input_watermark(name, watermark)
        else:
            status = IDLE if step == "idle" else ACTIVE
            valve.input_status(name, status)
            model.input_status(name, status)
        assert valve.emitted == model.emitted
        assert (valve.last_watermark, valve.is_idle) == (model.last, model.idle)
    emitted = [entry for entry in valve.emitted if isinstance(entry, int)]
    assert emitted == sorted(set(emitted))
    statuses = [entry for entry in valve.emitted if not isinstance(entry, int)]
    assert statuses == [IDLE, ACTIVE] * (len(statuses) // 2) + [IDLE] * (len(statuses) % 2)


def test_one_channel_passes_what_rises() -> None:
    valve = Valve("a")
    for watermark in (25, 25, 20, 26):
        valve.input_watermark("a", watermark)
    valve.input_status("a", IDLE)
    valve.input_watermark("a", 50)
    valve.input_status("a", ACTIVE)
    valve.input_watermark("a", 30)
    assert valve.emitted == [25, 26, IDLE, ACTIVE, 30]


def test_waits_for_the_slowest_channel() -> None:
    valve = Valve("a", "b", "c")
    valve.input_watermark("a", 0)
    valve.input_watermark("b", 0)
    assert valve.taken() == []
    valve.input_watermark("c", 0)
    assert valve.taken() == [0]
    valve.input_watermark("a", 12)
    valve.input_watermark("c", 8)
    valve.input_watermark("c", 15)
    assert valve.taken() == []
    valve.input_watermark("b", 10)
    assert valve.taken() == [10]


def test_a_channel_that_goes_idle_lets_go_of_the_others() -> None:
    valve = Valve("a", "b", "c")
    valve.input_watermark("a", 15)
    valve.input_watermark("b", 10)
    valve.input_status("c", IDLE)
    assert valve.taken() == [10]
    valve.input_status("b", IDLE)
    assert valve.taken() == [15]


def test_a_channel_that_is_back_counts_when_it_has_caught_up() -> None:
    valve = Valve("a", "b")
    valve.input_status("b", IDLE)
    valve.input_watermark("a", 10)
    assert valve.taken() == [10]
    valve.input_status("b", ACTIVE)
    valve.input_watermark("b", 5)
    valve.input_watermark("a", 20)
    assert valve.taken() == [20]
    valve.input_watermark("b", 20)
    valve.input_watermark("a", 30)
    assert valve.taken() == []
    valve.input_watermark("b", 25)
    assert valve.taken() == [25]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        # Who held the watermark back is the last to go: the greatest is flushed.
        (("c", "b", "a"), [10, 20, IDLE]),
        # It is the first to go: the others are brought forward one by one.
        (("a", "b", "c"), [10, 15, 20, IDLE]),
    ],
)
def test_all_going_idle_flushes_the_greatest_watermark(
    order: tuple[str, ...], expected: list[Any]
) -> None:
    valve = Valve("a", "b", "c")
    for name, watermark in {"a": 10, "b": 15, "c": 20}.items():
        valve.input_watermark(name, watermark)
    for name in order:
        valve.input_status(name, IDLE)
    assert valve.emitted == expected


def test_takes_the_place_of_another() -> None:
    valve = Valve(last_watermark=50, is_idle=True)
    valve.add_channel("a", watermark=50, is_idle=True)
    assert valve.taken() == []
    valve.input_status("a", ACTIVE)
    valve.input_watermark("a", 40)
    valve.input_watermark("a", 60)
    assert valve.taken() == [ACTIVE, 60]


def test_a_new_channel_holds_the_watermark_back() -> None:
    valve = Valve("a")
    valve.input_watermark("a", 10)
    valve.add_channel("new")
    valve.input_watermark("a", 20)
    assert valve.taken() == [10]
    valve.remove_channel("new")
    assert valve.taken() == [20]
    assert not valve.has_channel("new")
    assert valve.has_channel("a")


def test_a_new_channel_that_is_behind_holds_back_only_if_it_is_asked_to() -> None:
    for holds_back, expected in ((True, [10]), (False, [10, 20])):
        valve = Valve("a")
        valve.input_watermark("a", 10)
        valve.add_channel("new", watermark=5, holds_back=holds_back)
        valve.input_watermark("a", 20)
        assert valve.emitted == expected
