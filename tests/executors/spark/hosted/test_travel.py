"""A program goes to a server and arrives there, without Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.common.configuration import options
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import StreamingOnConnectError
from penstock.executors.port import JobRequest
from penstock.executors.spark.hosted.submission import _location_of
from penstock.executors.spark.hosted.travel import (
    Views,
    frames_of,
    packed,
    packed_for,
    unpacked,
    whole_place,
)
from penstock.graph.source_descriptions import FrameSource
from penstock.runtime.job_files.job_files import JobFiles


class FakeSession:
    def __init__(self) -> None:
        self.views: dict[str, Any] = {}
        self.catalog = self

    def table(self, name: str) -> Any:
        return self.views[name]

    def dropTempView(self, name: str) -> None:  # noqa: N802 - Spark's name
        del self.views[name]


class FakeFrame:
    """A DataFrame, which nobody can pickle."""

    def __init__(self, session: FakeSession, *, is_streaming: bool) -> None:
        self.sparkSession = session
        self.isStreaming = is_streaming

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802 - Spark's name
        self.sparkSession.views[name] = self

    def __reduce__(self) -> Any:
        raise AssertionError


def session_of(module: str) -> Any:
    return type("SparkSession", (FakeSession,), {"__module__": module})()


def request_with(*frames: FakeFrame, **settings: str) -> JobRequest:
    env = StreamExecutionEnvironment.get_execution_environment()
    for _ in frames or (None,):
        env.from_collection([1]).map(lambda number: number + len(settings)).print()
    request = env.create_job_request("x")
    nodes = [node for node in request.graph.nodes.values() if node.source is not None]
    for node, frame in zip(nodes, frames, strict=False):
        node.source = FrameSource(frame)
    request.configuration = Configuration.from_dict(settings)
    return request


CONNECT = "pyspark.sql.connect.session"


def test_a_program_arrives_with_its_frames_and_functions() -> None:
    session = session_of(CONNECT)
    frame = FakeFrame(session, is_streaming=True)
    request = request_with(frame, a="b")
    request.collectors = {"c": print}
    views = Views("7", request.graph)

    program = packed(request, views)
    assert [source.frame for source in frames_of(request.graph).values()] == [frame]
    views.make()
    files = JobFiles()
    given = unpacked(packed_for("7", "0-7-d", "s", files, program), session)

    assert (given.job_id, given.folder, given.session_id) == ("7", "0-7-d", "s")
    assert [source.frame for source in frames_of(given.request.graph).values()] == [frame]
    assert given.request.engine is session
    assert given.request.files == files
    assert given.request.name == "x"
    assert given.request.configuration == request.configuration
    given.request.collectors["c"]([1])
    assert not given.request.listeners
    views.drop()
    assert not frame.sparkSession.views


def test_places_do_not_depend_on_the_folder_of_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    request = request_with(**{"execution.checkpointing.dir": "state"})
    session: Any = None
    program = packed(request, Views("7", request.graph))
    given = unpacked(packed_for("7", "f", "s", JobFiles(), program), session)
    place = os.path.join(tmp_path, "state")
    assert given.request.configuration.get(options.CHECKPOINT_DIR) == place
    assert _location_of(request) == place
    assert whole_place("s3://bucket/x") == "s3://bucket/x"


def test_a_stream_needs_a_location() -> None:
    with pytest.raises(StreamingOnConnectError, match="no checkpoint location"):
        _location_of(request_with())


def test_a_location_that_spark_takes_for_a_pattern_is_refused(tmp_path: Path) -> None:
    place = str(tmp_path / "state[1]")
    with pytest.raises(StreamingOnConnectError, match="pattern") as raised:
        _location_of(request_with(**{"execution.checkpointing.dir": place}))
    assert place in raised.value.message
