"""A program on its way to the driver's side on a server: what of it is pickled, and what stays in the session."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from penstock.common.configuration import options
from penstock.common.configuration.config_option import ConfigOption
from penstock.common.configuration.configuration import Configuration
from penstock.executors.port import JobRequest
from penstock.graph.source_descriptions import FrameSource
from penstock.graph.stream_graph import StreamGraph, StreamNode
from penstock.runtime.job_files.job_files import JobFiles
from penstock.runtime.job_pickle import classes_of_main, dump_code, load_code

_PLACES: Final[tuple[ConfigOption[str | None], ...]] = (
    options.CHECKPOINT_DIR,
    options.SAVEPOINT_DIR,
    options.SAVEPOINT_PATH,
)


@dataclass(frozen=True)
class Travelling:
    """What the driver's side of a job is given.

    Attributes:
        job_id: The job's id.
        folder: Where it reports.
        session_id: The session of the client that has started it.
        request: What was asked for; DataFrames are the names of views in it.
        main: The classes of the user's script.
    """

    job_id: str
    folder: str
    session_id: str
    request: JobRequest
    main: dict[str, type]


def frames_of(graph: StreamGraph) -> dict[int, FrameSource]:
    """Return the DataFrames that a program reads, by the ids of its nodes."""
    return {
        node.id: node.source
        for node in graph.nodes.values()
        if isinstance(node.source, FrameSource) and hasattr(node.source.frame, "sparkSession")
    }


class Views:
    """The DataFrames of a program as temporary views of its session, where another process of Spark's finds them.

    Args:
        job_id: The job.
        graph: The program.
    """

    def __init__(self, job_id: str, graph: StreamGraph) -> None:
        self._frames = {
            f"penstock_{job_id}_{node}": source.frame for node, source in frames_of(graph).items()
        }
        self.names = {node: f"penstock_{job_id}_{node}" for node in frames_of(graph)}

    def make(self) -> None:
        """Make them."""
        for name, frame in self._frames.items():
            frame.createOrReplaceTempView(name)

    def drop(self) -> None:
        """Drop them, if the session is still there."""
        for name, frame in self._frames.items():
            with contextlib.suppress(Exception):
                frame.sparkSession.catalog.dropTempView(name)


def packed(request: JobRequest, views: Views) -> bytes:
    """Pickle a program, which is not compiled yet, with the classes of the user's script."""
    with _described_by_name(request.graph, views):
        there = replace(
            request,
            configuration=_with_whole_places(request.configuration),
            collectors=dict.fromkeys(request.collectors, _ignore),
            engine=None,
            python_files=(),
            listeners=(),
        )
        return dump_code((there, _classes_that_pickle()))


@contextlib.contextmanager
def _described_by_name(graph: StreamGraph, views: Views) -> Iterator[None]:
    frames = frames_of(graph)
    try:
        for node, source in frames.items():
            graph.nodes[node].source = replace(source, frame=views.names[node])
        yield
    finally:
        for node, source in frames.items():
            graph.nodes[node].source = source


def _classes_that_pickle() -> dict[str, type]:
    found: dict[str, type] = {}
    for name, value in classes_of_main().items():
        with contextlib.suppress(Exception):  # pickling runs the user's code
            dump_code(value)
            found[name] = value
    return found


def _with_whole_places(configuration: Configuration) -> Configuration:
    """Return a configuration whose paths do not depend on the folder a process is in."""
    found = Configuration(configuration)
    for option in _PLACES:
        place = found.get(option)
        if place:
            found.set(option, whole_place(place))
    return found


def whole_place(place: str) -> str:
    """Return a path or URL that does not depend on the folder a process is in."""
    return place if ":" in place else os.path.abspath(place)


def packed_for(job_id: str, folder: str, session_id: str, files: JobFiles, program: bytes) -> bytes:
    """Pickle what the driver's side is given.

    Args:
        job_id: The job's id.
        folder: Where it reports.
        session_id: The session of the client.
        files: What the workers have been given.
        program: What `packed` returned.
    """
    return dump_code((job_id, folder, session_id, files, program))


def unpacked(payload: bytes, spark: SparkSession) -> Travelling:
    """Return what has arrived, with its DataFrames in a session."""
    job_id, folder, session_id, files, program = load_code(payload)
    request, main = load_code(program)
    for node in request.graph.nodes.values():
        _take_frame(node, spark)
    there = replace(request, engine=spark, files=files)
    return Travelling(job_id, folder, session_id, there, main)


def _ignore(_: list[Any]) -> None:
    """Take results that the client gets by the reports."""


def _take_frame(node: StreamNode, spark: SparkSession) -> None:
    source = node.source
    if isinstance(source, FrameSource) and isinstance(source.frame, str):
        frame: DataFrame = spark.table(source.frame)
        node.source = replace(source, frame=frame)
