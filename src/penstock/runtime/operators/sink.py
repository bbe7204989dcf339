"""The ends of a program: functions of the user, printing, and collecting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.common.types import Row
from penstock.runtime.exchange.elements import Block
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import FunctionOperator
from penstock.runtime.user_code import FAILURES, failing_record, function_failure


class SinkOperator(FunctionOperator):
    """Hands every record to a function of the user.

    Delivers at least once: an epoch that is run again hands its records over again. What a sink is given
    it may keep, as nobody else will change it.
    """

    method = "invoke"
    keeps_to_itself = True

    def open(self) -> None:
        self.context = replace(self.context, without_state="a sink function")
        super().open()


class PrintOperator(StreamOperator):
    """Sends every record's text to the driver, which prints it when the epoch is complete.

    Args:
        identifier: What stands before each line; None for nothing.
        is_of_rows: Whether records are declared to be rows, which are printed as Flink does.
        to_err: Whether it is printed to standard error, and not to standard output.
    """

    keeps_to_itself = True

    def __init__(
        self, identifier: str | None = None, *, is_of_rows: bool = False, to_err: bool = False
    ) -> None:
        self._identifier = identifier
        self._kind = "print_to_err" if to_err else "print"
        self._text_of: Callable[[Any], str] = _text_of_row if is_of_rows else str

    def open(self) -> None:
        parts = [] if self._identifier is None else [self._identifier]
        if self.context.parallelism > 1:
            parts.append(str(self.context.subtask + 1))
        self._prefix = ":".join(parts) + "> " if parts else ""

    def process_block(self, block: Block) -> None:
        prefix = self._prefix
        rest = iter(block.values)
        try:
            lines = [f"{prefix}{text}" for text in map(self._text_of, rest)]
        except FAILURES as error:
            raise function_failure(error, self.name, failing_record(block, rest)) from error
        self.to_driver(self._kind, lines)


def _text_of_row(row: Any) -> str:
    if not isinstance(row, Row):
        return str(row)
    return f"{row.get_row_kind()}[{','.join(map(str, row))}]"


class CollectOperator(StreamOperator):
    """Sends every record to the driver, which hands it to whoever iterates over the results.

    Args:
        collect_id: Tells the results of several such operators apart.
    """

    keeps_to_itself = True

    def __init__(self, collect_id: str) -> None:
        self._collect_id = collect_id

    def process_block(self, block: Block) -> None:
        self.to_driver("collect", (self._collect_id, block.values))
