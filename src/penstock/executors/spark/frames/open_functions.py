"""The asynchronous functions that are open in this process, for the rows of task after task."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from penstock.runtime.async_io.async_wait import AsyncWaitOperator
from penstock.runtime.context import RuntimeContext
from penstock.runtime.epoch import Epoch
from penstock.runtime.exchange.elements import Block, EndOfInput, WatermarkStatus
from penstock.runtime.exchange.output import Output
from penstock.runtime.job_pickle import load_code
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.timers.processing_time_service import (
    MonotonicClock,
    SystemProcessingTimeService,
)


class OpenFunction:
    """A function that is open in this process: it takes the rows of one task after the other.

    Args:
        name: The name of the operator that calls it.
        prototype: That operator, pickled.
    """

    def __init__(self, name: str, prototype: bytes) -> None:
        self._results = _Results()
        self._operator: AsyncWaitOperator = load_code(prototype, {})
        self._operator.setup(
            name=name,
            context=RuntimeContext(name),
            output=self._results,
            metrics=OperatorMetrics(),
            to_driver=_tell_nobody,
            processing_time=SystemProcessingTimeService(MonotonicClock()),
        )
        self._operator.open()

    def run(self, blocks: Iterable[Block]) -> Iterator[list[Any]]:
        """Yield the results for the rows of a task, part by part."""
        operator = self._operator
        operator.begin_epoch(Epoch(operator.name))
        for block in blocks:
            operator.process_block(block)
            yield from self._results.take()
        operator.end_input()
        yield from self._results.take()

    def give_up(self) -> None:
        """Give up what is under way: nobody wants the rest of the task's results."""
        self._operator.begin_epoch(Epoch(self._operator.name))
        self._results.take()

    def close(self) -> None:
        """Have the function let go of what it holds: it gets no more records."""
        self._operator.close()


_IDLE: OrderedDict[str, OpenFunction] = OrderedDict()
_MOST_IDLE: Final = 16


@contextmanager
def open_function(map_id: str, name: str, prototype: bytes) -> Iterator[OpenFunction]:
    """Lend a function, for one task, that stays open until many others were used after it.

    Args:
        map_id: Tells functions apart.
        name: The name of the operator that calls the function.
        prototype: That operator, pickled.
    """
    function = _IDLE.pop(map_id, None) or OpenFunction(name, prototype)
    try:
        yield function
    except GeneratorExit:
        function.give_up()
        _keep(map_id, function)
        raise
    except BaseException:
        with suppress(Exception):  # why it failed is more than what closing it may raise
            function.close()
        raise
    _keep(map_id, function)


def _keep(map_id: str, function: OpenFunction) -> None:
    _IDLE[map_id] = function
    if len(_IDLE) > _MOST_IDLE:
        _, oldest = _IDLE.popitem(last=False)
        oldest.close()


class _Results(Output):
    """Keeps results until they are taken."""

    def __init__(self) -> None:
        self._blocks: list[list[Any]] = []

    def take(self) -> list[list[Any]]:
        blocks, self._blocks = self._blocks, []
        return blocks

    def collect(self, block: Block) -> None:
        self._blocks.append(block.values)

    def collect_side(self, tag: str, block: Block) -> None:
        raise TypeError(f"There is no side output {tag!r}.")

    def emit_watermark(self, timestamp: int) -> None:
        """Rows have no watermarks."""

    def emit_status(self, status: WatermarkStatus) -> None:
        """Rows are never idle."""

    def end_input(self, end: EndOfInput) -> None:
        """Nothing is held back."""

    def flush(self) -> None:
        """Nothing is held back."""


def _tell_nobody(kind: str, content: Any) -> None:
    """There is no job to tell."""
