from __future__ import annotations

from typing import Any

from penstock.common.typeinfo import Types
from penstock.runtime.exchange.converting_output import ConvertingOutput, converting
from penstock.runtime.exchange.elements import (
    Block,
    EndOfInput,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from penstock.testing.captured_output import CapturedOutput


class Blocks(CapturedOutput):
    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []

    def collect(self, block: Block) -> None:
        super().collect(block)
        self.blocks.append(block)


def test_values_become_those_of_the_declared_types() -> None:
    captured = Blocks()
    sides = {"late": Types.ROW([Types.INT()]), "raw": Types.PICKLED_BYTE_ARRAY()}
    output, conversion = converting(captured, "op", Types.DOUBLE(), sides)
    side: Any = (1,)

    output.collect(Block([1, 2.5], [10, 20]))
    for tag in ("late", "raw", "other"):
        output.collect_side(tag, Block([side]))

    assert repr(captured.main) == repr([StreamRecord(1.0, 10), StreamRecord(2.5, 20)])
    assert {tag: repr(found[0].value) for tag, found in captured.sides.items()} == {
        "late": "Row(f0=1)",
        "raw": "(1,)",
        "other": "(1,)",
    }
    assert conversion is not None
    assert conversion.one(1.0) == 1


def test_a_block_whose_values_are_of_the_type_passes_as_it_is() -> None:
    captured, block = Blocks(), Block(["a"], None, is_immutable=True)
    converting(captured, "op", Types.STRING(), {})[0].collect(block)
    assert captured.blocks == [block]


def test_where_nothing_is_declared_there_is_none() -> None:
    captured = CapturedOutput()
    for declared in (None, Types.PICKLED_BYTE_ARRAY()):
        assert converting(captured, "op", declared, {}) == (captured, None)
    assert isinstance(converting(captured, "op", None, {"side": Types.INT()})[0], ConvertingOutput)


def test_all_else_passes() -> None:
    captured = CapturedOutput()
    output, _ = converting(captured, "op", Types.INT(), {})

    output.emit_watermark(7)
    output.emit_status(WatermarkStatus.IDLE)
    output.end_input(EndOfInput())
    output.flush()
    assert captured.main == [Watermark(7), WatermarkStatus.IDLE]
    assert output.watermark == captured.watermark == 7
    output.watermark = 9
    assert captured.watermark == 9
    assert output.takes(None) == captured.takes(None)
    assert output.copies_will_do is captured.copies_will_do
