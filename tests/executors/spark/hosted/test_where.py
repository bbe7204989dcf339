"""Which jobs have their driver's side on a server of Spark Connect, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.common.serialization import SimpleStringSchema
from penstock.datastream import SourceFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.base import Source
from penstock.datastream.connectors.file_system import FileSource, StreamFormat
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.errors import StreamingOnConnectError
from penstock.executors.port import JobRequest
from penstock.executors.spark.hosted.submission import submit_to_server
from penstock.executors.spark.hosted.where import is_for_server
from penstock.graph.source_descriptions import FrameSource

CONNECT = "pyspark.sql.connect.session"
CLASSIC = "pyspark.sql.session"
PLACE = {"execution.checkpointing.dir": "/state"}


def session_of(module: str) -> Any:
    return type("SparkSession", (), {"__module__": module})()


def request_of(env: StreamExecutionEnvironment, module: str, settings: dict[str, str]) -> Any:
    request = env.create_job_request("x")
    request.engine = session_of(module)
    request.configuration = Configuration.from_dict(settings)
    return request


def request_with(
    *sources: Source, module: str = CONNECT, settings: dict[str, str] = PLACE
) -> JobRequest:
    env = StreamExecutionEnvironment.get_execution_environment()
    for source in sources:
        env.from_source(source, WatermarkStrategy.no_watermarks(), "in").print()
    found: JobRequest = request_of(env, module, settings)
    return found


def files(*, ends: bool = False) -> FileSource:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/in")
    return builder.build() if ends else builder.monitor_continuously(Duration.of_seconds(1)).build()


def topics() -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers("kafka:9092").set_topics("t")
    return builder.set_value_only_deserializer(SimpleStringSchema()).build()


class Waiting(SourceFunction):
    def run(self, ctx: Any) -> None:
        raise AssertionError

    def cancel(self) -> None:
        raise AssertionError


def fed(settings: dict[str, str] = PLACE) -> JobRequest:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_source(Waiting(), "fed").print()
    found: JobRequest = request_of(env, CONNECT, settings)
    return found


@pytest.mark.parametrize("module", [CONNECT, CLASSIC])
@pytest.mark.parametrize("is_streaming", [True, False])
def test_streams_of_sparks_are_there_in_a_session_of_connect(
    module: str, *, is_streaming: bool
) -> None:
    request = request_with(files(ends=True), module=module, settings={})
    (node,) = request.graph.sources
    frame = type("Frame", (), {"sparkSession": request.engine, "isStreaming": is_streaming})
    node.source = FrameSource(frame())
    assert is_for_server(request) == (is_streaming and module == CONNECT)


@pytest.mark.parametrize(
    "source",
    [files(), topics(), HybridSource.builder(files(ends=True)).add_source(topics()).build()],
)
def test_streams_that_are_planned_are_there_if_a_client_can_find_them_again(
    source: Source,
) -> None:
    assert is_for_server(request_with(source))
    assert not is_for_server(request_with(source, settings={}))
    assert not is_for_server(request_with(source, module=CLASSIC))


@pytest.mark.parametrize(
    "more", [{"execution.trigger": "available-now"}, {"execution.epoch.available-now": "true"}]
)
def test_what_ends_by_itself_stays_with_its_client(more: dict[str, str]) -> None:
    assert not is_for_server(request_with(files(ends=True)))
    assert not is_for_server(request_with(topics(), settings=PLACE | more))


def test_topics_that_the_connector_is_to_read_are_there_in_any_case() -> None:
    by_connector = {"kafka.reader": "spark"}
    assert is_for_server(request_with(topics(), settings=by_connector))
    more = {"execution.trigger": "available-now"}
    assert is_for_server(request_with(topics(), settings=by_connector | more))
    assert not is_for_server(request_with(topics(), module=CLASSIC, settings=by_connector))
    assert not is_for_server(request_with(files(), settings=by_connector))


def test_what_a_function_brings_stays_with_the_client() -> None:
    assert not is_for_server(fed())


def test_a_function_beside_a_stream_of_sparks_is_refused(tmp_path: Path) -> None:
    seen: Any = None
    request = fed({"execution.checkpointing.dir": str(tmp_path)})
    with pytest.raises(StreamingOnConnectError, match="'Source: fed' is a SourceFunction"):
        submit_to_server(request, seen, lambda *_: None)


def test_a_session_that_is_to_be_built_counts_by_the_server_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.executors.spark.session._running", lambda: None)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    request = request_with(files())
    request.engine = None
    assert not is_for_server(request)
    monkeypatch.setenv("SPARK_REMOTE", "sc://server")
    assert is_for_server(request)
