"""The ends of a program: functions of the user, printing, and collecting."""

from __future__ import annotations

from dataclasses import replace

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
    """

    keeps_to_itself = True

    def __init__(self, identifier: str | None = None) -> None:
        self._identifier = identifier

    def open(self) -> None:
        parts = [] if self._identifier is None else [self._identifier]
        if self.context.parallelism > 1:
            parts.append(str(self.context.subtask + 1))
        self._prefix = ":".join(parts) + "> " if parts else ""

    def process_block(self, block: Block) -> None:
        prefix = self._prefix
        rest = iter(block.values)
        try:
            lines = [f"{prefix}{value}" for value in rest]
        except FAILURES as error:
            raise function_failure(error, self.name, failing_record(block, rest)) from error
        self.to_driver("print", lines)


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
