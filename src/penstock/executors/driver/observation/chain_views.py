"""How the chains of a job look at a moment: what their subtasks and operators did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.checkpoint.epoch_record import SubtaskId
from penstock.common.configuration.secrets import without_secrets
from penstock.executors.driver.epoch_outcome import Gauges, add_user_metrics
from penstock.executors.driver.observation.epoch_log import (
    Handles,
    Noted,
    SubtaskCounts,
    SubtaskTotals,
)
from penstock.executors.driver.reports.job_view import (
    Figures,
    InputView,
    OperatorView,
    SampleView,
    SubtaskView,
    TaskTimes,
    VertexView,
)
from penstock.graph.job_graph import JobGraph
from penstock.runtime.gauges import Reading
from penstock.runtime.metrics import FAILED_RECORDS, LATE_RECORDS, shown_metric
from penstock.runtime.operators.function_operator import FilterOperator
from penstock.runtime.program import OperatorSpec, Program, Vertex
from penstock.runtime.timestamp import MIN_TIMESTAMP


@dataclass
class _Subtask:
    """What is known of a subtask; of one of a source that the engine reads, of all tasks with its number.

    Attributes:
        totals: What they did.
        bases: What they had done some seconds ago.
        measured_bases: What they had done some seconds before the last epoch.
        state_size: How many bytes of state it has.
        source: The watermarks of the operators, where a source has come so far as a whole.
    """

    totals: list[SubtaskTotals] = field(default_factory=list)
    bases: list[SubtaskCounts] = field(default_factory=list)
    measured_bases: list[SubtaskCounts] = field(default_factory=list)
    state_size: int = 0
    source: Gauges | None = None


class ChainViews:
    """Makes pictures of a job's chains.

    Args:
        program: The compiled program.
        strategies: The ship strategies of the edges between chains, by their numbers.
    """

    def __init__(self, program: Program, strategies: Mapping[int, str]) -> None:
        self._program = program
        self._strategies = strategies

    def views(self, noted: Noted) -> tuple[VertexView, ...]:
        """Return the chains as they were when that was noted."""
        span, measured = noted.span, noted.measured
        subtasks: dict[SubtaskId, _Subtask] = {}
        for (index, sender), totals in noted.totals.items():
            owner = index, sender % self._program.vertices[index].parallelism
            found = subtasks.setdefault(owner, _Subtask())
            found.totals.append(totals)
            for base, known in ((span.base, found.bases), (measured.base, found.measured_bases)):
                if base is not None and (index, sender) in base:
                    known.append(base[index, sender])
        for owner, size in _sizes(noted.handles).items():
            subtasks.setdefault(owner, _Subtask()).state_size += size
        sizes = sizes_by_vertex(self._program, noted.handles)
        return tuple(
            self._vertex(vertex, subtasks, noted, sizes.get(vertex.vertex_id, 0))
            for vertex in self._program.vertices
        )

    def samples(self, noted: Noted) -> tuple[SampleView, ...]:
        """Return records that went nowhere, the newest first."""
        return tuple(
            SampleView(
                sample.kind,
                self._program.vertices[index].operators[place].name,
                without_secrets(sample.record),
                without_secrets(sample.reason),
                sample.happened,
            )
            for index, place, sample in noted.samples
        )

    def _vertex(
        self,
        vertex: Vertex,
        known: Mapping[SubtaskId, _Subtask],
        noted: Noted,
        state_size: int,
    ) -> VertexView:
        seconds, measured = noted.span.seconds, noted.measured.seconds
        source = noted.sources.get(vertex.index)
        owners = [(vertex.index, number) for number in range(vertex.parallelism)]
        found = [replace(known.get(owner) or _Subtask(), source=source) for owner in owners]
        subtasks = tuple(
            _subtask_view(vertex, number, one, seconds, measured)
            for number, one in enumerate(found)
        )
        operators = tuple(
            _operator_view(
                spec,
                place,
                subtasks,
                _figures(place, found, vertex, state_size),
                found,
                seconds,
                is_source=place == 0 and vertex.source is not None,
            )
            for place, spec in enumerate(vertex.operators)
        )
        ends = [operators[place].figures.output_watermark for place in _tails(vertex)]
        return VertexView(
            vertex.vertex_id,
            vertex.name,
            vertex.parallelism,
            vertex.max_parallelism,
            operators,
            tuple(self._input(edge.index) for edge in vertex.inputs),
            subtasks,
            _together([one.times for one in subtasks]),
            _lowest(ends),
            state_size,
        )

    def _input(self, index: int) -> InputView:
        sender, operator_id = next(
            (vertex, spec.operator_id)
            for vertex in self._program.vertices
            for spec in vertex.operators
            for edge in spec.network
            if edge.index == index
        )
        return InputView(sender.vertex_id, self._strategies.get(index, "UNKNOWN"), operator_id)


def _sizes(handles: Handles) -> Counter[SubtaskId]:
    """Return how many bytes the files of the state of each subtask have."""
    found: Counter[SubtaskId] = Counter()
    for owner, files in handles.items():
        found[owner] += sum(handle.length for handle in files)
    return found


def with_shares(
    vertices: tuple[VertexView, ...], busy: Mapping[str, float]
) -> tuple[VertexView, ...]:
    """Return chains with the shares that their operators have of their time.

    Args:
        vertices: The chains.
        busy: For how long operators were busy, by their ids.
    """
    found = []
    for vertex in vertices:
        times = [busy.get(operator.operator_id, 0.0) for operator in vertex.operators]
        whole = sum(times)
        operators = tuple(
            replace(operator, busy=time / whole if whole else None)
            for operator, time in zip(vertex.operators, times, strict=True)
        )
        found.append(replace(vertex, operators=operators))
    return tuple(found)


def sizes_by_vertex(program: Program, handles: Handles) -> dict[str, int]:
    """Return how many bytes of state each chain has, by its vertex id; nothing of those without."""
    files: dict[str, dict[str, int]] = {}
    for (index, _), found in handles.items():
        # After the parallelism was changed several subtasks have the same files.
        known = files.setdefault(program.vertices[index].vertex_id, {})
        known.update((handle.name, handle.length) for handle in found)
    return {vertex_id: sum(lengths.values()) for vertex_id, lengths in files.items()}


def filters_of(graph: JobGraph) -> Set[str]:
    """Return the operators of a job that only leave records out, by their ids."""
    return {
        graph.operator_ids[node.id]
        for node in graph.stream_graph.nodes.values()
        if isinstance(node.operator, FilterOperator)
    }


def _first_stateful(vertex: Vertex) -> int | None:
    places = (place for place, spec in enumerate(vertex.operators) if spec.is_stateful)
    return next(places, None)


def _tails(vertex: Vertex) -> list[int]:
    """Return the places of the operators whose records leave the chain, or end in it."""
    return [
        place for place, spec in enumerate(vertex.operators) if spec.network or not spec.chained
    ]


def _subtask_view(
    vertex: Vertex, index: int, known: _Subtask, seconds: float, measured: float
) -> SubtaskView:
    figures = tuple(
        _figures(place, [known], vertex, known.state_size) for place in range(len(vertex.operators))
    )
    before = known.bases
    source = vertex.source is not None
    tails = _tails(vertex)

    def rate(now: int, then: int) -> float:
        return (now - then) / seconds if seconds else 0.0

    head = [figures[0].records_out if source else figures[0].records_in]
    heads = [(base.records_out if source else base.records_in)[0] for base in before]
    busy, waited = _shares(known, measured)
    times = TaskTimes(
        busy,
        waited,
        max(0.0, 1.0 - busy - waited),
        records_in_per_second=rate(sum(head), sum(heads)),
        records_out_per_second=rate(
            sum(figures[place].records_out for place in tails),
            sum(base.records_out[place] for base in before for place in tails),
        ),
        bytes_in=sum(one.bytes_in for one in known.totals),
        bytes_out=sum(one.bytes_out for one in known.totals),
        measured=measured,
    )
    return SubtaskView(index, times, figures, known.state_size)


def _shares(known: _Subtask, seconds: float) -> tuple[float, float]:
    """Return for which share of some seconds a subtask was busy, and held up; of several tasks, on average."""
    if not seconds or not known.totals:
        return 0.0, 0.0
    before, tasks = known.measured_bases, len(known.totals) * seconds
    busy = sum(one.busy for one in known.totals) - sum(base.busy for base in before)
    waited = sum(one.waited for one in known.totals) - sum(base.waited for base in before)
    return min(1.0, busy / tasks), min(1.0, waited / tasks)


def _figures(place: int, subtasks: Sequence[_Subtask], vertex: Vertex, state_size: int) -> Figures:
    """Return what an operator did in some subtasks, whose chain has so many bytes of state."""
    user: dict[str, Any] = {}
    totals = [one for subtask in subtasks for one in subtask.totals]
    for one in totals:
        user = add_user_metrics(user, one.user[place])
    reached = [gauges[place] for subtask in subtasks for gauges in _gauges(subtask)]
    reports = [one.report for one in totals if one.report is not None]
    is_source = place == 0 and vertex.source is not None
    records_out = sum(one.records_out[place] for one in totals)
    return Figures(
        # What a source reads is what it emits: it has no other input.
        records_out if is_source else sum(one.records_in[place] for one in totals),
        records_out,
        _lowest(given for given, _ in reached),
        _lowest(emitted for _, emitted in reached),
        user.get(LATE_RECORDS, 0),
        user.get(FAILED_RECORDS, 0),
        timers=sum(report.timers[place] for report in reports if report.timers),
        timers_fired=sum(one.fired[place] for one in totals),
        # State of several operators of a chain is in the same files.
        state_size=state_size if place == _first_stateful(vertex) else 0,
        user={
            name: shown_metric(value)
            for name, value in user.items()
            if name not in {LATE_RECORDS, FAILED_RECORDS}
        },
        gauges=frozenset(name for name, value in user.items() if isinstance(value, Reading)),
    )


def _gauges(subtask: _Subtask) -> list[Gauges]:
    """Return the watermarks of its operators that count for a subtask: the lowest does."""
    if subtask.source is not None:
        return [subtask.source]
    reports = [one.report for one in subtask.totals if one.report is not None]
    return [tuple((one[2], one[3]) for one in report.metrics) for report in reports]


def _operator_view(
    spec: OperatorSpec,
    place: int,
    subtasks: Sequence[SubtaskView],
    together: Figures,
    known: Sequence[_Subtask],
    seconds: float,
    *,
    is_source: bool,
) -> OperatorView:
    parts = [one.operators[place] for one in subtasks]
    before = sum(
        (base.records_out if is_source else base.records_in)[place]
        for found in known
        for base in found.bases
    )
    counted = sum(part.records_in for part in parts)
    return OperatorView(
        spec.operator_id,
        spec.name,
        spec.uid,
        tuple(edge.target for edge in spec.chained),
        together,
        (counted - before) / seconds if seconds else 0.0,
    )


def _lowest(watermarks: Iterable[int | None]) -> int | None:
    """Return the lowest of some watermarks; None if one has not come, or there is none."""
    found = [MIN_TIMESTAMP if one is None else one for one in watermarks]
    lowest = min(found, default=MIN_TIMESTAMP)
    return None if lowest == MIN_TIMESTAMP else lowest


def _together(times: Sequence[TaskTimes]) -> TaskTimes:
    """Return the averages of shares, and the sums of the rest."""
    count = len(times)
    return TaskTimes(
        sum(one.busy for one in times) / count,
        sum(one.back_pressured for one in times) / count,
        sum(one.idle for one in times) / count,
        sum(one.records_in_per_second for one in times),
        sum(one.records_out_per_second for one in times),
        sum(one.bytes_in for one in times),
        sum(one.bytes_out for one in times),
        max(one.measured for one in times),
    )
