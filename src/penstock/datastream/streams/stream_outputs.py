"""The ways in which the records of a stream leave the program."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from typing import Any, overload

from penstock.datastream.connectors.base import Sink, SupportsPreprocessing
from penstock.datastream.functions.function_checks import check_function
from penstock.datastream.functions.one_input import SinkFunction
from penstock.datastream.streams.base_stream import BaseStream
from penstock.datastream.streams.closeable_iterator import CloseableIterator, Results
from penstock.datastream.streams.operator_settings import OperatorSettings
from penstock.errors import InvalidArgumentError, UnsupportedOperationError
from penstock.executors.targets import executor_for
from penstock.graph.job_graph import create_job_graph
from penstock.graph.plan.execution_plan import ExecutionPlan
from penstock.graph.transformation import OperatorTransformation
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.sink import CollectOperator, PrintOperator, SinkOperator


class StreamOutputs(BaseStream):
    """The ways in which the records of a stream leave the program."""

    def _sink(self, name: str, operator: StreamOperator) -> OperatorTransformation:
        return OperatorTransformation(
            id=self._environment.transformations.next_id(),
            name=f"Sink: {name}",
            inputs=(self._transformation,),
            operator=operator,
            is_sink=True,
        )

    def _end(self, name: str, operator: StreamOperator) -> DataStreamSink:
        return DataStreamSink(self._environment.transformations.add(self._sink(name, operator)))

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print every record to standard output.

        The client prints, wherever the records are, when the epoch that gave them is complete. With
        more than one subtask the number of the subtask stands before each line, as in `2> text`. Records of a
        declared type have the text that PyFlink prints, as `(1,a)` for a tuple; all others their `str`.

        Args:
            sink_identifier: What stands before each line, as in `late:2> text`. Default: nothing.

        Returns:
            The end of the stream.

        Example:
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> end = env.from_collection(["a", "b"]).print("letter")
            >>> result = env.execute()
            letter> a
            letter> b
        """
        return self._end("Print to Std. Out", self._print_operator(sink_identifier, to_err=False))

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print every record to standard error, as `print` does to standard output.

        PyFlink has no such method; this is `printToErr` of Flink.

        Args:
            sink_identifier: What stands before each line, as in `late:2> text`. Default: nothing.

        Returns:
            The end of the stream.

        Example:
            >>> from penstock.testing import local_environment
            >>> env = local_environment()
            >>> end = env.from_collection(["a", "b"]).print_to_err("letter")
            >>> result = env.execute()
        """
        return self._end("Print to Std. Err", self._print_operator(sink_identifier, to_err=True))

    def _print_operator(self, identifier: str | None, *, to_err: bool) -> PrintOperator:
        return PrintOperator(identifier, self.get_type(), to_err=to_err)

    def add_sink(self, sink_func: Callable[[Any], Any] | SinkFunction | Sink) -> DataStreamSink:
        """Hand every record to a function.

        Records are delivered at least once: an epoch that is run again hands its records over again.

        Args:
            sink_func: A callable that takes a record, or a `SinkFunction`. A sink of
                `penstock.datastream.connectors`, as `JdbcSink`, is taken as by `sink_to`, with its own
                guarantee.

        Returns:
            The end of the stream.

        Raises:
            InvalidFunctionError: If it cannot be called so.
        """
        if isinstance(sink_func, Sink):
            sink = sink_func.of_type(self.get_type())
            return self._end("Unnamed", sink.create_operator())
        return self._end(
            "Unnamed", SinkOperator(check_function(sink_func, "invoke", 1, "add_sink()"))
        )

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Write every record to what a description says.

        Args:
            sink: A sink of `penstock.datastream.connectors`, such as `SparkSink`.

        Returns:
            The end of the stream.

        Raises:
            InvalidArgumentError: If it is no sink.
        """
        if not isinstance(sink, Sink):
            raise InvalidArgumentError(
                f"sink_to() was given {sink!r}, which is no sink.",
                hint="Give a sink of penstock.datastream.connectors; add_sink() takes functions.",
            )
        transformer = sink.get_transformer() if isinstance(sink, SupportsPreprocessing) else None
        stream = self if transformer is None else transformer.apply(self)
        sink = sink.of_type(stream.get_type())
        return stream._end("Writer", sink.create_operator())  # noqa: SLF001 - another stream's own

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator: ...

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, *, limit: int
    ) -> list[Any]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Any]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Execute the program, and bring the results of this stream to the client.

        All sinks of the program run as well, as with `execute`. Each record comes exactly once. On a
        keyed stream the records come as they are (PyFlink adds the key to them, Java does not).

        Args:
            job_execution_name: The name of the job. Default: "DataStream Collect".
            limit: How many results are wanted; the job is cancelled as soon as they are there.
                Default: all of them.

        Returns:
            An iterator that gives results while the job runs, to be closed or exhausted; or, with a
            limit, a list.

        Raises:
            InvalidArgumentError: If the limit is below 1.
            PenstockError: If the program cannot run. What the running job fails with is raised by
                the iterator, or here with a limit.

        Example:
            >>> from penstock.testing import local_environment
            >>> letters = local_environment().from_collection(["a", "b", "c"])
            >>> letters.execute_and_collect(limit=2)
            ['a', 'b']
        """
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise InvalidArgumentError(
                f"{limit!r} results cannot be collected.", hint="The limit is 1 or more."
            )
        results = Results()
        collect_id = uuid.uuid4().hex
        environment = self._environment
        environment.transformations.add(self._collect_sink(collect_id))
        name = job_execution_name or "DataStream Collect"
        client = environment.submit(name, {collect_id: results.put})
        iterator = CloseableIterator(client, results)
        if limit is None:
            return iterator
        with iterator:
            return list(itertools.islice(iterator, limit))

    def _collect_sink(self, collect_id: str) -> OperatorTransformation:
        sink = self._sink("Data stream collect sink", CollectOperator(collect_id))
        sink.is_internal = True
        is_view = not isinstance(self._transformation, OperatorTransformation)
        # In the operator's own subtasks, so that records keep their order and cross no exchange.
        sink.parallelism = 1 if is_view else self._transformation.parallelism
        return sink

    def explain(self) -> ExecutionPlan:
        """Return the plan that `execute_and_collect` on this stream would run, for people.

        Printed it is a text; in a notebook it is a picture. PyFlink has no such method. The program
        can still be executed afterwards.

        Raises:
            PenstockError: If the program cannot run.

        Example:
            >>> from penstock.testing import local_environment
            >>> print(local_environment().from_collection(["a"]).map(str.upper).explain())
            Job 'DataStream Collect': 1 chain on 1 level
            <BLANKLINE>
            level 0
            ╭─ [1] parallelism 1 ────────────╮
            │ Source: Collection Source      │
            │ Map                            │
            │ Sink: Data stream collect sink │
            ╰────────────────────────────────╯
        """
        environment = self._environment
        sinks = [*environment.transformations, self._collect_sink("explain")]
        graph = environment.get_stream_graph("DataStream Collect", sinks)
        return ExecutionPlan(create_job_graph(graph))

    def to_data_frame(self, schema: Any) -> Any:
        """Return the results of a bounded stream as a Spark DataFrame.

        The program up to this stream runs whenever Spark computes the frame, without the program's
        other sinks.

        Rows with field names and dicts are taken by name; tuples, lists and rows without names by
        position; plain values if there is one column.

        Args:
            schema: The columns: DDL as "word string, count long", a Spark `StructType`, a PyArrow
                schema or a row type as `Types.ROW_NAMED(...)`.

        Returns:
            The DataFrame.

        Raises:
            UnsupportedOperationError: If a source never ends, or the program does not run on Spark.
        """
        environment = self._environment
        collect_id = uuid.uuid4().hex
        sink = self._sink("DataFrame", CollectOperator(collect_id))
        sink.is_internal = True
        request = environment.create_job_request("DataStream to DataFrame", sinks=[sink])
        if not request.graph.is_bounded:
            raise UnsupportedOperationError(
                "to_data_frame() was called on a stream that never ends.",
                hint="Write it with sink_to(SparkSink(...)), or make its source a bounded one.",
            )
        return executor_for(environment.get_target()).to_data_frame(request, collect_id, schema)


class DataStreamSink(OperatorSettings):
    """The end of a stream: what `print`, `add_sink` and `sink_to` return.

    Example:
        >>> from penstock.testing import local_environment
        >>> env = local_environment()
        >>> sink = env.from_collection([1, 2]).print().name("numbers").uid("numbers")
        >>> result = env.execute()
        1
        2
    """
