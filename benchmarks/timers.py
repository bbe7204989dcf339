"""How fast timers are registered, fired and deleted, and how much memory they take, in one subtask.

    python benchmarks/timers.py                  all parts
    python benchmarks/timers.py --quick          the same with less of everything
    python benchmarks/timers.py --part 2         one part
    python benchmarks/timers.py --json FILE      the figures as JSON too

Part 1: rates on the hashmap backend. Part 2: on the rocksdb backend. Part 3: memory, on hashmap.

The operator of keyed process functions is given records in blocks, as in a job, and the user's function
registers, or deletes, a timer for each of them; then watermarks fire the timers, and the function
counts them. What is timed is the operator with the function, not the making of the records. Between
registering and firing, or deleting, an epoch ends. Garbage is looked for as rarely as in a worker.

Every run's count is compared with what it has to be.
"""

# ruff: noqa: D102 - what overrides a documented method is documented

from __future__ import annotations

import argparse
import gc
import random
import sys
import tracemalloc
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.kit import script
from benchmarks.kit.measure import Row

from penstock.common import Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext, ValueStateDescriptor
from penstock.runtime.exchange.elements import BLOCK_SIZE, Block, EndOfInput, WatermarkStatus
from penstock.runtime.exchange.output import Output
from penstock.runtime.metrics import OperatorMetrics
from penstock.runtime.operators.keyed_process import KeyedProcessOperator
from penstock.runtime.state.factory import create_backend
from penstock.runtime.task.garbage import collect_rarely
from penstock.runtime.timers.processing_time_service import (
    SystemProcessingTimeService,
    system_clock,
)

MAX_PARALLELISM = 128
WATERMARKS = 100
TARGETS = {"hashmap": 200_000, "rocksdb": 60_000}
WINDOW_ENDS = 1_000
DELETE_ORDERS = ("the order of registering", "any order")


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    rounds: int = 5
    timers: int = 1_000_000
    keys: int = 100_000


QUICK = Scale(rounds=2, timers=40_000, keys=4_000)


class CountInPython(KeyedProcessFunction):
    """Registers a timer for each record's value, and counts those that fire in a field."""

    def __init__(self) -> None:
        self.count = 0

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        self.count += 1


class CountInState(CountInPython):
    """Counts, for each key, in state as well."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.fired = runtime_context.get_state(ValueStateDescriptor("fired", Types.LONG()))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        self.count += 1
        self.fired.update((self.fired.value() or 0) + 1)


class Delete(CountInPython):
    """Deletes the timers again when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.is_deleting = False

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        if self.is_deleting:
            ctx.timer_service().delete_event_time_timer(value)
        else:
            ctx.timer_service().register_event_time_timer(value)


class Nowhere(Output):
    """Takes everything and keeps nothing."""

    def collect(self, block: Block) -> None: ...
    def collect_side(self, tag: str, block: Block) -> None: ...
    def emit_watermark(self, timestamp: int) -> None: ...
    def emit_status(self, status: WatermarkStatus) -> None: ...
    def flush(self) -> None: ...
    def end_input(self, end: EndOfInput) -> None: ...


