from __future__ import annotations

import pytest
from hypothesis import given
from tests.runtime.programs import Harness, Journal, Unprintable
from tests.runtime.strategies import blocks

from penstock.common.types import Row
from penstock.errors import PenstockError
from penstock.runtime.exchange.elements import Block
from penstock.runtime.operators.sink import CollectOperator, PrintOperator, SinkOperator


@given(blocks(with_timestamps=None))
def test_a_sink_hands_over_every_record_once_and_in_order(block: Block) -> None:
    journal = Journal()
    harness = Harness(SinkOperator(journal.append))
    harness.process(block.values, block.timestamps)

    assert journal == block.values
    assert not harness.output.log


class TestPrint:
    @pytest.mark.parametrize(
        ("identifier", "subtask", "parallelism", "prefix"),
        [
            (None, 0, 1, ""),
            ("late", 0, 1, "late> "),
            (None, 1, 2, "2> "),
            ("late", 0, 2, "late:1> "),
            ("", 0, 1, "> "),
        ],
    )
    def test_sends_lines_to_the_driver(
        self, identifier: str | None, subtask: int, parallelism: int, prefix: str
    ) -> None:
        harness = Harness(PrintOperator(identifier), subtask=subtask, parallelism=parallelism)
        harness.process(["a", 1, None, (1, "b"), Row(a=1)], [1, 2, 3, 4, 5])

        lines = [f"{prefix}{text}" for text in ("a", "1", "None", "(1, 'b')", "Row(a=1)")]
        assert harness.told == [("print", lines)]

    def test_a_record_without_a_text_is_told_with_the_operator(self) -> None:
        with pytest.raises(PenstockError, match=r"'Mine' .*Unprintable") as raised:
            Harness(PrintOperator(), name="Mine").process([1, Unprintable(), 2])

        assert "ValueError: no text" in str(raised.value)


@given(blocks(with_timestamps=None))
def test_collect_sends_the_records_to_the_driver(block: Block) -> None:
    harness = Harness(CollectOperator("id"))
    harness.process(block.values, block.timestamps)

    assert harness.told == [("collect", ("id", block.values))]
