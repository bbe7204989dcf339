"""What must come out of the program, computed without penstock; and what is wrong with what did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from tests.crash.changes import EXTRA, EXTRA_RECORDS, MORE, NAMED, NAMELESS, TALLY, Version, runs_of
from tests.crash.program import BUCKET, ECHO, WINDOW, Result, bucket_end
from tests.crash.records import Record

STAMPED = ("stamp", "call", "count", TALLY, NAMELESS)


class History(NamedTuple):
    """What became of a job.

    Attributes:
        versions: The versions of the program that committed epochs, in order.
        repeats: How often the job went back to a savepoint, so that what came after that is there again.
    """

    versions: tuple[Version, ...] = (Version(),)
    repeats: int = 0


def expected(
    files: list[list[Record]], drains: Mapping[int, int] = MappingProxyType({})
) -> list[Result]:
    """Return all results, with empty stamps, sorted.

    Args:
        files: The input.
        drains: For each record how often the job was drained before it; none: never.
    """
    records = [record for file in files for record in file]
    found = [Result("stamp", one.key, one.id, one.value, 0, "") for one in records]
    found += [Result("call", one.key, one.id, 2 * one.value, 0, "") for one in records]
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    windows: defaultdict[tuple[str, int, int], list[int]] = defaultdict(list)
    buckets: defaultdict[tuple[str, int, int], list[int]] = defaultdict(list)
    for one in records:
        counts[one.key] += 1
        sums[one.key] += one.value
        found.append(Result("count", one.key, one.id, counts[one.key], sums[one.key], ""))
        part = drains.get(one.id, 0)
        windows[one.key, one.time - one.time % WINDOW, part].append(2 * one.value)
        buckets[one.key, bucket_end(one.time), part].append(one.value)
    for (key, start, _), values in windows.items():
        found.append(Result("window", key, start, len(values), sum(values), ""))
    for (key, end, _), values in buckets.items():
        found.append(Result("bucket", key, end, len(values), sum(values), ""))
        found.append(Result("echo", key, end + ECHO, 0, 0, ""))
    assert BUCKET % ECHO == 0
    return sorted(found)


def as_line(result: Result) -> str:
    """Return the text that a result is compared by, byte for byte."""
    return "|".join(map(str, result))


def changing(
    files: list[list[Record]], versions: Iterable[Version], version_of: Mapping[int, int]
) -> list[Result]:
    """Return the results that come of features which not every version has.

    Args:
        files: The input.
        versions: The versions that committed epochs.
        version_of: The version that each record went through.
    """
    known = list(versions)
    extras = {name for version in known for name in version.features if name.startswith(EXTRA)}
    found = [
        Result(EXTRA, "", value, int(name.partition("-")[2]), 0, "")
        for name in extras
        for value in range(EXTRA_RECORDS)
    ]
    for feature, kind in ((TALLY, TALLY), (NAMELESS, NAMELESS), (NAMED, NAMELESS)):
        runs = runs_of(known, feature)
        counts: Counter[tuple[int, str]] = Counter()
        sums: Counter[tuple[int, str]] = Counter()
        for one in (record for file in files for record in file):
            run = runs.get(version_of.get(one.id, -1))
            if run is not None:
                counts[run, one.key] += 1
                sums[run, one.key] += one.value
                count, total = counts[run, one.key], sums[run, one.key]
                found.append(Result(kind, one.key, one.id, count, total, ""))
    return found


def versions_of(results: Iterable[Result]) -> dict[int, int]:
    """Return the version that each record went through, as the stamps say."""
    return {one.record: _version(one) for one in results if one.kind == "stamp"}


def _version(stamped: Result) -> int:
    return int(stamped.stamp.partition("-")[0])


def faults(
    files: list[list[Record]],
    sinks: dict[str, list[Result]],
    most: int = 10,
    history: History = History(),  # noqa: B008
) -> list[str]:
    """Return what is wrong with what the sinks have; nothing if all is right.

    Args:
        files: The input.
        sinks: What each sink has, by its name.
        most: How many lines of a kind are told.
        history: What became of the job.
    """
    (first, *others) = sinks.items()
    version_of = versions_of(first[1])
    drained = {version.number: version.drains for version in history.versions}
    drains = {record: drained.get(number, 0) for record, number in version_of.items()}
    due = sorted(
        map(as_line, expected(files, drains) + changing(files, history.versions, version_of))
    )
    found: list[str] = []
    for name, results in sinks.items():
        without = sorted(map(as_line, (one._replace(stamp="") for one in results)))
        if history.repeats:
            without = _without_repeats(without, history.repeats)
        found += _differences(f"{name} against the oracle", due, without, most)
        if not history.repeats:
            found += _stamps(name, results, most)
    lines = sorted(map(as_line, first[1]))
    for name, results in others if not history.repeats else ():
        theirs = sorted(map(as_line, results))
        found += _differences(f"{name} against {first[0]}", lines, theirs, most)
    return found


def faults_of_more(
    files: list[list[Record]],
    results: Iterable[Result],
    more: list[Result],
    versions: Iterable[Version],
    dropped: Collection[int] = (),
    most: int = 10,
) -> list[str]:
    """Return what is wrong with the sink that not every version has.

    Args:
        files: The input.
        results: What another sink has.
        more: What it has.
        versions: The versions that committed epochs.
        dropped: The versions that were killed, and followed by one which dropped what this sink had
            not published. Of their last epoch, which is a file of the input, lines may be missing.
        most: How many lines of a kind are told.
    """
    having = {version.number for version in versions if MORE in version.features}
    file_of = {record.id: number for number, file in enumerate(files) for record in file}
    due = [one for one in results if one.kind == "stamp" and _version(one) in having]
    last: Counter[int] = Counter()
    for one in due:
        last[_version(one)] = max(last[_version(one)], file_of[one.record])
    there = set(more)
    due = [
        one
        for one in due
        if one in there or _version(one) not in dropped or file_of[one.record] < last[_version(one)]
    ]
    return _differences("more", list(map(as_line, due)), list(map(as_line, more)), most)


def _without_repeats(lines: list[str], repeats: int) -> list[str]:
    """Return each line once, if it is there no more often than the job went over it."""
    return [
        line
        for line, count in Counter(lines).items()
        for _ in range(1 if count <= repeats + 1 else count)
    ]


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
