"""A program that is compiled for Spark, with the DataFrames it reads."""

from __future__ import annotations

import codecs
import pickle
from functools import partial
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.common.configuration.options import LOG_LINES
from penstock.errors import InvalidArgumentError, SourceNotReadableError
from penstock.executors.driver.compiled_job import compile_job
from penstock.executors.driver.epoch_runner import new_job_id
from penstock.executors.driver.job_description import describe
from penstock.executors.driver.observation.observed_job import ObservedJob
from penstock.executors.port import JobRequest
from penstock.executors.spark.connect import is_connect, refuse_other_session
from penstock.executors.spark.frames.aggregation import aggregated
from penstock.executors.spark.frames.epoch_frames import EpochFrames, SparkSource
from penstock.executors.spark.interpreter import check_interpreter
from penstock.executors.spark.interruption import note_of
from penstock.executors.spark.kafka.connector import (
    ConnectorTopics,
    connector_reading,
    read_by_connector,
)
from penstock.executors.spark.kafka.groups import ConsumerGroups, ReadTopics
from penstock.executors.spark.kafka.package import connector_package
from penstock.executors.spark.page.description import page_of
from penstock.executors.spark.session import (
    cores_of,
    has_local_workers,
    interpreter_of,
    is_built_here,
    session,
)
from penstock.executors.spark.shipping import ship_code, ship_files, ship_interpreter
from penstock.executors.spark.sinks import SparkCommitter, spark_sinks
from penstock.executors.spark.versions.checks import check_pyspark
from penstock.executors.spark.versions.features import Feature, has
from penstock.graph.job_graph import JobGraph
from penstock.graph.source_descriptions import (
    AggregatedFrameSource,
    FrameSource,
    TextFileSource,
)
from penstock.graph.stream_graph import StreamNode
from penstock.runtime.columnar.aggregated_rows import SUBTASK
from penstock.runtime.layout import Layout
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.planned.kafka.row_messages import SPLIT
from penstock.runtime.planned.kafka.source import KafkaRecords
from penstock.runtime.planned.planned_source import PlannedSource
from penstock.runtime.program import Program
from penstock.runtime.source import NativeSource, TextLines


