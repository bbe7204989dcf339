from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.programs import CollectingOutput, Harness, records_of
from tests.runtime.strategies import blocks

from penstock.errors import ValueNotCopyableError
from penstock.runtime.exchange.elements import (
    BLOCK_SIZE,
    Block,
    EndOfInput,
    WatermarkStatus,
)
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.operator import StreamOperator
from penstock.runtime.task.chained_outputs import (
    ChainingOutput,
    CopyingChainingOutput,
    CountingOutput,
)
from penstock.runtime.timestamp import MIN_TIMESTAMP


class Passing(StreamOperator):
    """Emits what it gets, and tells in its output what was called."""

    def process_block(self, block: Block) -> None:
        self.output.collect(block)

    def flush(self) -> None:
        self.output.collect(Block(["flush"]))

    def end_input(self) -> None:
        self.output.collect(Block(["end"]))


def chained(
    kind: type[ChainingOutput] = ChainingOutput, tag: str | None = None
) -> tuple[ChainingOutput, Harness]:
    harness = Harness(Passing(), name="Next")
    return kind(harness.operator, tag), harness


every_kind = pytest.mark.parametrize("kind", [ChainingOutput, CopyingChainingOutput])


@every_kind
class TestChainingOutput:
    @given(stream=st.lists(blocks(with_timestamps=None, with_keys=None), max_size=4))
    def test_passes_records_on_and_counts_them(
        self, kind: type[ChainingOutput], stream: list[Block]
    ) -> None:
        output, harness = chained(kind)
        for block in stream:
            output.collect(block)

        expected = [record for block in stream for record in records_of(block)]
        received = [record for block in harness.output.blocks() for record in records_of(block)]
        assert received == expected
        assert harness.metrics.records_in == len(expected)

    def test_cuts_what_is_too_large(self, kind: type[ChainingOutput]) -> None:
        output, harness = chained(kind)
        output.collect(Block(list(range(2 * BLOCK_SIZE + 1))))

        assert [len(block) for block in harness.output.blocks()] == [BLOCK_SIZE, BLOCK_SIZE, 1]
        assert harness.output.values() == list(range(2 * BLOCK_SIZE + 1))
        assert harness.metrics.records_in == 2 * BLOCK_SIZE + 1

    @pytest.mark.parametrize(
        ("tag", "expected"), [(None, ["main"]), ("late", ["late"]), ("other", [])]
    )
    def test_takes_one_output_of_its_operator(
        self, kind: type[ChainingOutput], tag: str | None, expected: list[str]
    ) -> None:
        output, harness = chained(kind, tag)
        output.collect(Block(["main"]))
        output.collect_side("late", Block(["late"]))

        assert harness.output.values() == expected
        assert harness.metrics.records_in == len(expected)

    @pytest.mark.parametrize("tag", [None, "late"])
    def test_passes_all_that_is_in_band(self, kind: type[ChainingOutput], tag: str | None) -> None:
        output, harness = chained(kind, tag)
        output.emit_watermark(5)
        output.emit_status(WatermarkStatus.IDLE)

        assert harness.output.log == [("watermark", 5), ("status", WatermarkStatus.IDLE)]
        assert (output.watermark, harness.metrics.input_watermark) == (5, 5)

    def test_lets_the_operator_emit_before_those_behind_it_hear_of_the_end(
        self, kind: type[ChainingOutput]
    ) -> None:
        output, harness = chained(kind)
        output.end_input(EndOfInput())
        output.flush()

        assert [
            (what, content.values if isinstance(content, Block) else content)
            for what, content in harness.output.log
        ] == [("main", ["end"]), ("end", EndOfInput()), ("main", ["flush"]), ("flush", None)]


class TestCopying:
    def test_receivers_get_values_of_their_own(self) -> None:
        output, harness = chained(CopyingChainingOutput)
        inner = [1]
        value = {"inner": inner}
        output.collect(Block([value, value], [5, 6], ["k", "k"]))

        [block] = harness.output.blocks()
        assert records_of(block) == [(value, 5, "k"), (value, 6, "k")]
        one, other = block.values
        assert one is not value
        assert one is not other
        assert one["inner"] is not inner

    def test_a_value_that_cannot_be_copied_is_named_with_the_operator_that_should_get_it(
        self,
    ) -> None:
        class Lock:
            def __reduce__(self) -> Any:
                raise TypeError("a lock cannot be copied")

            def __repr__(self) -> str:
                return "<a lock>"

        output, _ = chained(CopyingChainingOutput)
        with pytest.raises(ValueNotCopyableError, match=r"'Next' .*<a lock>") as raised:
            output.collect(Block([1, Lock()]))

        assert "a lock cannot be copied" in str(raised.value)


class TestCountingOutput:
    def both(self) -> tuple[CountingOutput, OperatorMetrics, list[CollectingOutput]]:
        metrics, outputs = OperatorMetrics(), [CollectingOutput(), CollectingOutput()]
        return CountingOutput(outputs, metrics), metrics, outputs

    @given(st.lists(st.tuples(blocks(), st.none() | st.just("late"))))
    def test_counts_each_record_once_however_many_get_it(
        self, stream: list[tuple[Block, str | None]]
    ) -> None:
        output, metrics, outputs = self.both()
        for block, tag in stream:
            if tag is None:
                output.collect(block)
            else:
                output.collect_side(tag, block)

        assert metrics.records_out == sum(len(block) for block, _ in stream)
        for receiver in outputs:
            # Empty blocks go nowhere.
            assert receiver.log == [
                ("main" if tag is None else "side late", block)
                for block, tag in stream
                if block.values
            ]

    @pytest.mark.parametrize(
        ("step", "entry"),
        [
            (
                lambda output: output.emit_status(WatermarkStatus.IDLE),
                ("status", WatermarkStatus.IDLE),
            ),
            (lambda output: output.end_input(EndOfInput()), ("end", EndOfInput())),
            (lambda output: output.flush(), ("flush", None)),
            (lambda output: output.emit_watermark(5), ("watermark", 5)),
        ],
    )
    def test_passes_all_that_is_in_band_to_all(
        self, step: Callable[[CountingOutput], None], entry: tuple[str, Any]
    ) -> None:
        output, metrics, outputs = self.both()
        step(output)

        assert [receiver.log for receiver in outputs] == [[entry], [entry]]
        watermark = 5 if entry[0] == "watermark" else MIN_TIMESTAMP
        assert (output.watermark, metrics.output_watermark) == (watermark, watermark)

    def test_needs_no_receiver(self) -> None:
        metrics = OperatorMetrics()
        CountingOutput([], metrics).collect(Block([1, 2]))

        assert metrics.records_out == 2
