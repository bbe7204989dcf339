"""Any number of results for each record."""

from __future__ import annotations

from penstock.runtime.operators.function_operator import FunctionOperator


class FlatMapOperator(FunctionOperator):
    """Emits all that the user's function returns or yields; None stands for nothing."""

    method = "flat_map"
