"""The kinds of steps of random programs: how each is built, and what order it needs and gives."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from benchmarks.flink_programs import functions as use
from benchmarks.flink_programs.functions import ODD, RECORD, letter

from penstock.common import Duration, Row, Time, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import AsyncDataStream, MapFunction, RuntimeExecutionMode
from penstock.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

NONE, PER_KEY, WHOLE = 0, 1, 2
"""How much of the order of a stream's records is certain: nothing, that of each key, all of it."""


@dataclass(frozen=True)
class Kind:
    """A kind of step.

    Attributes:
        build: Adds it to a program: takes as many streams as `arity` says, and a digit.
        arity: How many streams it takes.
        needs: Which order of its inputs it needs, for its results to be certain.
        gives_order: Whether its results are in an order that its input's decides.
        keyed: Whether it groups by letters, and keeps them.
        keeps_letter: Whether records keep their letters.
        one_to_one: Whether no record becomes several.
        timed: Whether it needs event time.
        is_end_of_time: Whether its results have no time that windows could use.
        modes: The modes in which its results are certain.
    """

    build: Callable[..., Any]
    arity: int = 1
    needs: int = NONE
    gives_order: bool = True
    keyed: bool = False
    keeps_letter: bool = True
    one_to_one: bool = True
    timed: bool = False
    is_end_of_time: bool = False
    modes: tuple[str, ...] = ("STREAMING", "BATCH")


def through(type_info: Any, there: Callable[[Any], Any], back: Callable[[Any], int]) -> Kind:
    """Send the number through another type."""
    declared = Types.TUPLE([Types.STRING(), type_info, Types.LONG()])

    def build(stream: Any, digit: int) -> Any:
        changed = stream.map(lambda record: (record[0], there(record[1]), record[2]), declared)
        return changed.map(lambda record: (record[0], back(record[1]), record[2]), RECORD)

    return Kind(build)


def as_row(stream: Any, digit: int) -> Any:
    declared = Types.ROW_NAMED(["key", "n", "at"], [Types.STRING(), Types.LONG(), Types.LONG()])
    rows = stream.map(lambda record: Row(key=record[0], n=record[1], at=record[2]), declared)
    return rows.map(lambda row: (row.key, row["n"] + len(row), row[2]), RECORD)


def as_plain_row(stream: Any, digit: int) -> Any:
    declared = Types.ROW([Types.STRING(), Types.LONG(), Types.LONG()])
    rows = stream.map(lambda record: Row(*record), declared)
    return rows.map(lambda row: (row[0], row[1], row[2]), RECORD)


def sides(stream: Any, digit: int) -> Any:
    sorted_ = stream.process(use.Sort(), RECORD)
    side = sorted_.get_side_output(ODD)
    return sorted_.union(side.map(use.Grow(digit), RECORD)) if digit % 2 else side


def custom(stream: Any, digit: int) -> Any:
    # PyFlink tells the function of -1 partitions if what comes next has no parallelism of its own.
    parallelism = stream.get_execution_environment().get_parallelism()
    chosen = stream.partition_custom(lambda key, count: ord(key) % count, letter)
    return chosen.map(use.Grow(digit), RECORD).set_parallelism(parallelism)


def sums(stream: Any, digit: int) -> Any:
    keyed = stream.key_by(letter)
    return (keyed.sum, keyed.min, keyed.max)[digit % 3](1)


def bests(stream: Any, digit: int) -> Any:
    keyed = stream.key_by(letter)
    return (keyed.min_by, keyed.max_by)[digit % 2](1)


def reduced(function: Any) -> Callable[..., Any]:
    return lambda stream, digit: stream.key_by(use.Letter()).reduce(function())


def assigner(digit: int) -> Any:
    """Return one of the assigners of windows of event time."""
    size = Time.milliseconds((20, 50, 70, 130)[digit % 4])
    half = Time.milliseconds((10, 25, 30, 60)[digit % 4])
    return (
        TumblingEventTimeWindows.of(size),
        TumblingEventTimeWindows.of(size, Time.milliseconds(7)),
        SlidingEventTimeWindows.of(size, half),
        EventTimeSessionWindows.with_gap(half),
        EventTimeSessionWindows.with_dynamic_gap(use.GapOfNumber()),
    )[digit % 5]


