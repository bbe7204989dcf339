"""Whether `merge` of an aggregate function agrees with its `add`: a look at some records and panes."""

from __future__ import annotations

from typing import Any

from penstock.errors import MergeMismatchError, PenstockError
from penstock.runtime.user_code import record_text
from penstock.runtime.windows.checks.alike import numbers_in
from penstock.runtime.windows.checks.sampled_check import SampledCheck


class MergeCheck(SampledCheck):
    """Looks whether merged accumulators give what their records give if they are added one by one.

    Args:
        function: The `AggregateFunction`.
        operator: The name of the operator, for the message.
    """

    def __init__(self, function: Any, operator: str) -> None:
        super().__init__()
        self._function = function
        self._operator = operator

    def _compare_records(self, key: Any, values: list[Any]) -> None:
        self._compare(key, values, self._added, self._first_and_rest)
        self._compare(key, values, self._added, self._rest_and_last)

    def _compare_panes(self, key: Any, values: list[Any]) -> None:
        self._compare(key, values, self._merged, self._merged_from_behind)

    def _operands(self, values: list[Any]) -> list[Any]:
        # A result may have another form than records and accumulators.
        return [number for value in values for number in numbers_in(value)]

    def _accumulator(self, *values: Any) -> Any:
        function = self._function
        accumulator = function.create_accumulator()
        for value in values:
            accumulator = function.add(value, accumulator)
        return accumulator

    def _added(self, values: list[Any]) -> Any:
        return self._function.get_result(self._accumulator(*values))

    def _first_and_rest(self, values: list[Any]) -> Any:
        first, *rest = values
        return self._result_of(self._accumulator(first), self._accumulator(*rest))

    def _rest_and_last(self, values: list[Any]) -> Any:
        *rest, last = values
        return self._result_of(self._accumulator(*rest), self._accumulator(last))

    def _result_of(self, one: Any, other: Any) -> Any:
        return self._function.get_result(self._function.merge(one, other))

    def _merged(self, panes: list[Any]) -> Any:
        a, b, c = panes
        return self._result_of(self._function.merge(a, b), c)

    def _merged_from_behind(self, panes: list[Any]) -> Any:
        a, b, c = panes
        return self._result_of(a, self._function.merge(b, c))

    def _error(self, key: Any, values: list[Any], expected: Any, found: str) -> PenstockError:
        a, b, c = map(record_text, values)
        return MergeMismatchError(
            f"Operator {self._operator!r}, the key {record_text(key)}: merge() of "
            f"{type(self._function).__name__} does not agree with add(). One after the other, {a}, {b} "
            f"and {c} come to {record_text(expected)}; what comes of merging parts of them {found}.",
            hint="With share_panes=True sliding windows add the records of each slide once, and merge what "
            "these come to. Let merge() return the accumulator of the records of both, or leave "
            "share_panes out: then each record is added to each of its windows.",
        )
