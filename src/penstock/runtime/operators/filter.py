"""Only the records that the user's function accepts."""

from __future__ import annotations

from penstock.runtime.operators.function_operator import FunctionOperator


class FilterOperator(FunctionOperator):
    """Emits the records for which the user's function returns true."""

    method = "filter"