class PreparedJob:
    """A program that is compiled, with everything Spark needs to run it.

    Args:
        request: What was asked for.
        observed: What is noted of it. Default: what nobody sees.
        is_cancellable: Whether somebody may cancel it while it runs.
        is_hosted: Whether another process runs it, which says itself who reads topics of Kafka.

    Attributes:
        compiled: What the driver has to know of it. Its program is the one that is run, once that is known.
        spark: The session.
        sources: The sources that Spark reads.
        source_ids: The ids of all sources, by their numbers.
        can_change_session: Whether the job can go on in another session, which penstock can build: nothing in
            it, as a DataFrame, is of the one it has.
    """

    def __init__(
        self,
        request: JobRequest,
        observed: ObservedJob | None = None,
        *,
        is_cancellable: bool = False,
        is_hosted: bool = False,
    ) -> None:
        seen = observed or ObservedJob(new_job_id(), request)
        self.request = request
        self.job_id = seen.job_id
        if not is_hosted:
            self._take_topics()
        with seen.doing("starting Spark"):
            check_pyspark()
            self.spark = session(request.engine, request.configuration, self._packages)
            if has_local_workers(self.spark):
                check_interpreter(interpreter_of(self.spark), self.title)
        seen.runs_on(page_of(self.spark))
        self._seen = seen
        self._cores = cores_of(self.spark)
        notes = is_cancellable and has(Feature.INTERRUPTION) and not is_connect(self.spark)
        self._note = note_of(self.job_id) if notes else None
        readings = self._readings()
        frames = {node: reading.frame for node, reading in readings.items()}
        self.compiled = compile_job(
            request,
            self.job_id,
            lambda node: _is_unordered(node.source, frames.get(node.id)),
            read_by_engine={node: not frame.isStreaming for node, frame in frames.items()},
            other_sinks=partial(spark_sinks, spark=self.spark, job=request.name),
        )
        self.sources = _spark_sources(self.compiled.graph, self.compiled.program, readings)
        self.source_ids = describe(self.compiled.program).sources
        self._ship()
        self.can_change_session = is_built_here(self.spark) and not self._is_of_session()

    def _take_topics(self) -> None:
        """Have Spark's connector read those topics of Kafka that Python cannot, or is not to."""
        for node in self.request.graph.nodes.values():
            if isinstance(node.source, KafkaRecords):
                topics = read_by_connector(node.source, self.request.configuration)
                node.source = topics or node.source

    @property
    def _packages(self) -> list[str]:
        """What a session is to have that is built for the job."""
        sources = (node.source for node in self.request.graph.nodes.values())
        reads_topics = any(isinstance(source, ConnectorTopics) for source in sources)
        return [connector_package()] if reads_topics else []

    def _is_of_session(self) -> bool:
        """Whether something in the program, as a DataFrame, is of the session it has."""
        of_session = (FrameSource, AggregatedFrameSource)
        return any(
            isinstance(sink.committer, SparkCommitter) for sink in self.compiled.sinks.values()
        ) or any(isinstance(node.source, of_session) for node in self.compiled.graph.sources)

    def _readings(self) -> dict[int, Reading]:
        return {
            node.id: reading
            for node in self.request.graph.nodes.values()
            if (reading := _reading_of(node, self.spark, self._cores, self._note)) is not None
        }

    def take_new_session(self) -> None:
        """Go over to another session: the one that the job had has ended."""
        self.spark = session(None, self.request.configuration, self._packages)
        self._seen.runs_on(page_of(self.spark))
        self.sources = _spark_sources(self.compiled.graph, self.compiled.program, self._readings())
        self._ship()

    def _ship(self) -> None:
        if self.request.files is not None:
            return
        ship_interpreter(self.spark, self.request.configuration)
        ship_code(self.spark, self.request.python_files)
        ship_files(self.spark, self.compiled.program.files)

    @property
    def title(self) -> str:
        """What messages call the job."""
        return f"Job {self.request.name!r}"

    @property
    def chains(self) -> list[str]:
        """The names of the chains of operators that workers run."""
        return [vertex.name for vertex in self.compiled.program.vertices]

    @property
    def layout(self) -> Layout:
        """Where subtasks run."""
        return Layout(self.compiled.program, self._cores)

    @property
    def wants_ticks(self) -> bool:
        """Whether the program may want epochs to come without records."""
        operators = (node.operator for node in self.request.graph.nodes.values())
        return any(operator.wants_wake_ups for operator in operators)

    def groups(self) -> ConsumerGroups:
        """Return the consumer groups that are to hear how far Spark has read topics of Kafka."""
        return ConsumerGroups(
            {one.number: one.topics for one in self.sources if one.topics is not None}
        )

    def frames(self) -> EpochFrames:
        """Return what makes the DataFrames of epochs."""
        parallelism = [
            vertex.parallelism
            for vertex in self.compiled.program.vertices
            if vertex.source is not None
            and (not vertex.is_shared or vertex.source in self.compiled.planned)
        ]
        return EpochFrames(
            self.spark,
            self.job_id,
            pickle.dumps(self.compiled.program, pickle.HIGHEST_PROTOCOL),
            self.layout,
            self.sources,
            max(parallelism, default=1),
            is_alone=len(self.sources) == 1
            and not self.compiled.native
            and not self.compiled.planned
            and not (self.compiled.is_streaming and self.wants_ticks),
            log_lines=self.compiled.request.configuration.get(LOG_LINES),
            name=self.request.name,
        )


class Reading(NamedTuple):
    """How Spark reads a source.

    Attributes:
        frame: The DataFrame.
        as_values: True if the records are the values of the only column, not rows.
        split: The column that names the split of a row; None if all are of one split.
        as_columns: True if the chain makes use of rows that are still columns.
        is_keyed: True if the rows are those of the subtasks' keys. `split` is the column that names the
            subtask, if it is not the one with the number of the partition.
        topics: The topics of Kafka that it reads, if the rows are messages, of which the source makes records.
    """

    frame: DataFrame
    as_values: bool
    split: str | None = None
    as_columns: bool = False
    is_keyed: bool = False
    topics: ReadTopics | None = None


