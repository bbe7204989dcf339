from __future__ import annotations

from penstock.runtime.exchange.elements import Block, EndOfInput
from penstock.testing import StreamRecord, Watermark, WatermarkStatus
from penstock.testing.captured_output import CapturedOutput


def test_keeps_what_comes_in_order_and_side_outputs_apart() -> None:
    output = CapturedOutput()
    output.collect(Block(["a", "b"], [1, None]))
    output.collect_side("late", Block(["c"]))
    output.emit_watermark(5)
    output.emit_status(WatermarkStatus.IDLE)
    output.flush()
    output.end_input(EndOfInput())

    assert output.main == [
        StreamRecord("a", 1),
        StreamRecord("b"),
        Watermark(5),
        WatermarkStatus.IDLE,
    ]
    assert output.watermark == 5
    assert dict(output.sides) == {"late": [StreamRecord("c")]}
