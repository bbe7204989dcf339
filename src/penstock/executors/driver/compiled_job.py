"""A program that is compiled, and what the driver has to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.common.configuration.options import STATE_CLASS_NAMES
from penstock.errors import UnsupportedOperationError
from penstock.executors.driver.publishing import PublishedSink, published_sinks
from penstock.executors.driver.run_end import RunEnd
from penstock.executors.driver.staged_files import staged_files
from penstock.executors.port import JobRequest
from penstock.graph.compiler import compile_program
from penstock.graph.job_graph import JobGraph, create_job_graph
from penstock.graph.stream_graph import StreamNode
from penstock.graph.watermarks import hold_back_watermarks
from penstock.runtime.job_pickle import classes_of_main
from penstock.runtime.planned.planned_source import PlannedSource
from penstock.runtime.program import Program
from penstock.runtime.source import NativeSource


@dataclass(frozen=True)
class CompiledJob:
    """A program that is compiled, and what the driver has to know of it.

    Attributes:
        request: What was asked for.
        job_id: Tells the runs of jobs apart.
        graph: The chains.
        program: The program, as workers run it.
        sinks: The sinks that commit on the driver, by their operators' ids.
        native: The sources that workers read by themselves, by their numbers.
        planned: The sources whose reading the driver plans, by their numbers.
        bounded: How many epochs of its own each other bounded source has, by its number.
        is_streaming: Whether the engine reads a source that does not end.
        run_end: Where a run of it ends, if it has streams.
        main_classes: The classes of the user's script as they were when the program was compiled.
    """

    request: JobRequest
    job_id: str
    graph: JobGraph
    program: Program
    sinks: Mapping[str, PublishedSink]
    native: Mapping[int, NativeSource]
    planned: Mapping[int, PlannedSource]
    bounded: Mapping[int, int]
    is_streaming: bool
    run_end: RunEnd
    main_classes: Mapping[str, type]

    @property
    def has_epochs(self) -> bool:
        """Whether the job has more than one epoch."""
        return (
            self.is_streaming
            or max(self.bounded.values(), default=1) > 1
            or any(source.has_epochs for source in self.planned.values())
        )

    @property
    def has_streams(self) -> bool:
        """Whether a source does not end."""
        return self.is_streaming or not all(source.is_bounded for source in self.planned.values())


def compile_job(
    request: JobRequest,
    job_id: str,
    is_unordered: Callable[[StreamNode], bool],
    *,
    read_by_engine: Mapping[int, bool] | None = None,
    other_sinks: Callable[[JobGraph], Mapping[str, PublishedSink]] = lambda _: {},
) -> CompiledJob:
    """Compile a program whose sources the executor has resolved.

    Args:
        request: The program.
        job_id: Tells the runs of jobs apart.
        is_unordered: Tells whether the records of a source come in no order that watermarks could go by.
        read_by_engine: Of each source that the engine reads, by the id of its node, whether it ends. Default:
            there is none.
        other_sinks: Returns the sinks that the engine writes to, by their operators' ids.

    Raises:
        PenstockError: If the program cannot run.
    """
    hold_back_watermarks(request.graph, is_unordered)
    graph = create_job_graph(request.graph)
    sinks = {**published_sinks(graph), **other_sinks(graph)}
    program = replace(
        compile_program(graph, request.configuration.get(STATE_CLASS_NAMES)),
        files=staged_files(request.configuration) if request.files is None else request.files,
    )
    numbered = list(enumerate(graph.sources))
    native = {
        number: node.source for number, node in numbered if isinstance(node.source, NativeSource)
    }
    ends = {
        number: read_by_engine[node.id]
        for number, node in numbered
        if read_by_engine is not None and node.id in read_by_engine
    }
    planned = {
        number: node.source for number, node in numbered if isinstance(node.source, PlannedSource)
    }
    run_end = RunEnd.of(request.configuration)
    if run_end.is_present:
        for number, source in planned.items():
            _check_present(source, graph.sources[number].name)
    return CompiledJob(
        request,
        job_id,
        graph,
        program,
        sinks,
        native,
        planned,
        bounded={
            **{number: source.epochs for number, source in native.items()},
            **{number: 1 for number, is_bounded in ends.items() if is_bounded},
        },
        is_streaming=not all(ends.values()),
        run_end=run_end,
        main_classes=classes_of_main(),
    )


def _check_present(source: PlannedSource, name: str) -> None:
    if not source.has_present:
        raise UnsupportedOperationError(
            f"{name!r} is {source.kind}, of which nobody knows what is there when the job starts, as "
            "available-now wants it.",
            hint="Leave execution.trigger out: the job ends when its sources do.",
        )
