"""Operators that call one function of the user: their base, and map, filter and flat_map, whose loop is the fused one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from penstock.runtime.exchange.elements import Block
from penstock.runtime.operator import StreamOperator
from penstock.runtime.user_code import FAILURES, UserFunction, failing_record, function_failure


class FunctionOperator(StreamOperator):
    """An operator that calls one function of the user.

    Args:
        function: A plain callable, or an object with a method of the kind's name.
    """

    method: ClassVar[str]
    """The method of the user's class that is called for a record."""

    def __init__(self, function: Any) -> None:
        self.function = UserFunction(function, self.method)

    def open(self) -> None:
        self._call: Callable[..., Any] = self.function.call
        self._guarded(lambda: self.function.open(self.context))

    @property
    def call(self) -> Callable[..., Any]:
        """What is called for a record, once the operator is open."""
        return self.function.plain_call

    def show_calls(self) -> None:
        self.function.shows_calls = True

    def close(self) -> None:
        self._guarded(self.function.close)

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except FAILURES as error:
            raise function_failure(error, self.name, None) from error

    def _failure(self, error: BaseException, block: Block, rest: Iterator[Any]) -> Exception:
        """Return what to raise for an error on the record last taken from `rest`."""
        return function_failure(error, self.name, failing_record(block, rest))


class MapOperator(FunctionOperator):
    """Calls the user's function for each record and emits what it returns."""

    method = "map"


class FilterOperator(FunctionOperator):
    """Emits the records for which the user's function returns true."""

    method = "filter"


class FlatMapOperator(FunctionOperator):
    """Emits all that the user's function returns or yields; None stands for nothing."""

    method = "flat_map"
