"""Where the driver's side of a job runs whose session is one of Spark Connect: on the server, or in this process."""

from __future__ import annotations

from penstock.common.configuration import options
from penstock.executors.driver.run_end import RunEnd
from penstock.executors.port import JobRequest
from penstock.executors.spark.connect import is_connect
from penstock.executors.spark.hosted.travel import frames_of
from penstock.executors.spark.session import will_be_of_connect
from penstock.graph.stream_graph import StreamGraph
from penstock.runtime.planned.kafka.source import KafkaRecords
from penstock.runtime.planned.planned_source import PlannedSource


def is_for_server(request: JobRequest) -> bool:
    """Whether the driver's side of a job runs on a server of Spark Connect.

    It has to if Spark reads a stream, which it hands over nowhere else. A job that runs on without its client is there if
    it has a checkpoint location, at which a client finds it again. One that reads what is there ends by itself, and what
    brings records to the client, such as a function, is nowhere else.

    Args:
        request: The program.
    """
    graph = request.graph
    if _reads_stream_of_connect(graph):
        return True
    if graph.is_bounded or not will_be_of_connect(request.engine, request.configuration):
        return False
    if _has_connector_read_streams(request):
        return True
    is_alone = bool(request.configuration.get(options.CHECKPOINT_DIR))
    return is_alone and not RunEnd.of(request.configuration).is_present and not _is_fed_here(graph)


def _reads_stream_of_connect(graph: StreamGraph) -> bool:
    frames = (source.frame for source in frames_of(graph).values())
    return any(is_connect(frame.sparkSession) and frame.isStreaming for frame in frames)


def _has_connector_read_streams(request: JobRequest) -> bool:
    """Whether the program says that Spark's connector is to read topics of Kafka that do not end."""
    return request.configuration.get(options.KAFKA_READER) == "spark" and any(
        isinstance(node.source, KafkaRecords) and not node.source.is_bounded
        for node in request.graph.sources
    )


def _is_fed_here(graph: StreamGraph) -> bool:
    """Whether records come to the driver by themselves."""
    return any(
        isinstance(node.source, PlannedSource) and not node.source.has_present
        for node in graph.sources
    )
