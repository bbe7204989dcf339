"""The transformations of one program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from penstock.graph.transformation import OperatorTransformation, TransformationIds

_Operator = TypeVar("_Operator", bound=OperatorTransformation)


class Transformations:
    """The operators of a program in the order of making, sources aside: those only start others.

    Attributes:
        next_id: Returns the number of the next transformation.
    """

    def __init__(self) -> None:
        self.next_id = TransformationIds()
        self._operators: list[OperatorTransformation] = []

    def add(self, operator: _Operator) -> _Operator:
        """Let an operator take part in the next execution, and return it."""
        self._operators.append(operator)
        return operator

    def clear(self) -> None:
        """Forget all operators; numbers go on."""
        self._operators.clear()

    def __iter__(self) -> Iterator[OperatorTransformation]:
        return iter(self._operators)
