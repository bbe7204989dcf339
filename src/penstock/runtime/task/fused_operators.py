"""Operators that run in a loop: neighbouring ones of a chain in one and the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import FrameType
from typing import Any, Final, cast

from penstock.runtime.exchange.elements import BLOCK_SIZE, Block
from penstock.runtime.objects.fixed_results import makes_fixed, reads_names
from penstock.runtime.objects.harmless import are_plain, is_harmless
from penstock.runtime.objects.unshared import to_wait
from penstock.runtime.operator import StreamOperator
from penstock.runtime.operators.function_operator import (
    FilterOperator,
    FlatMapOperator,
    FunctionOperator,
    MapOperator,
)
from penstock.runtime.operators.process import ProcessOperator
from penstock.runtime.operators.reduce import ReduceOperator
from penstock.runtime.operators.sink import SinkOperator
from penstock.runtime.output_tag import OutputTag
from penstock.runtime.task.fused_loop import (
    DROPPING,
    NESTING,
    REST,
    Loop,
    Place,
    Widths,
    new_loop,
    width_of,
)
from penstock.runtime.user_code import FAILURES, function_failure, record_text

_KINDS: Final[dict[type[StreamOperator], str]] = {
    MapOperator: "map",
    FilterOperator: "filter",
    FlatMapOperator: "flat_map",
    ProcessOperator: "process",
    ReduceOperator: "reduce",
    SinkOperator: "sink",
}

_MOST_NESTED: Final = 16

_VARIABLES: Final = 2
"""How many variables a result is in while it is looked at: one of the loop, and one of `emit_alone`."""

_WORTH_ASKING: Final = 8
"""For fewer records it takes longer to ask whether functions are harmless than to look at results."""


def can_join(run: Sequence[StreamOperator], operator: StreamOperator) -> bool:
    """Whether an operator can run in one loop with those before it, if any.

    Only those of known types can. Only the first one gets keys with its records, and a reduce in BATCH
    mode emits when all have been read. Python cannot nest loops as deep as one likes.
    """
    if isinstance(operator, ReduceOperator) and (operator.batch or run):
        return False
    nested = sum(_KINDS[type(before)] in NESTING for before in run)
    return type(operator) in _KINDS and nested < _MOST_NESTED


class FusedOperators:
    """Takes the blocks of several operators, each of which is the only one behind the one before.

    The operators stay what they are for all but blocks: watermarks, the end of an epoch, metrics.

    Args:
        operators: The operators, one or more, all fusable.

    Attributes:
        reduce: The first operator, if it is a reduce.
        keep: What makes of a result that may be changed later what is set in its table.
    """

    def __init__(self, operators: Sequence[StreamOperator]) -> None:
        self._operators = [cast(FunctionOperator, operator) for operator in operators]
        self._kinds = tuple(_KINDS[type(operator)] for operator in operators)
        self._misfits = tuple(
            "" if operator.conversion is None else operator.conversion.misfit("{}")
            for operator in operators[:-1]
        )
        makes_plain = all(
            operator.conversion is None or operator.conversion.is_plain
            for operator in operators[:-1]
        )
        self._is_sink = self._kinds == ("sink",)
        self._has_results = self._kinds[-1] != "sink"
        self._changes_number = not DROPPING.isdisjoint(self._kinds)
        self.reduce = operators[0] if isinstance(operators[0], ReduceOperator) else None
        self._passes_values = {"filter", "sink"}.issuperset(self._kinds)
        self._may_be_fixed = makes_plain and NESTING.isdisjoint(self._kinds)
        self._may_be_harmless = makes_plain and {"map", "filter"}.issuperset(self._kinds)
        self._processes = {
            position: operator
            for position, operator in enumerate(operators)
            if isinstance(operator, ProcessOperator)
        }
        self._makes_mutable = False
        self._widths: Widths = (0, 0)
        self._loops: dict[tuple[bool, bool, Widths], Loop] = {}

    @property
    def operators(self) -> Sequence[StreamOperator]:
        """The operators, in the order of the chain."""
        return self._operators

    def process_block(self, block: Block) -> None:
        """Send the records of a block through all operators, one record after the other."""
        values, timestamps = block.values, block.timestamps
        timed = timestamps is not None and (
            bool(self._processes) or (self._has_results and self._changes_number)
        )
        self._is_fixed = self._is_fixed_for(block)
        self._is_harmless = self._is_fixed or (self._makes_mutable and self._is_harmless_for(block))
        # Several values are such as nobody else has, so that a sink may keep them.
        known = (
            self._is_harmless
            or (self._is_sink and len(values) > 1)
            or (self._passes_values and block.is_immutable)
        )
        loop = self._loop(timed=timed, known=known)
        results: list[Any] = []
        times: list[int | None] | None = [] if timed else None
        self._times = None if timed else timestamps
        self._emitted = 0
        self._has_mutable, self._plain = False, 0
        reduce = self.reduce
        keys = None if reduce is None else reduce.keys_of(block)
        table = None if reduce is None else reduce.table
        self.keep = None if reduce is None else reduce.keep
        try:
            counts = loop.run(
                self, self._functions, values, timestamps, results, times, keys, table
            )
        except FAILURES as error:
            raise self._failure(error) from error
        if reduce is not None:
            reduce.mark_changed(block)
        if len(self._operators) > 1:
            self._count(len(values), counts)
        for process in self._processes.values():
            process.collector.flush()
        if results:
            self.emit(results, times)

    def emit(self, results: list[Any], times: list[int | None] | None) -> None:
        """Pass on the results so far, and empty the lists; called by the loop when they are long.

        Args:
            results: The results.
            times: Their timestamps; None if they have none, or those of the records one by one.
        """
        if not results:
            return
        block = Block(
            results.copy(),
            self._times_of(len(results)) if times is None else times.copy(),
            is_immutable=True
            if self._is_fixed or not (self._has_mutable or self._is_harmless)
            else None,
            is_harmless=self._is_harmless or self._plain == len(results),
        )
        results.clear()
        if times is not None:
            times.clear()
        self._operators[-1].output.collect(block)

    def collect_side(
        self, position: int, result: tuple[OutputTag, Any], timestamp: int | None
    ) -> None:
        """Take a result for a side output.

        Args:
            position: The position of the operator whose function gave it.
            result: The tag of the side output, and the value.
            timestamp: Its timestamp (milliseconds), if it has one.
        """
        tag, value = result
        self._processes[position].collector.collect_side(tag.tag_id, value, timestamp)

    def emit_alone(
        self,
        result: Any,
        timestamp: int | None,
        results: list[Any],
        times: list[int | None] | None,
    ) -> None:
        """Take a result that can be changed.

        It waits with those so far if nobody else has it, or a copy of it does, if that will do. Else it is passed
        on after them.

        Args:
            result: The result.
            timestamp: Its timestamp, if there are `times`.
            results: The results so far.
            times: Their timestamps; None if they have none, or those of the records one by one.
        """
        self._makes_mutable = True
        output = self._operators[-1].output
        waiting = to_wait(result, _VARIABLES, may_copy=output.copies_will_do)
        if waiting is None:
            self.emit(results, times)
            found = self._times_of(1) if times is None else [timestamp]
            output.collect(Block([result], found, is_immutable=False))
            return
        held, is_plain = waiting
        self._has_mutable = True
        self._plain += is_plain
        results.append(held)
        if times is not None:
            times.append(timestamp)
        if len(results) >= BLOCK_SIZE:
            self.emit(results, times)

    def note_width(self, place: int, value: Any) -> None:
        """Have the loop for the next block written for values like this.

        Args:
            place: Where in `Widths`.
            value: A value that nobody can change, of no width that the loop is written for.
        """
        width = width_of(value)
        if width is not None:
            first, last = self._widths
            self._widths = (first, width) if place else (width, last)

    def _is_fixed_for(self, block: Block) -> bool:
        """Whether all results for a block will be plain, and such as nobody can change."""
        is_fixed = block.is_fixed and self._makes_fixed and all(map(is_harmless, self._watched))
        if self.reduce is not None:
            self.reduce.look_at_table(sets_fixed=is_fixed)
            return self.reduce.holds_fixed
        return is_fixed

    @cached_property
    def _makes_fixed(self) -> bool:
        """Whether all functions that make results can only make such, if given such; by their code."""
        return self._may_be_fixed and all(map(makes_fixed, self._makers))

    @cached_property
    def _watched(self) -> Sequence[Callable[..., Any]]:
        """The functions that have to be harmless for that: all, if one could change what another reads."""
        return self._functions if any(map(reads_names, self._makers)) else ()

    @property
    def _makers(self) -> Sequence[Callable[..., Any]]:
        found = zip(self._functions, self._kinds, strict=True)
        return [function for function, kind in found if kind in {"map", "reduce"}]

    def _is_harmless_for(self, block: Block) -> bool:
        """Whether nobody can change a result for a record of a block while it waits for others."""
        return (
            self._may_be_harmless
            and len(block) >= _WORTH_ASKING
            and (block.is_harmless or are_plain(block.values))
            and all(map(is_harmless, self._functions))
        )

    def _times_of(self, count: int) -> list[int | None] | None:
        """Return the timestamps of the next results, where each record has one."""
        if self._times is None:
            return None
        start, self._emitted = self._emitted, self._emitted + count
        return self._times if count == len(self._times) else self._times[start : self._emitted]

    def operator_at(self, frame: FrameType, line: int) -> StreamOperator | None:
        """Return whose function is called on a line of a loop; None if no one's is.

        Args:
            frame: The frame of the loop.
            line: The number of the line.
        """
        place = self._place_at(frame, line)
        return None if place is None else self._operators[place.position]

    def _place_at(self, frame: FrameType, line: int) -> Place | None:
        for loop in tuple(self._loops.values()):
            if loop.run.__code__ is frame.f_code:
                return loop.places.get(line)
        return None

    @cached_property
    def _functions(self) -> Sequence[Callable[..., Any]]:
        """What is called for a record; not known before the first block, when the operators are open."""
        return [operator.call for operator in self._operators]

    def _loop(self, *, timed: bool, known: bool) -> Loop:
        widths = (0, 0) if known else self._widths
        loop = self._loops.get((timed, known, widths))
        if loop is None:
            loop = new_loop(
                self._kinds, timed=timed, known=known, widths=widths, misfits=self._misfits
            )
            self._loops[timed, known, widths] = loop
        return loop

    def _failure(self, error: BaseException) -> BaseException:
        """Return what to raise for an error that came out of a loop."""
        assert error.__traceback__ is not None
        stack = error.__traceback__.tb_next
        place = None if stack is None else self._place_at(stack.tb_frame, stack.tb_lineno)
        if stack is None or place is None:
            # It comes from further down the chain, and says so itself.
            return error
        name = self._operators[place.position].name
        return function_failure(
            error, name, _failing_record(stack.tb_frame.f_locals, place.variable)
        )

    def _count(self, records: int, counts: tuple[int, ...]) -> None:
        """Count for each operator what came in and, but for the last, what went out."""
        changes = iter(counts)
        last = len(self._operators) - 1
        for position, (operator, kind) in enumerate(zip(self._operators, self._kinds, strict=True)):
            if position > 0:
                operator.metrics.records_in += records
            if kind == "filter":
                records -= next(changes)
            elif kind in NESTING:
                records = next(changes)
            if position < last:
                operator.metrics.records_out += records


def _failing_record(found: Mapping[str, Any], variable: str) -> str:
    """Return the text of the record that was being processed.

    Args:
        found: The local variables of a loop.
        variable: The one that tells it.
    """
    if variable != REST:
        return record_text(found[variable])
    values = found["values"]
    return record_text(values[len(values) - found[REST].__length_hint__() - 1])
