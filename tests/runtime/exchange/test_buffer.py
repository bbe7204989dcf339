from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import Unpicklable, Unprintable, records_of
from tests.runtime.strategies import blocks

from penstock.errors import ValueNotSerializableError
from penstock.runtime.exchange.buffer import (
    ABORT,
    Buffer,
    channel_number,
    decode,
    edge_of_channel,
    encode,
)
from penstock.runtime.exchange.elements import (
    Block,
    ChannelWatermark,
    CheckpointBarrier,
    Element,
    Watermark,
)
from penstock.runtime.program import DRIVER

in_band = st.builds(Watermark, st.integers()) | st.builds(
    CheckpointBarrier, st.integers(0), st.text(), st.builds(ChannelWatermark), st.just(())
)
elements = blocks(with_timestamps=None, with_keys=None) | in_band


def shown(found: list[Element]) -> list[Any]:
    return [records_of(item) if isinstance(item, Block) else item for item in found]


@given(st.lists(elements, max_size=5))
def test_what_is_decoded_is_what_was_encoded(sent: list[Element]) -> None:
    payload = encode(sent, "Map")

    assert shown(decode(payload)) == shown(sent)
    assert shown(decode(payload)) == shown(sent)


def test_every_receiver_gets_values_of_its_own() -> None:
    payload = encode([Block([{"n": 1}]), CheckpointBarrier(0, "a")], "Map")

    [first, _] = decode(payload)
    assert isinstance(first, Block)
    first.values[0]["n"] = 2
    [second, _] = decode(payload)

    assert isinstance(second, Block)
    assert second.values == [{"n": 1}]


@given(st.integers(0, 2**32), st.integers(0, 2**20 - 1))
def test_a_channel_names_edge_and_sender(edge: int, sender: int) -> None:
    channel = channel_number(edge, sender)

    assert edge_of_channel(channel) == edge
    assert channel - channel_number(edge, 0) == sender


def test_the_order_is_by_receiver_rank_watermark_channel_and_sequence() -> None:
    buffer = Buffer(
        carrier=0,
        vertex=1,
        subtask=2,
        rank=3,
        watermark=4,
        channel=5,
        sequence=6,
        payload=b"content",
    )

    assert buffer.order == (1, 2, 3, 4, 5, 6)


def test_the_word_that_an_epoch_failed_comes_before_all_else() -> None:
    assert ABORT < DRIVER < 0


class TestValuesThatCannotBePickled:
    @given(st.integers(0, 5), st.integers(0, 5))
    def test_are_named(self, before: int, after: int) -> None:
        values = [*range(before), Unpicklable("culprit"), *range(after)]

        with pytest.raises(ValueNotSerializableError) as raised:
            encode([Watermark(1), Block([1]), Block(values)], "Map")

        assert str(raised.value) == (
            "Operator 'Map' emitted a value that cannot be pickled, so it cannot leave its process: "
            "<culprit>\nTypeError: it holds a lock\n\nHint: Emit plain data; define classes of records "
            "at the top level of a module, not inside a function."
        )

    def test_are_named_among_keys(self) -> None:
        with pytest.raises(ValueNotSerializableError, match="<the key>"):
            encode([Block([1, 2], None, [1, Unpicklable("the key")])], "Map")

    def test_may_have_no_text(self) -> None:
        with pytest.raises(
            ValueNotSerializableError, match=r"<a list whose repr raised ValueError\('no text'\)>"
        ):
            encode([Block([[Unprintable(), Unpicklable()]])], "Map")

    def test_may_be_nested_too_deeply(self) -> None:
        deep: list[Any] = []
        for _ in range(100_000):
            deep = [deep]

        with pytest.raises(ValueNotSerializableError, match="RecursionError"):
            encode([Block([deep])], "Map")

    def test_may_escape_the_search(self) -> None:
        class Moody:
            moods = iter([TypeError("not now")])

            def __reduce__(self) -> tuple[Any, ...]:
                for mood in self.moods:
                    raise mood
                return int, ()

        with pytest.raises(ValueNotSerializableError) as raised:
            encode([Block([Moody()])], "Map")

        assert raised.value.message == "Operator 'Map' emitted what cannot be pickled: not now"
