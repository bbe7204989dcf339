"""The asynchronous operator against a model: any input, timeouts, retries, watermarks and cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.async_io.scripts import Ask, Scripted, retries
from tests.strategies import any_of, many_of

from penstock.runtime.exchange.elements import Block, ChannelWatermark
from penstock.testing import AsyncFunctionHarness, StreamRecord, Watermark
from penstock.testing.operator_harness import _Snapshot

TIMEOUT = 300
RETRIES = 2
RETRY_DELAY = 50


@dataclass(frozen=True)
class Wait:
    """The clock is moved on by so many milliseconds."""

    milliseconds: int


@dataclass(frozen=True)
class Cut:
    """An epoch ends: the next is in the same process, or in another."""

    is_other_process: bool


@dataclass(frozen=True)
class Failed:
    """An epoch is given up: all since the last cut comes again."""

    is_other_process: bool


DELAYS = [0, 1, 10, 60, 150, 299, 301, 5000]
asks = any_of(
    [delays for attempts in (1, 2, 3) for delays in product(DELAYS, repeat=attempts)],
    range(RETRIES + 1),
    [False, True],
)
# Each kind of step is as likely as another.
OTHERS = ["watermark"] * 4 + [Wait(milliseconds) for milliseconds in (0, 1, 20, 400)]
quiet = st.one_of(asks, st.sampled_from(OTHERS), st.sampled_from(OTHERS))
# These have the same outcome however often they are called; they are twice as likely.
STEADY = [((delay,), failures, False) for failures in (0, 10**6) for delay in DELAYS]
CUTS = [kind(is_other) for kind in (Cut, Failed) for is_other in (False, True)]
broken = many_of([*STEADY, *OTHERS * 2, *CUTS * 4], max_size=20)


def with_names(steps: Sequence[Any]) -> list[Any]:
    """Records with names, and watermarks with times, in order."""
    found: list[Any] = []
    for number, step in enumerate(steps):
        if isinstance(step, tuple):
            delays, failures, raises = step
            found.append(Ask(number, delays, failures, raises=raises, late=("late", number)))
        else:
            found.append(Watermark(number) if step == "watermark" else step)
    return found


def outcome(ask: Ask) -> tuple[int, list[Any]]:
    """How long a record takes, and its results."""
    passed = 0
    for attempt in range(RETRIES + 1):
        passed += ask.delays[min(attempt, len(ask.delays) - 1)]
        if passed >= TIMEOUT:
            break
        if attempt >= ask.failures:
            return passed, [ask.name]
        if attempt == RETRIES:
            return passed, []
        passed += RETRY_DELAY
    assert ask.late is not None
    return TIMEOUT, list(ask.late)


def run(
    steps: Sequence[Any], *, ordered: bool, capacity: int, drain_timeout: int = 0
) -> tuple[list[Any], AsyncFunctionHarness]:
    harness = AsyncFunctionHarness(
        Scripted(),
        timeout=TIMEOUT,
        capacity=capacity,
        ordered=ordered,
        retry=retries(RETRIES, RETRY_DELAY),
        drain_timeout=drain_timeout,
    )
    committed: list[Any] = []
    snapshot: bytes | None = None
    since: list[Any] = []

    def feed(step: Any) -> None:
        since.append(step)
        if isinstance(step, Ask):
            harness.process_element(step, timestamp=step.name)
        elif isinstance(step, Watermark):
            harness.process_watermark(step.timestamp)
        elif isinstance(step, Wait):
            harness.set_processing_time(harness.get_processing_time() + step.milliseconds)

    def commit() -> None:
        committed.extend(harness.get_output())
        harness.clear_output()
        since.clear()

    for step in steps:
        if isinstance(step, Cut):
            taken = end_epoch(harness)
            commit()
            snapshot = taken
            begin_epoch(harness, snapshot, is_other_process=step.is_other_process)
        elif isinstance(step, Failed):
            again = list(since)
            since.clear()
            harness.clear_output()
            begin_epoch(harness, snapshot, is_other_process=step.is_other_process)
            for repeated in again:
                feed(repeated)
        else:
            feed(step)
    harness.end_input()
    commit()
    harness.close()
    return committed, harness


def end_epoch(harness: AsyncFunctionHarness) -> bytes | None:
    harness.operator.flush()
    return harness.operator.snapshot()


def begin_epoch(
    harness: AsyncFunctionHarness, snapshot: bytes | None, *, is_other_process: bool
) -> None:
    now = harness.get_processing_time()
    # Watermarks come again after a failure.
    start = ChannelWatermark()
    taken = _Snapshot(
        harness._key_groups, {}, snapshot, (start,), start, harness.operator.output.watermark, now
    )
    if is_other_process:
        harness.close()
        harness._begin(taken)
    else:
        harness._go_on(taken)


def segments(elements: Sequence[Any]) -> list[tuple[bool, list[Any]]]:
    return [
        (is_watermark, list(group))
        for is_watermark, group in groupby(elements, lambda found: isinstance(found, Watermark))
    ]


def expected(steps: Sequence[Any]) -> list[Any]:
    """What comes out where order is kept."""
    found: list[Any] = []
    for step in steps:
        if isinstance(step, Ask):
            found += [StreamRecord(result, step.name) for result in outcome(step)[1]]
        elif isinstance(step, Watermark):
            found.append(step)
    return [*found, Watermark(2**63 - 1)]


def text(elements: Sequence[Any]) -> list[tuple[bool, list[str]]]:
    return [(mark, sorted(map(str, group))) for mark, group in segments(elements)]


@given(steps=broken, capacity=st.integers(1, 30))
def test_ordered(steps: list[Any], capacity: int) -> None:
    steps = with_names(steps)
    found, _ = run(steps, ordered=True, capacity=capacity)
    assert found == expected(steps)


@given(steps=broken, capacity=st.integers(1, 30))
def test_unordered(steps: list[Any], capacity: int) -> None:
    steps = with_names(steps)
    found, _ = run(steps, ordered=False, capacity=capacity)
    assert text(found) == text(expected(steps))


@given(steps=st.lists(quiet, max_size=20))
def test_unordered_without_cuts_comes_in_the_order_of_completion(steps: list[Any]) -> None:
    steps = with_names(steps)
    found, _ = run(steps, ordered=False, capacity=1000)
    now = 0
    ends: dict[int, int] = {}
    for step in steps:
        if isinstance(step, Wait):
            now += step.milliseconds
        elif isinstance(step, Ask):
            ends[step.name] = now + outcome(step)[0]
    for is_watermark, group in segments(found):
        if not is_watermark:
            times = [ends[record.timestamp] for record in group]
            assert times == sorted(times)


@given(asked=st.lists(asks, max_size=30), capacity=st.integers(1, 5), ordered=st.booleans())
def test_a_block_is_as_its_records(asked: list[Any], capacity: int, *, ordered: bool) -> None:
    records = with_names(asked)
    with AsyncFunctionHarness(
        Scripted(),
        timeout=TIMEOUT,
        capacity=capacity,
        ordered=ordered,
        retry=retries(RETRIES, RETRY_DELAY),
    ) as harness:
        harness._entry.collect(Block(records, [ask.name for ask in records]))
        harness.end_input()
        found = harness.get_output()
        assert harness.function.most_running <= capacity
    if ordered:
        assert found == expected(records)
    else:
        assert text(found) == text(expected(records))


@given(steps=st.lists(quiet, max_size=30), capacity=st.integers(1, 5), ordered=st.booleans())
def test_never_more_than_the_capacity(steps: list[Any], capacity: int, *, ordered: bool) -> None:
    _, harness = run(with_names(steps), ordered=ordered, capacity=capacity)
    assert harness.function.most_running <= capacity
    assert harness.function.running == 0


@given(steps=st.lists(quiet, max_size=20), ordered=st.booleans())
def test_every_record_is_called_as_often_as_it_has_to_be(
    steps: list[Any], *, ordered: bool
) -> None:
    steps = with_names(steps)
    _, harness = run(steps, ordered=ordered, capacity=7)
    for step in steps:
        if isinstance(step, Ask):
            assert 1 <= harness.function.calls[step.name] <= step.failures + 1
