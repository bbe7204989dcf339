"""Random programs, as plain data, each from a number.

A program is a dict: its mode, its parallelism, the seeds of its inputs, and its steps. A step is a kind, the
places of the streams that it takes, and a digit; it adds one stream. The result is the last stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Final

from benchmarks.flink_programs.kinds import KINDS, NONE, PER_KEY, WHOLE, Kind, has_sessions

Program = dict[str, Any]
LETTERS: Final = "abcde"
MOST_STEPS: Final = 6


@dataclass(frozen=True)
class Known:
    """What is certain of a stream.

    Attributes:
        order: The order of its records.
        is_source: Whether it comes from one subtask, whatever the parallelism.
        is_distinct: Whether no two records have one timestamp.
        timed: Whether its records have times that windows can use.
    """

    order: int
    is_source: bool = False
    is_distinct: bool = False
    timed: bool = True


def records(seed: int) -> tuple[list[tuple[str, int, int]], int]:
    """Return the records of a source, and how much they are out of order, in milliseconds."""
    random = Random(seed)
    count, reach = random.randrange(36), random.choice([0, 0, 2, 5])
    found = [
        (random.choice(LETTERS), random.randrange(100), 10 * place + random.randrange(10))
        for place in range(count)
    ]
    for start in range(0, count - reach, reach + 1):
        part = found[start : start + reach + 1]
        random.shuffle(part)
        found[start : start + reach + 1] = part
    return found, 10 * (reach + 1)


def program(seed: int) -> Program:
    """Return the program of a number."""
    random = Random(seed)
    mode = random.choice(["STREAMING", "STREAMING", "BATCH"])
    parallelism = random.choice([1, 1, 2])
    sources = random.choice([1, 1, 2])
    known = [source(mode, parallelism) for _ in range(sources)]
    steps: list[list[Any]] = []
    for _ in range(random.randrange(1, MOST_STEPS + 1)):
        places = [len(known) - 1, random.randrange(len(known))]
        if random.random() < 0.2:
            places.reverse()
        fitting = [name for name, kind in KINDS.items() if fits(kind, mode, known, places)]
        (name,) = random.choices(fitting, [weight(KINDS[name]) for name in fitting])
        if KINDS[name].arity == 2 and len(known) > 1 and random.random() < 0.7:
            places = [len(known) - 1, len(known) - 2]
            if not fits(KINDS[name], mode, known, places):
                continue
        used = places[: KINDS[name].arity]
        # In BATCH mode PyFlink loses sessions.
        digits = [each for each in range(10) if mode != "BATCH" or not has_sessions(name, each)]
        steps.append([name, used, random.choice(digits)])
        known.append(after(KINDS[name], mode, parallelism, [known[place] for place in used]))
    steps = reachable(sources, steps)
    inputs = [random.randrange(10_000) for _ in range(sources)]
    return {
        "mode": mode,
        "parallelism": parallelism,
        "inputs": inputs,
        "steps": steps,
        "ordered": is_ordered(sources, mode, parallelism, steps),
    }


def weight(kind: Kind) -> int:
    """Return how often a kind of step is drawn: rarely what keeps no state and takes one stream."""
    return 1 if kind.arity == 1 and not (kind.keyed or kind.timed or kind.is_end_of_time) else 4


def source(mode: str, parallelism: int) -> Known:
    order = PER_KEY if mode == "BATCH" or parallelism > 1 else WHOLE
    return Known(order, is_source=True, is_distinct=True)


def fits(kind: Kind, mode: str, known: list[Known], places: list[int]) -> bool:
    """Whether a kind of step can take streams, with certain results."""
    taken = [known[place] for place in places[: kind.arity]]
    if mode not in kind.modes or (kind.arity == 2 and places[0] == places[1]):
        return False
    return all(each.order >= kind.needs and (each.timed or not kind.timed) for each in taken)


def after(kind: Kind, mode: str, parallelism: int, taken: list[Known]) -> Known:
    """Return what is certain of a step's results."""
    timed = all(each.timed for each in taken) and not kind.is_end_of_time
    if kind.arity == 2:
        return Known(NONE, timed=timed)
    (one,) = taken
    is_distinct = one.is_distinct and kind.one_to_one
    if mode == "BATCH":
        # What is grouped is sorted by time before.
        return Known(PER_KEY if is_distinct else NONE, is_distinct=is_distinct, timed=timed)
    if not kind.gives_order:
        return Known(NONE, timed=timed)
    if parallelism == 1:
        return Known(one.order, is_distinct=is_distinct, timed=timed)
    is_kept = kind.keyed or (kind.keeps_letter and not one.is_source)
    return Known(one.order if is_kept else NONE, is_distinct=is_distinct, timed=timed)


def is_ordered(sources: int, mode: str, parallelism: int, steps: list[list[Any]]) -> bool:
    """Whether the results come in a certain order."""
    known = [source(mode, parallelism) for _ in range(sources)]
    for name, places, _ in steps:
        known.append(after(KINDS[name], mode, parallelism, [known[place] for place in places]))
    return known[-1].order == WHOLE


def reachable(sources: int, steps: list[list[Any]]) -> list[list[Any]]:
    """Return the steps that the last one needs, with their places as they are then."""
    wanted = {sources + len(steps) - 1}
    for place in range(sources + len(steps) - 1, sources - 1, -1):
        if place in wanted:
            wanted |= set(steps[place - sources][1])
    kept = [place for place in range(sources + len(steps)) if place < sources or place in wanted]
    new = {place: index for index, place in enumerate(kept)}
    return [
        [name, [new[each] for each in places], digit]
        for place, (name, places, digit) in enumerate(steps, sources)
        if place in wanted
    ]


def plain(results: list[Any], *, ordered: bool) -> list[list[Any]]:
    """Return results as JSON has them, sorted if their order is not certain."""
    found = [list(result) for result in results]
    return found if ordered else sorted(found)