class Records:
    """One record for each timer: its key, and the timer's time as its value.

    They are made anew at each passage, so that nothing but the timers keeps their objects.

    Args:
        scale: How many timers and keys.
        distinct_times: How many times the timers share.
    """

    def __init__(self, scale: Scale, distinct_times: int) -> None:
        self.span = scale.timers
        self._step = scale.timers // distinct_times
        self._times = array("q", range(scale.timers))
        self._keys = array("q", (number % scale.keys for number in range(scale.timers)))
        self._random = random.Random(0)
        self._random.shuffle(self._keys)
        self.shuffle()
        self.distinct = len({(key, time) for block in self.blocks() for key, time in _pairs(block)})

    def shuffle(self) -> None:
        """Bring the records into another order."""
        state = self._random.getstate()
        self._random.shuffle(self._times)
        self._random.setstate(state)
        self._random.shuffle(self._keys)

    def blocks(self) -> Iterator[Block]:
        """Yield the records."""
        step = self._step
        for start in range(0, len(self._times), BLOCK_SIZE):
            times = self._times[start : start + BLOCK_SIZE]
            keys = self._keys[start : start + BLOCK_SIZE]
            yield Block([time // step * step for time in times], keys=keys.tolist())


def _pairs(block: Block) -> Iterator[tuple[Any, Any]]:
    assert block.keys is not None
    return zip(block.keys, block.values, strict=True)


class Operator:
    """The operator of keyed process functions with one function, as a subtask sets it up."""

    def __init__(self, backend: str, function: CountInPython) -> None:
        # What an earlier operator left behind is no concern of this one.
        gc.collect()
        self.state = create_backend(
            backend,
            max_parallelism=MAX_PARALLELISM,
            key_groups=range(MAX_PARALLELISM),
            clock=system_clock,
        )
        self._operator = KeyedProcessOperator(function)
        self._operator.setup(
            name="timers",
            context=RuntimeContext("timers", keyed_state=self.state),
            output=Nowhere(),
            metrics=OperatorMetrics(),
            to_driver=lambda *_: None,
            processing_time=SystemProcessingTimeService(system_clock),
            state=self.state,
        )
        self._operator.open()
        self._operator.begin_epoch(None)  # type: ignore[arg-type] # it asks the epoch nothing

    def process(self, records: Records) -> float:
        """Process the records; return the seconds it took."""
        return sum(_seconds(self._operator.process_block, block) for block in records.blocks())

    def advance(self, span: int) -> float:
        """Let the watermark go through a span of time; return the seconds it took."""
        step = span // WATERMARKS
        return sum(
            _seconds(self._operator.process_watermark, (number + 1) * step)
            for number in range(WATERMARKS)
        )

    def close(self) -> None:
        """Let go of the state."""
        self._operator.close()
        self.state.close()


def _seconds(call: Callable[[Any], object], argument: Any) -> float:
    before = perf_counter()
    call(argument)
    return perf_counter() - before


def fire(backend: str, function: CountInPython, records: Records) -> tuple[float, float]:
    """Register and fire all timers; return the seconds that each of both took."""
    operator = Operator(backend, function)
    registering = operator.process(records)
    operator.state.forget_changes()
    firing = operator.advance(records.span)
    operator.close()
    _check(function.count, records.distinct)
    return registering, firing


def delete(backend: str, records: Records, *, shuffled: bool) -> tuple[float, float]:
    """Register all timers, delete them in that or another order; return the seconds that each took."""
    function = Delete()
    operator = Operator(backend, function)
    registering = operator.process(records)
    operator.state.forget_changes()
    function.is_deleting = True
    if shuffled:
        records.shuffle()
    deleting = operator.process(records)
    operator.advance(records.span)
    operator.close()
    _check(function.count, 0)
    return registering, deleting


def memory(records: Records) -> tuple[float, float]:
    """Return the bytes that a pending timer takes: after its epoch, and in it."""
    tracemalloc.start()
    operator = Operator("hashmap", CountInPython())
    before, _ = tracemalloc.get_traced_memory()
    operator.process(records)
    in_epoch, _ = tracemalloc.get_traced_memory()
    operator.state.forget_changes()
    after_epoch, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    operator.close()
    return (after_epoch - before) / records.distinct, (in_epoch - before) / records.distinct


def _check(found: int, wanted: int) -> None:
    if found != wanted:
        sys.exit(f"Wrong results: {found} timers fired instead of {wanted}.")


def rates(backend: str, scale: Scale) -> list[Row]:
    """Parts 1 and 2: registers and fires with all functions and shapes, and deletes."""
    scattered, shared = Records(scale, scale.timers), Records(scale, WINDOW_ENDS)
    times = f"{scale.timers:,} times"
    cases: dict[str, tuple[Callable[[], CountInPython], Records]] = {
        f"{times}, counted in Python": (CountInPython, scattered),
        f"{times}, counted in ValueState": (CountInState, scattered),
        f"{WINDOW_ENDS:,} times, counted in Python": (CountInPython, shared),
    }
    fired: dict[str, list[float]] = {name: [] for name in cases}
    registered: dict[str, list[float]] = {order: [] for order in DELETE_ORDERS}
    deleted: dict[str, list[float]] = {order: [] for order in DELETE_ORDERS}
    for number in range(scale.rounds):
        for name, (function, records) in cases.items():
            fired[name].append(records.distinct / sum(fire(backend, function(), records)))
        for order in DELETE_ORDERS:
            seconds = delete(backend, scattered, shuffled=order == "any order")
            registered[order].append(scattered.distinct / seconds[0])
            deleted[order].append(scattered.distinct / seconds[1])
        print(f"  {backend}: round {number + 1} of {scale.rounds}", flush=True)
    return [
        *(
            Row(
                job=f"register and fire timers at {name}, {backend}",
                unit="timers/s",
                penstock=figures,
                target=TARGETS[backend],
            )
            for name, figures in fired.items()
        ),
        *(
            Row(
                job=f"delete timers in {order}, {backend}",
                unit="timers/s",
                penstock=deleted[order],
                against="registering them",
                other=registered[order],
                target=1,
            )
            for order in DELETE_ORDERS
        ),
    ]


def sizes(scale: Scale) -> list[Row]:
    """Part 3: what a pending timer of the heap takes, in memory."""
    rows: list[Row] = []
    for times in (scale.timers, WINDOW_ENDS):
        records = Records(scale, times)
        found = [memory(records) for _ in range(scale.rounds)]
        rows += [
            Row(
                job=f"a pending timer of the heap, {times:,} times, {moment}",
                unit="bytes",
                penstock=figures,
                target=400,
                lower_is_better=True,
            )
            for moment, figures in zip(
                ("between epochs", "in the epoch that registers it"),
                zip(*found, strict=True),
                strict=True,
            )
        ]
    return rows


PARTS = (partial(rates, "hashmap"), partial(rates, "rocksdb"), sizes)


def main() -> None:
    arguments = parser().parse_args()
    scale = QUICK if arguments.quick else Scale()
    collect_rarely()
    script.run(__file__, arguments, [partial(part, scale) for part in PARTS])


def parser() -> argparse.ArgumentParser:
    return script.parser(__doc__, len(PARTS))


if __name__ == "__main__":
    main()
