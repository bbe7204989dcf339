from __future__ import annotations

import pytest

from penstock.runtime.exchange.elements import ChannelWatermark
from penstock.runtime.progress import SubtaskProgress, merge_progress
from penstock.runtime.timestamp import MIN_TIMESTAMP


def joined(operator_id: str, snapshots: list[bytes]) -> bytes:
    return operator_id.encode() + b":" + b"+".join(snapshots)


def test_is_at_the_beginning_at_first() -> None:
    assert SubtaskProgress().watermark == ChannelWatermark(MIN_TIMESTAMP)
    assert merge_progress([], joined) == SubtaskProgress()


def test_of_one_task_stays_as_it_is() -> None:
    progress = SubtaskProgress(
        ChannelWatermark(5, is_idle=True),
        ((1, ChannelWatermark(4)),),
        70,
        (("a", b"state"),),
        ((5, 4),),
        90,
    )
    assert merge_progress([progress], joined) == progress


def test_is_as_far_as_the_farthest() -> None:
    one = SubtaskProgress(
        ChannelWatermark(5, is_idle=True),
        ((1, ChannelWatermark(4, is_idle=True)), (2, ChannelWatermark(9))),
        70,
        (("a", b"x"), ("b", b"y")),
        ((5, 4), (3, 9)),
        None,
    )
    other = SubtaskProgress(
        ChannelWatermark(3),
        ((1, ChannelWatermark(6, is_idle=True)), (2, ChannelWatermark(1, is_idle=True))),
        60,
        (("a", b"z"),),
        ((3, 6), (7, 1)),
        95,
    )
    assert merge_progress([one, other], joined) == SubtaskProgress(
        ChannelWatermark(5),
        ((1, ChannelWatermark(6, is_idle=True)), (2, ChannelWatermark(9))),
        70,
        (("a", b"a:x+z"), ("b", b"y")),
        ((5, 6), (7, 9)),
        95,
    )


def test_wakes_up_for_the_first() -> None:
    parts = [SubtaskProgress(next_wake_up=time) for time in (None, 9, 7)]
    assert merge_progress(parts, joined).next_wake_up == 7


def test_is_of_tasks_with_the_same_operators() -> None:
    with pytest.raises(ValueError, match="shorter"):
        merge_progress([SubtaskProgress(gauges=((1, 2),)), SubtaskProgress()], joined)
