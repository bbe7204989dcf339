"""Random programs, each with a small model of what it should give.

Records are pairs of a letter and a number. A program is a list of steps; each takes streams that are
already there, by their place, and adds one. The model of a step is a function of lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, TypeVar

from hypothesis import strategies as st
from tests.strategies import any_of

from penstock.datastream import DataStream, OutputTag

T = TypeVar("T")
Record = tuple[str, int]
Records = list[Record]

ODD = OutputTag("odd")
LETTERS = "abcdefg"


def letter(record: Record) -> str:
    return record[0]


def parity(record: Record) -> int:
    return record[1] % 2


def grow(record: Record) -> Record:
    return record[0], record[1] * 2 + 1


def turn(record: Record) -> Record:
    return LETTERS[record[1] % 7], record[1] // 2


def copies(record: Record) -> Iterator[Record]:
    for index in range(record[1] % 3):
        yield record[0], record[1] + index


def is_small(record: Record) -> bool:
    return record[1] % 5 < 3


def sort(record: Record, ctx: Any) -> Iterator[Any]:
    yield (ODD, record) if record[1] % 2 else record


def add(known: Record, new: Record) -> Record:
    return min(known[0], new[0]), known[1] + new[1]


Fold = Callable[[Record, Record], Record]

# The key is the letter, so that results do not depend on the order in which records come.
FOLDS: dict[str, tuple[Callable[[DataStream], DataStream], Fold]] = {
    "reduce": (lambda stream: stream.key_by(letter).reduce(add), add),
    "sum": (lambda stream: stream.key_by(0).sum(1), add),
    "min": (lambda stream: stream.key_by(letter).min(1), min),
    "max": (lambda stream: stream.key_by(parity).key_by(letter).max(1), max),
    "min_by": (lambda stream: stream.key_by(letter).min_by(1), min),
    "max_by": (lambda stream: stream.key_by(letter).max_by(1), max),
}

EACH: dict[str, tuple[Callable[[DataStream], DataStream], Callable[[Record], Iterable[Record]]]] = {
    "grow": (lambda stream: stream.map(grow), lambda record: [grow(record)]),
    "turn": (lambda stream: stream.map(turn), lambda record: [turn(record)]),
    "copies": (lambda stream: stream.flat_map(copies), copies),
    "filter": (lambda stream: stream.filter(is_small), lambda record: [record] * is_small(record)),
    "even": (
        lambda stream: stream.process(sort),
        lambda record: [record] * (record[1] % 2 == 0),
    ),
    "odd": (
        lambda stream: stream.process(sort).get_side_output(ODD).map(tuple),
        lambda record: [record] * (record[1] % 2),
    ),
    "project": (
        lambda stream: stream.map(lambda record: (record[1], *record)).project(1, 0),
        lambda record: [record],
    ),
    "alone": (lambda stream: stream.map(tuple).disable_chaining(), lambda record: [record]),
    "shuffle": (lambda stream: stream.shuffle().map(tuple), lambda record: [record]),
    "rescale": (lambda stream: stream.rescale().map(tuple), lambda record: [record]),
    "rebalance": (lambda stream: stream.rebalance().map(tuple), lambda record: [record]),
    "global": (lambda stream: stream.global_().map(tuple), lambda record: [record]),
    "custom": (
        lambda stream: stream.partition_custom(lambda key, count: key % count, parity).map(tuple),
        lambda record: [record],
    ),
    "keyed": (
        lambda stream: stream.key_by(letter).process(
            lambda record, ctx: [(ctx.get_current_key(), record[1])]
        ),
        lambda record: [record],
    ),
}


@dataclass(frozen=True)
class Step:
    kind: str
    inputs: tuple[int, ...]
    parallelism: int

    @property
    def is_fold(self) -> bool:
        return self.kind in FOLDS

    def build(self, streams: list[DataStream]) -> DataStream:
        """Add the step to a program."""
        first, *others = [streams[place] for place in self.inputs]
        if self.kind == "union":
            return first.union(*others)
        if self.kind == "broadcast":
            return first.broadcast().map(tuple).set_parallelism(self.parallelism)
        make = (FOLDS if self.is_fold else EACH)[self.kind][0]
        return make(first).set_parallelism(self.parallelism)

    def expect(self, known: list[Records], *, final: bool) -> Records:
        """What the step gives; folds each key's last result alone if `final`."""
        inputs = [known[place] for place in self.inputs]
        if self.kind == "union":
            return list(itertools.chain(*inputs))
        if self.kind == "broadcast":
            return inputs[0] * self.parallelism
        if not self.is_fold:
            give = EACH[self.kind][1]
            return [result for record in inputs[0] for result in give(record)]
        fold = FOLDS[self.kind][1]
        latest: dict[str, Record] = {}
        rolling = []
        for record in inputs[0]:
            key = letter(record)
            latest[key] = fold(latest[key], record) if key in latest else record
            rolling.append(latest[key])
        return list(latest.values()) if final else rolling


# How far back a step reads: most go on from the last one, so that programs get long.
BACK = [0] * 10 + list(range(10))


@cache
def steps(
    sources: int, *, most: int, parallelism: int = 5, folds: bool = True, unions: bool = True
) -> st.SearchStrategy[list[Step]]:
    """Programs over so many sources; the result of each is the last of its streams."""
    kinds = [*EACH, *(["union"] * 8 if unions else []), *(FOLDS if folds else [])]
    each = st.tuples(st.sampled_from(kinds), any_of(range(1, parallelism + 1), product(BACK, BACK)))
    broadcast = any_of([False, unions], range(10), range(2, parallelism + 1) or [0])

    def program(drawn: tuple[list[Any], tuple[bool, int, int]]) -> list[Step]:
        found: list[Step] = []
        for kind, (count, (one, other)) in drawn[0]:
            last = sources + len(found) - 1
            places = [(last - back) % (last + 1) for back in (0, one, other)]
            read = tuple(set(places)) if kind == "union" else (places[1],)
            found.append(Step(kind, read, count))
        ends_with_broadcast, back, count = drawn[1]
        if ends_with_broadcast:
            last = sources + len(found) - 1
            found.append(Step("broadcast", ((last - back) % (last + 1),), count))
            found.append(Step("union", (last + 1, last), 1))
        return found

    return st.tuples(st.lists(each, min_size=1, max_size=most), broadcast).map(program)


RECORDS = any_of(LETTERS, range(21))


@cache
def inputs(block: int, *, most: int = 60) -> st.SearchStrategy[Records]:
    """The records of a source: few of any kind, or many of a pattern, but not above a hundred blocks."""
    counts, factors = st.integers(0, min(most * 60, block * 100)), st.integers(1, 30)
    return st.lists(RECORDS, max_size=most) | st.tuples(counts, factors).map(
        lambda drawn: [
            (LETTERS[index * index % 7], index * drawn[1] % 31) for index in range(drawn[0])
        ]
    )


@st.composite
def cut(draw: st.DrawFn, records: list[T], *, most: int = 4) -> list[list[T]]:
    """Draw a cut of records into epochs, of which some are empty."""
    places = sorted(draw(st.lists(st.integers(0, len(records)), max_size=most - 1)))
    bounds = [0, *places, len(records)]
    return [records[start:end] for start, end in itertools.pairwise(bounds)]