SHIFTS: Final = {
    "window aggregate": 1,
    "window all": 0,
    "window apply": 3,
    "window count": 0,
    "window in order": 2,
    "window process": 2,
    "window reduce": 0,
}
"""What kinds of steps add to their digit before they take an assigner."""


def has_sessions(kind: str, digit: int) -> bool:
    """Whether the windows of a step are sessions."""
    return kind in SHIFTS and (digit + SHIFTS[kind]) % 5 >= 3


def window_reduce(stream: Any, digit: int) -> Any:
    windows = stream.key_by(letter).window(assigner(digit))
    if digit % 3 == 0:
        return windows.reduce(use.Add())
    function = use.LabelWindow() if digit % 3 == 1 else use.EndOfWindow()
    return windows.reduce(use.Add(), function, RECORD)


def window_aggregate(stream: Any, digit: int) -> Any:
    windows = stream.key_by(letter).window(assigner(digit + SHIFTS["window aggregate"]))
    accumulator = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
    function = (None, use.LabelWindow(), use.EndOfWindow())[digit % 3]
    return windows.aggregate(
        use.Mean(), window_function=function, accumulator_type=accumulator, output_type=RECORD
    )


def window_process(ordered: bool) -> Callable[..., Any]:
    def build(stream: Any, digit: int) -> Any:
        windows = stream.key_by(letter).window(assigner(digit + SHIFTS["window process"]))
        if digit % 2:
            windows = windows.trigger(EventTimeTrigger.create()).allowed_lateness(digit * 10)
        return windows.process(use.AllOfWindow(ordered), RECORD)

    return build


def window_apply(stream: Any, digit: int) -> Any:
    windows = stream.key_by(letter).window(assigner(digit + SHIFTS["window apply"]))
    return windows.apply(use.LabelWindow(), RECORD)


def window_count(stream: Any, digit: int) -> Any:
    windows = stream.key_by(letter).window(assigner(digit))
    return windows.process(use.CountOfWindow(), RECORD)


def window_trigger(stream: Any, digit: int) -> Any:
    windows = stream.key_by(letter).window(TumblingEventTimeWindows.of(Time.milliseconds(90)))
    trigger = CountTrigger.of(digit % 3 + 1)
    return windows.trigger(PurgingTrigger.of(trigger) if digit % 2 else trigger).reduce(use.After())


def global_window(stream: Any, digit: int) -> Any:
    windows = stream.key_by(letter).window(GlobalWindows.create())
    trigger = PurgingTrigger.of(CountTrigger.of(digit % 4 + 1))
    return windows.trigger(trigger).reduce(use.After())


def count_window(stream: Any, digit: int) -> Any:
    keyed = stream.key_by(letter)
    size = digit % 4 + 2
    windows = keyed.count_window(size, digit % size) if digit % 2 else keyed.count_window(size)
    return windows.reduce(use.After())


def window_all(stream: Any, digit: int) -> Any:
    windows = stream.window_all(assigner(digit))
    if digit % 3 == 0:
        return windows.reduce(use.Add())
    return (
        windows.process(use.AllTogether(), RECORD)
        if digit % 3 == 1
        else windows.apply(use.EachTogether(), RECORD)
    )


def asked(ordered: bool) -> Callable[..., Any]:
    wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
    return lambda stream, digit: wait(
        stream, use.Ask(digit % 3 + 1), Time.seconds(20), digit + 1, RECORD
    )


def both_sides(one: Any, other: Any, digit: int) -> Any:
    joined = one.connect(other).process(use.BothProcess(), RECORD)
    return joined.union(joined.get_side_output(ODD))


def both_buckets(one: Any, other: Any, digit: int) -> Any:
    connected = one.connect(other).key_by(letter, letter)
    return connected.process(use.BothBuckets(digit * 10 + 20), RECORD)


SPRING: Final = datetime.datetime(2024, 3, 31, 2)  # noqa: DTZ001 - a time that some zones leave out

STREAMING_ONLY: Final = ("STREAMING",)
BATCH_ONLY: Final = ("BATCH",)
STATEFUL: Final[dict[str, Any]] = {"keyed": True, "needs": PER_KEY}
WINDOW: Final[dict[str, Any]] = {"gives_order": False, "timed": True, "one_to_one": False}
SEVERAL: Final[dict[str, Any]] = {"one_to_one": False}