def _reading_of(
    node: StreamNode, spark: SparkSession, cores: int, note: str | None
) -> Reading | None:
    """Return how Spark reads a source; None for one that workers read by themselves.

    Args:
        node: The source.
        spark: The session.
        cores: How many tasks run at once.
        note: Where the query is to be noted before Spark aggregates, which may take long; None for nowhere.
    """
    source = node.source
    if source is None:
        return None
    assert isinstance(node.operator, SourceOperator)
    if isinstance(source, TextFileSource) and codecs.lookup(source.charset).name != "utf-8":
        # Spark takes all text for UTF-8, whatever the encoding it is told.
        source = node.source = TextLines(source.path, source.charset)
    if isinstance(source, (NativeSource, PlannedSource)):
        node.operator.source = source
        return None
    if isinstance(source, (FrameSource, AggregatedFrameSource)) and not hasattr(
        source.frame, "mapInArrow"
    ):
        raise InvalidArgumentError(
            f"{node.name!r} reads {type(source.frame).__name__}, which is no Spark DataFrame.",
            hint="Give from_data_frame a pyspark DataFrame.",
        )
    if isinstance(source, (FrameSource, AggregatedFrameSource)):
        refuse_other_session(spark, source.frame, node.name)
    if isinstance(source, FrameSource):
        return Reading(
            source.frame,
            as_values=False,
            split=source.split_column,
            as_columns=node.operator.reads_columns,
        )
    if isinstance(source, AggregatedFrameSource):
        carriers = min(cores, source.parallelism)
        split = None if carriers == source.parallelism else SUBTASK
        return Reading(
            aggregated(source, carriers, note),
            as_values=False,
            split=split,
            as_columns=True,
            is_keyed=True,
        )
    if isinstance(source, ConnectorTopics):
        node.operator.source, node.operator.as_block = None, source.records.as_block
        frame, topics = connector_reading(source, spark, node.name)
        return Reading(frame, as_values=False, split=SPLIT, topics=topics)
    if isinstance(source, TextFileSource):
        return Reading(_text(source, spark), as_values=True)
    raise InvalidArgumentError(
        f"{node.name!r} reads {type(source).__name__}, which no executor knows.",
        hint="Use a source of penstock.datastream.connectors.",
    )


def _text(source: TextFileSource, spark: SparkSession) -> DataFrame:
    try:
        frame = spark.read.text(source.path)
        frame.isStreaming  # noqa: B018 - under Spark Connect nobody has looked for the file yet
    except PySparkException as error:
        raise SourceNotReadableError(
            f"The text file {source.path!r} cannot be read: {str(error).splitlines()[0]}",
            hint="Give the path of a file or folder that the workers may read.",
        ) from error
    return frame


def _spark_sources(
    graph: JobGraph, program: Program, frames: dict[int, Reading]
) -> tuple[SparkSource, ...]:
    by_number = {vertex.source: vertex for vertex in program.vertices if vertex.source is not None}
    return tuple(
        SparkSource(
            number, by_number[number].index, by_number[number].parallelism, *frames[node.id]
        )
        for number, node in enumerate(graph.sources)
        if node.id in frames
    )


def _is_unordered(source: object, frame: DataFrame | None) -> bool:
    """Whether the records of an epoch come in no order of time.

    Of a DataFrame nobody knows more: Spark packs files into partitions by their size, gives what is cached or joined
    in an order of its own, and lets a task read partitions one after the other. So what one of them begins with may
    be much older than what the one before it ended with.

    Args:
        source: The source, as the program describes it.
        frame: What Spark reads for it; None if workers read it by themselves.
    """
    if isinstance(source, (NativeSource, PlannedSource)):
        return source.is_unordered
    if frame is None or isinstance(source, AggregatedFrameSource):
        return False
    if isinstance(source, TextFileSource):
        return len(frame.inputFiles()) != 1
    if isinstance(source, FrameSource):
        if source.is_sorted:
            return False
        if source.split_column is None:
            return True
    # The rows of a split come in their order. But of bounded ones a task may read one split after the other.
    return not frame.isStreaming
