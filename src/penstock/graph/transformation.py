"""What a program is made of before it is compiled: a graph of transformations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.runtime.exchange.partitioners import StreamPartitioner
from penstock.runtime.operator import ChainingStrategy, StreamOperator
from penstock.runtime.output_tag import OutputTag

DEFAULT_SLOT_SHARING_GROUP = "default"

_Operator = TypeVar("_Operator", bound="OperatorTransformation")


@dataclass(eq=False, kw_only=True)
class Transformation:
    """A step of a program: what a stream is made by.

    Attributes:
        id: The number of the transformation in its program, in the order of making, from 1.
        name: The name users see.
        inputs: The transformations it reads.
        parallelism: The number of subtasks; None for the environment's default. What runs no operator
            has that of its first input.
        max_parallelism: The number of key groups; None for the default.
        uid: What the user calls the operator, so that its state is found again.
        slot_sharing_group: The user's slot sharing group; None to inherit from the inputs.
        description: A longer text for plans; None for the name.
        output_type: The type of the results, if declared.
    """

    id: int
    name: str
    inputs: Sequence[Transformation] = ()
    parallelism: int | None = None
    max_parallelism: int | None = None
    is_parallelism_fixed: bool = False
    uid: str | None = None
    uid_hash: str | None = None
    slot_sharing_group: str | None = None
    description: str | None = None
    output_type: Any = None


@dataclass(eq=False, kw_only=True)
class OperatorTransformation(Transformation):
    """A transformation that runs an operator: with inputs, or, for a source, without.

    Attributes:
        operator: The operator's prototype.
        chaining_strategy: Whether it may share a chain with its neighbours; the operator's own by default.
        source: What it reads, if it is a source: a `NativeSource`, or a description that an executor
            knows how to read.
        is_bounded: For a source, whether it ends.
        is_sink: Whether the program ends here.
        is_keyed: Whether its input comes by key, in key groups.
        is_internal: Whether the user has no way to give it a uid.
    """

    operator: StreamOperator
    chaining_strategy: ChainingStrategy = field(default=ChainingStrategy.ALWAYS)
    source: Any = None
    is_bounded: bool = True
    is_sink: bool = False
    is_keyed: bool = False
    is_internal: bool = False


@dataclass(eq=False, kw_only=True)
class PartitionTransformation(Transformation):
    """Says how records go from its input to whoever reads it."""

    partitioner: StreamPartitioner


@dataclass(eq=False, kw_only=True)
class UnionTransformation(Transformation):
    """All records of its inputs."""


@dataclass(eq=False, kw_only=True)
class CacheTransformation(UnionTransformation):
    """All records of its input: what computes them, or what reads them where they are kept.

    Attributes:
        computed: What computes them.
        cache: What keeps them.
    """

    computed: Transformation
    cache: Any = None


@dataclass(eq=False, kw_only=True)
class SideOutputTransformation(Transformation):
    """The records of one side output of its input."""

    tag: OutputTag


class TransformationIds:
    """Numbers transformations in the order of making, from 1."""

    def __init__(self) -> None:
        self._next = itertools.count(1)

    def __call__(self) -> int:
        """Return the next number."""
        return next(self._next)


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
