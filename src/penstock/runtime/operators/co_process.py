"""Process functions of two streams, with and without keys."""

from __future__ import annotations

from penstock.runtime.exchange.elements import Block
from penstock.runtime.operator import TwoInputOperator
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.operators.process import ProcessOperator, process_records
from penstock.runtime.user_code import UserFunction

_SECOND = "process_element2"


class CoProcessOperator(ProcessOperator, TwoInputOperator):
    """Emits all that the user's function returns or yields for records of two inputs.

    A tuple of an `OutputTag` and a value goes to that side output.
    """

    method = "process_element1"

    def open(self) -> None:
        self._second_call = UserFunction(self.function.function, _SECOND).call
        super().open()

    def process_block1(self, block: Block) -> None:
        self.process_block(block)

    def process_block2(self, block: Block) -> None:
        process_records(self.name, block, self._second_call, self._context, self._collector)


class KeyedCoProcessOperator(KeyedProcessOperator, TwoInputOperator):
    """As `CoProcessOperator`, with state and timers for each key, which both inputs share."""

    method = "process_element1"

    def open(self) -> None:
        self._second_call = UserFunction(self.function.function, _SECOND).call
        super().open()

    def process_block1(self, block: Block) -> None:
        self.process_block(block)

    def process_block2(self, block: Block) -> None:
        self._process(block, self._second_call)
