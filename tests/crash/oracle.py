"""What must come out of the program, computed without penstock; and what is wrong with what did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from tests.crash.program import BUCKET, ECHO, WINDOW, Result, bucket_end
from tests.crash.records import Record

STAMPED = ("stamp", "call", "count")


def expected(files: list[list[Record]]) -> list[Result]:
    """Return all results, with empty stamps, sorted."""
    records = [record for file in files for record in file]
    found = [Result("stamp", one.key, one.id, one.value, 0, "") for one in records]
    found += [Result("call", one.key, one.id, 2 * one.value, 0, "") for one in records]
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    windows: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    buckets: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for one in records:
        counts[one.key] += 1
        sums[one.key] += one.value
        found.append(Result("count", one.key, one.id, counts[one.key], sums[one.key], ""))
        windows[one.key, one.time - one.time % WINDOW].append(2 * one.value)
        buckets[one.key, bucket_end(one.time)].append(one.value)
    for (key, start), values in windows.items():
        found.append(Result("window", key, start, len(values), sum(values), ""))
    for (key, end), values in buckets.items():
        found.append(Result("bucket", key, end, len(values), sum(values), ""))
        found.append(Result("echo", key, end + ECHO, 0, 0, ""))
    assert BUCKET % ECHO == 0
    return sorted(found)


def as_line(result: Result) -> str:
    """Return the text that a result is compared by, byte for byte."""
    return "|".join(map(str, result))


def faults(files: list[list[Record]], sinks: dict[str, list[Result]], most: int = 10) -> list[str]:
    """Return what is wrong with what the sinks have; nothing if all is right.

    Args:
        files: The input.
        sinks: What each sink has, by its name.
        most: How many lines of a kind are told.
    """
    due = list(map(as_line, expected(files)))
    found: list[str] = []
    for name, results in sinks.items():
        without = sorted(map(as_line, (one._replace(stamp="") for one in results)))
        found += _differences(f"{name} against the oracle", due, without, most)
        found += _stamps(name, results, most)
    (first, *others) = sinks.items()
    lines = sorted(map(as_line, first[1]))
    for name, results in others:
        theirs = sorted(map(as_line, results))
        found += _differences(f"{name} against {first[0]}", lines, theirs, most)
    return found


def _differences(what: str, due: list[str], got: list[str], most: int) -> list[str]:
    lost, double = Counter(due), Counter(got)
    lost.subtract(got)
    double.subtract(due)
    return [
        f"{what}: {count} x {word}: {line}"
        for word, lines in (("lost", lost), ("too many", double))
        for line, count in [item for item in lines.items() if item[1] > 0][:most]
    ]


def _stamps(name: str, results: Iterable[Result], most: int) -> list[str]:
    """Return the records that one sink knows by several stamps, or stamps that several records have."""
    stamps: defaultdict[int, set[str]] = defaultdict(set)
    for one in results:
        if one.kind in STAMPED:
            stamps[one.record].add(one.stamp)
    wrong = [
        f"{name}: record {record} has the stamps {sorted(which)}"
        for record, which in stamps.items()
        if len(which) != 1
    ]
    count = len({stamp for which in stamps.values() for stamp in which})
    if count != len(stamps) and not wrong:
        wrong.append(f"{name}: {len(stamps)} records have {count} stamps")
    return wrong[:most]