KINDS: Final[dict[str, Kind]] = {
    "grow": Kind(lambda stream, digit: stream.map(use.Grow(digit), RECORD)),
    "turn": Kind(lambda stream, digit: stream.map(use.Turn(), RECORD), keeps_letter=False),
    "pickled": Kind(lambda stream, digit: stream.map(use.Grow(digit))),
    "copies": Kind(
        lambda stream, digit: stream.flat_map(use.Copies(digit % 3), RECORD), one_to_one=False
    ),
    "filter": Kind(lambda stream, digit: stream.filter(use.Wanted(digit))),
    "sides": Kind(sides, gives_order=False),
    "stamp": Kind(lambda stream, digit: stream.process(use.Stamp(), RECORD)),
    "row": Kind(as_row),
    "plain row": Kind(as_plain_row),
    "project": Kind(
        lambda stream, digit: stream.project(2, 1, 0).map(
            lambda record: (record[2], record[1], record[0]), RECORD
        )
    ),
    "int": through(Types.INT(), int, int),
    "float": through(
        Types.FLOAT(),
        lambda number: number / 10,
        lambda number: round(number * 1_000_000) % 1_000_003,
    ),
    "double": through(
        Types.DOUBLE(), lambda number: number / 7, lambda number: round(number * 1_000)
    ),
    "decimal": through(
        Types.BIG_DEC(), lambda number: Decimal(number) / 4, lambda number: int(number * 8)
    ),
    "list": through(Types.LIST(Types.LONG()), lambda number: [number, number % 5], sum),
    "array": through(
        Types.PRIMITIVE_ARRAY(Types.LONG()),
        lambda number: [number, number % 3],
        lambda found: found[0] + len(found),
    ),
    "texts": through(
        Types.BASIC_ARRAY(Types.STRING()),
        lambda number: [str(number), "ü"],
        lambda found: int(found[0]) + len(found[1]),
    ),
    "map": through(
        Types.MAP(Types.STRING(), Types.LONG()),
        lambda number: {"n": number},
        lambda found: found["n"] + len(found),
    ),
    "bytes": through(
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        lambda number: number.to_bytes(4, "big"),
        lambda found: int.from_bytes(bytes(found), "big"),
    ),
    "boolean": through(
        Types.BOOLEAN(), lambda number: number % 2 == 0, lambda found: int(found) + 2
    ),
    "date": through(
        Types.SQL_DATE(),
        lambda number: datetime.date.fromordinal(700_000 + number),
        lambda found: found.toordinal() - 699_000,
    ),
    "timestamp": through(
        Types.SQL_TIMESTAMP(),
        lambda number: SPRING + datetime.timedelta(milliseconds=number),
        lambda found: found.microsecond // 1000 + found.hour,
    ),
    "time": through(
        Types.SQL_TIME(),
        lambda number: datetime.time(1, 2, 3, number % 1000 * 1000),
        lambda found: found.microsecond // 1000 + found.second,
    ),
    "rebalance": Kind(
        lambda stream, digit: stream.rebalance().map(use.Grow(digit), RECORD), gives_order=False
    ),
    "shuffle": Kind(
        lambda stream, digit: stream.shuffle().map(use.Grow(digit), RECORD), gives_order=False
    ),
    "rescale": Kind(
        lambda stream, digit: stream.rescale().map(use.Grow(digit), RECORD), gives_order=False
    ),
    "custom": Kind(custom, gives_order=False, modes=STREAMING_ONLY),
    "unchained": Kind(lambda stream, digit: stream.map(use.Grow(digit), RECORD).disable_chaining()),
    "keyed filter": Kind(
        lambda stream, digit: stream.key_by(letter).filter(use.Wanted(digit)), keyed=True
    ),
    "keyed flat map": Kind(
        lambda stream, digit: stream.key_by(letter).flat_map(use.Copies(digit % 3), RECORD),
        keyed=True,
        one_to_one=False,
    ),
    "sum": Kind(sums, **STATEFUL, modes=STREAMING_ONLY),
    "best": Kind(bests, **STATEFUL, modes=STREAMING_ONLY),
    "reduce": Kind(reduced(use.After), **STATEFUL, modes=STREAMING_ONLY),
    "final sum": Kind(sums, gives_order=False, is_end_of_time=True, modes=BATCH_ONLY, **SEVERAL),
    "final best": Kind(
        bests, needs=PER_KEY, gives_order=False, is_end_of_time=True, modes=BATCH_ONLY, **SEVERAL
    ),
    "final reduce": Kind(
        reduced(use.Add), gives_order=False, is_end_of_time=True, modes=BATCH_ONLY, **SEVERAL
    ),
    "final order": Kind(
        reduced(use.After),
        needs=PER_KEY,
        gives_order=False,
        is_end_of_time=True,
        modes=BATCH_ONLY,
        **SEVERAL,
    ),
    "running": Kind(
        lambda stream, digit: stream.key_by(letter).process(use.Running(), RECORD), **STATEFUL
    ),
    "last three": Kind(
        lambda stream, digit: stream.key_by(use.Letter()).process(use.LastThree(), RECORD),
        **STATEFUL,
    ),
    "distinct": Kind(
        lambda stream, digit: stream.key_by(letter, Types.STRING()).process(use.Distinct(), RECORD),
        **STATEFUL,
    ),
    "running map": Kind(
        lambda stream, digit: stream.key_by(letter).map(use.RunningMap(), RECORD), **STATEFUL
    ),
    "window reduce": Kind(window_reduce, **WINDOW),
    "window aggregate": Kind(window_aggregate, keeps_letter=False, **WINDOW),
    "window process": Kind(window_process(ordered=False), **WINDOW),
    "window in order": Kind(window_process(ordered=True), needs=PER_KEY, **WINDOW),
    "window apply": Kind(window_apply, **WINDOW),
    "window count": Kind(window_count, **WINDOW),
    "window trigger": Kind(window_trigger, needs=PER_KEY, modes=STREAMING_ONLY, **WINDOW),
    "global window": Kind(
        global_window,
        needs=PER_KEY,
        keyed=True,
        is_end_of_time=True,
        modes=STREAMING_ONLY,
        **SEVERAL,
    ),
    "count window": Kind(count_window, needs=PER_KEY, keyed=True, is_end_of_time=True, **SEVERAL),
    "window all": Kind(window_all, **WINDOW),
    "buckets": Kind(
        lambda stream, digit: stream.key_by(letter).process(
            use.Buckets(digit * 10 + 20, digit % 3), RECORD
        ),
        **WINDOW,
    ),
    "ask": Kind(asked(ordered=True), one_to_one=False),
    "ask out of order": Kind(asked(ordered=False), gives_order=False, one_to_one=False),
    "union": Kind(lambda one, other, digit: one.union(other), arity=2),
    "connect map": Kind(
        lambda one, other, digit: one.connect(other).map(use.BothMap(), RECORD), arity=2
    ),
    "connect flat map": Kind(
        lambda one, other, digit: one.connect(other).flat_map(use.BothFlatMap(), RECORD), arity=2
    ),
    "connect process": Kind(both_sides, arity=2),
    "connect buckets": Kind(both_buckets, arity=2, **WINDOW),
}


