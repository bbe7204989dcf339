"""Whether a reduce function comes to the same however records are grouped: a look at some of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import NonAssociativeReduceError, PenstockError
from penstock.runtime.user_code import record_text
from penstock.runtime.windows.checks.sampled_check import SampledCheck


class AssociativityCheck(SampledCheck):
    """Looks whether `f(f(a, b), c)` is `f(a, f(b, c))` for some of the values an operator has.

    Args:
        function: The reduce function.
        operator: The name of the operator, for the message.
    """

    def __init__(self, function: Callable[[Any, Any], Any], operator: str) -> None:
        super().__init__()
        self._function = function
        self._operator = operator

    def _compare_records(self, key: Any, values: list[Any]) -> None:
        self._compare(key, values, self._one_by_one, self._last_first)

    _compare_panes = _compare_records

    def _one_by_one(self, values: list[Any]) -> Any:
        a, b, c = values
        return self._function(self._function(a, b), c)

    def _last_first(self, values: list[Any]) -> Any:
        a, b, c = values
        return self._function(a, self._function(b, c))

    def _error(self, key: Any, values: list[Any], one_by_one: Any, other: str) -> PenstockError:
        a, b, c = map(record_text, values)
        return NonAssociativeReduceError(
            f"Operator {self._operator!r}, the key {record_text(key)}: the reduce function is not "
            f"associative. With a = {a}, b = {b} and c = {c}, f(f(a, b), c) is "
            f"{record_text(one_by_one)}, and f(a, f(b, c)) {other}.",
            hint="Sliding windows reduce the records of each slide once, and then what these come to. "
            "Either let the function take two results as well as two records, or call "
            "reduce(..., share_panes=False), which reduces each window on its own. To count, "
            "aggregate(Count()) of penstock.datastream.aggregates is faster than both.",
        )
