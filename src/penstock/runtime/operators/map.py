"""One result for each record."""

from __future__ import annotations

from penstock.runtime.operators.function_operator import FunctionOperator


class MapOperator(FunctionOperator):
    """Calls the user's function for each record and emits what it returns."""

    method = "map"
