"""The ends of a program: functions of the user, printing, and collecting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.common.typeinfo import RowTypeInfo, TypeInformation
from penstock.common.typeinfo.java_text import java_text_of
from penstock.common.typeinfo.type_information import without_wrappers
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
        declared: The type of the records, whose values have the texts that PyFlink prints; None if none is
            declared.
        to_err: Whether it is printed to standard error, and not to standard output.
    """

    keeps_to_itself = True

    def __init__(
        self,
        identifier: str | None = None,
        declared: TypeInformation | None = None,
        *,
        to_err: bool = False,
    ) -> None:
        self._identifier = identifier
        self._kind = "print_to_err" if to_err else "print"
        self._declared = declared

    def open(self) -> None:
        parts = [] if self._identifier is None else [self._identifier]
        if self.context.parallelism > 1:
            parts.append(str(self.context.subtask + 1))
        self._prefix = ":".join(parts) + "> " if parts else ""
        is_of_rows = isinstance(without_wrappers(self._declared), RowTypeInfo)
        self._text_of = _text_of_row if is_of_rows else java_text_of(self._declared)

    def process_block(self, block: Block) -> None:
        prefix = self._prefix
        rest = iter(block.values)
        try:
            lines = [f"{prefix}{text}" for text in map(self._text_of, rest)]
        except FAILURES as error:
            raise function_failure(error, self.name, failing_record(block, rest)) from error
        self.to_driver(self._kind, lines)


def _text_of_row(row: Any) -> str:
    """Return what PyFlink prints for a row: its fields are Python's there, and Java's inside of other values."""
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
