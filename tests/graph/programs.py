"""A small builder of programs for the tests of the graph."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.graph.job_graph import JobGraph, create_job_graph
from penstock.graph.stream_graph import StreamGraph, build_stream_graph
from penstock.graph.transformation import (
    OperatorTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    TransformationIds,
    UnionTransformation,
)
from penstock.runtime.exchange.partitioners import KeyGroupStreamPartitioner, StreamPartitioner
from penstock.runtime.operators.function_operator import MapOperator
from penstock.runtime.operators.sink import PrintOperator
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.source import NumberRangeSource

Step = TypeVar("Step", bound=Transformation)


def identity(value: Any) -> Any:
    return value


class Programs:
    """Makes the transformations of one program."""

    def __init__(self) -> None:
        self._ids = TransformationIds()
        self.made: list[Transformation] = []

    def source(self, name: str = "numbers", **options: Any) -> OperatorTransformation:
        source = NumberRangeSource(1, 3)
        return self._add(
            OperatorTransformation(
                id=self._ids(),
                name=f"Source: {name}",
                operator=SourceOperator(source),
                **{"source": source, **options},
            )
        )

    def map(
        self,
        *inputs: Transformation,
        name: str = "Map",
        function: Any = identity,
        **options: Any,
    ) -> OperatorTransformation:
        return self._add(
            OperatorTransformation(
                id=self._ids(), name=name, inputs=inputs, operator=MapOperator(function), **options
            )
        )

    def sink(
        self, read: Transformation, name: str = "Sink: Print", **options: Any
    ) -> OperatorTransformation:
        return self._add(
            OperatorTransformation(
                id=self._ids(),
                name=name,
                inputs=[read],
                operator=PrintOperator(),
                is_sink=True,
                **options,
            )
        )

    def union(self, *inputs: Transformation) -> UnionTransformation:
        return self._add(UnionTransformation(id=self._ids(), name="Union", inputs=inputs))

    def partition(
        self, read: Transformation, partitioner: StreamPartitioner
    ) -> PartitionTransformation:
        return self._add(
            PartitionTransformation(
                id=self._ids(), name="Partition", inputs=[read], partitioner=partitioner
            )
        )

    def key_by(self, read: Transformation) -> PartitionTransformation:
        return self.partition(read, KeyGroupStreamPartitioner(identity))

    def side_output(self, read: Transformation, tag: str) -> SideOutputTransformation:
        return self._add(
            SideOutputTransformation(
                id=self._ids(), name="Side output", inputs=[read], tag=OutputTag(tag)
            )
        )

    def graph(self, **options: Any) -> StreamGraph:
        options.setdefault("job_name", "test")
        options.setdefault("default_parallelism", 1)
        return build_stream_graph(self.leaves(), **options)

    def job_graph(self, **options: Any) -> JobGraph:
        return create_job_graph(self.graph(**options))

    def leaves(self) -> list[Transformation]:
        read = {step.id for other in self.made for step in other.inputs}
        return [step for step in self.made if step.id not in read]

    def _add(self, step: Step) -> Step:
        self.made.append(step)
        return step