class TimeOf(TimestampAssigner):
    """Takes the time from a record."""

    def extract_timestamp(self, value: Any, record_timestamp: int | None) -> int:
        time: int = value[2]
        return time


class Label(MapFunction):
    """Puts the place of a program before each of its results.

    Args:
        place: The place.
    """

    def __init__(self, place: int) -> None:
        self._place = place

    def map(self, value: Any) -> Any:
        return self._place, value


def build(
    env: Any,
    mode: str,
    parallelism: int,
    programs: Sequence[Sequence[Any]],
    inputs: Sequence[Sequence[Any]],
) -> Any:
    """Add programs to an environment, and return the stream of their results, each with its program's place.

    Args:
        env: The environment.
        mode: Their mode.
        parallelism: Their parallelism.
        programs: The steps of each, see `programs.py`.
        inputs: The sources of each: the records, and how much they are out of order, in milliseconds.
    """
    env.set_runtime_mode(RuntimeExecutionMode[mode])
    labelled = []
    for place, (steps, sources) in enumerate(zip(programs, inputs, strict=True)):
        env.set_parallelism(1)
        streams = [source(env, *each) for each in sources]
        env.set_parallelism(parallelism)
        for kind, places, digit in steps:
            streams.append(KINDS[kind].build(*[streams[place] for place in places], digit))
        labelled.append(streams[-1].map(Label(place), Types.TUPLE([Types.INT(), RECORD])))
    return labelled[0].union(*labelled[1:]) if labelled[1:] else labelled[0]


def source(env: Any, records: Sequence[Any], disorder: int) -> Any:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(disorder))
    stream = env.from_collection([tuple(record) for record in records], RECORD)
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(TimeOf()))
