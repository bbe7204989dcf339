from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.programs import Journal, records_of
from tests.runtime.strategies import blocks
from tests.runtime.subtasks import Logging, Ready

from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.operator import StreamOperator


class Clock:
    """A clock that only moves when records are processed."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


CLOCK = Clock()
SIZES: list[int] = []


class Slow(StreamOperator):
    """Takes as many seconds for a record as the record says."""

    def process_block(self, block: Block) -> None:
        SIZES.append(len(block))
        CLOCK.now += sum(block.values)
        self.output.collect(block)


@pytest.fixture
def _fake_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    SIZES.clear()
    monkeypatch.setattr(
        "penstock.runtime.task.subtask.time", SimpleNamespace(perf_counter=CLOCK.perf_counter)
    )


@pytest.mark.usefixtures("_fake_clock")
class TestBlocks:
    def sizes(self, *blocks: Sequence[float]) -> list[int]:
        ready = Ready(Slow())
        ready.begin()
        for block in blocks:
            ready.subtask.process(Block(list(block)))
        return SIZES

    def test_grow_while_the_function_is_fast(self) -> None:
        assert self.sizes([0.0] * 5000) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] + [1024] * 3 + [
            905
        ]

    def test_stay_single_records_while_the_function_is_slow(self) -> None:
        assert self.sizes([0.15] * 10) == [1] * 10

    def test_shrink_when_the_function_becomes_slow(self) -> None:
        fast, slow = [0.0] * 1023, [0.01] * 2000

        # A block of 1,024 was under way; from then on ten records of 10 ms are half of the interval.
        first, *others, _ = self.sizes(fast, slow)[10:]
        assert first == 1024
        assert set(others) <= {9, 10}

    def test_keep_their_size_from_block_to_block_and_epoch_to_epoch(self) -> None:
        ready = Ready(Slow())
        for number in range(2):
            ready.begin(number)
            ready.subtask.process(Block([0.0] * 8))
            ready.subtask.process(Block([0.0] * 3))

        assert SIZES == [1, 2, 4, 1, 3, 8, 3]

    def test_are_never_larger_than_the_largest_block(self) -> None:
        assert max(self.sizes([0.0] * 100_000)) == BLOCK_SIZE

    @settings(max_examples=50)
    @given(st.floats(0.0001, 0.3), st.lists(st.integers(1, 2000), min_size=1, max_size=4))
    def test_let_no_record_wait_longer_than_the_watermark_interval(
        self, cost: float, lengths: list[int]
    ) -> None:
        SIZES.clear()
        sizes = self.sizes(*[[cost] * length for length in lengths])

        assert sum(sizes) == sum(lengths)
        assert all(size == 1 or size * cost < 0.201 for size in sizes)

    @settings(max_examples=30)
    @given(
        stream=st.lists(
            blocks(
                [0.0, 0.001, 0.05, 1.0],
                max_size=60,
                with_timestamps=None,
                with_keys=None,
            ),
            max_size=5,
        )
    )
    def test_are_cut_without_losing_or_mixing_anything(self, stream: list[Block]) -> None:
        journal = Journal()
        ready = Ready(Logging(journal), Slow())
        ready.begin()
        for block in stream:
            ready.subtask.process(block)

        received = [record for step, content in journal if step == "block" for record in content]
        assert received == [record for block in stream for record in records_of(block)]
