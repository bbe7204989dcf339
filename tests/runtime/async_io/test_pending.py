from __future__ import annotations

import pickle
from typing import Any

from penstock.runtime.async_io.pending import PendingRecord, dealt_out
from penstock.runtime.exchange.elements import Watermark, WatermarkStatus


def part(*found: Any, watermark: int = 0) -> tuple[bytes | None, int]:
    pending = [
        PendingRecord((b"", one), one, None) if isinstance(one, int) else one for one in found
    ]
    return (pickle.dumps(pending) if pending else None), watermark


def dealt(parts: list[Any], parallelism: int, subtask_of: Any = None) -> list[list[Any]]:
    snapshots = [
        dealt_out(parts, subtask, parallelism, subtask_of) for subtask in range(parallelism)
    ]
    return [
        [
            one.value if isinstance(one, PendingRecord) else one
            for one in ([] if snapshot is None else pickle.loads(snapshot))
        ]
        for snapshot in snapshots
    ]


def test_records_are_dealt_out_in_turn() -> None:
    assert dealt([part(1, 2, 3), part(), part(4, 5)], 2) == [[1, 3, 5], [2, 4]]
    assert dealt([part(1, 2), part(3)], 1) == [[1, 2, 3]]
    assert dealt([part(1)], 3) == [[1], [], []]


def test_records_that_come_by_key_go_where_their_key_is() -> None:
    parts = [part(1, 2, 3), part(4, 5)]

    assert dealt(parts, 3, lambda value: value % 3) == [[3], [1, 4], [2, 5]]


def test_the_least_watermark_comes_when_all_records_are_done() -> None:
    """The second subtask had none under way: it had emitted what it was given."""
    parts = [part(1, Watermark(7), 2, Watermark(9), watermark=9), part(3, watermark=8)]

    assert dealt(parts, 2) == [[1, 3, Watermark(8)], [2, Watermark(8)]]


def test_a_stream_that_may_be_active_is_waited_for() -> None:
    parts = [part(1, WatermarkStatus.IDLE), part(2)]

    assert dealt(parts, 2) == [[1, WatermarkStatus.ACTIVE], [2, WatermarkStatus.ACTIVE]]
