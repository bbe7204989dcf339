from __future__ import annotations

import threading

import pytest
from tests.executors.control import SECONDS

from penstock.errors import SourceNotReadableError
from penstock.runtime.planned.planned_source import Plan
from penstock.runtime.planned.pushed import Bringer, Inbox, PushPlanner


class Numbers(Bringer[int]):
    """Brings numbers when it is told to."""

    def __init__(self) -> None:
        self.inbox: Inbox[int] | None = None
        self.has_begun = threading.Event()
        self.may_end = threading.Event()
        self.error: Exception | None = None
        self.runs = 0

    def run(self, inbox: Inbox[int]) -> None:
        self.runs += 1
        self.inbox = inbox
        self.has_begun.set()
        assert self.may_end.wait(SECONDS)
        if self.error is not None:
            raise self.error

    def cancel(self) -> None:
        self.may_end.set()


def contents(plan: Plan) -> list[list[int]]:
    return [piece.content for piece in plan.pieces]


def ended(planner: PushPlanner[int], numbers: Numbers) -> None:
    numbers.may_end.set()
    assert planner._thread is not None
    planner._thread.join(SECONDS)


def test_each_plan_has_what_came_since_the_last_one() -> None:
    numbers = Numbers()
    planner = PushPlanner(numbers)
    assert planner.plan(None, 1) == Plan()
    assert numbers.has_begun.wait(SECONDS)
    assert numbers.inbox is not None
    numbers.inbox.put(1, 2)

    first = planner.plan(None, 1)
    assert (contents(first), first.state) == ([[1, 2]], 2)
    assert planner.plan(first.state, 1) == Plan(state=2)
    numbers.inbox.put(3)
    ended(planner, numbers)
    last = planner.plan(first.state, 1)
    assert (contents(last), last.is_over) == ([[3]], False)
    assert planner.plan(last.state, 1) == Plan(state=3, is_over=True)
    assert numbers.runs == 1


def test_what_it_fails_with_comes_after_what_was_brought_and_then_it_is_tried_again() -> None:
    numbers = Numbers()
    planner = PushPlanner(numbers)
    planner.plan(None, 1)
    assert numbers.has_begun.wait(SECONDS)
    assert numbers.inbox is not None
    numbers.inbox.put(1)
    numbers.error = SourceNotReadableError("It is gone.")
    ended(planner, numbers)

    assert contents(planner.plan(None, 1)) == [[1]]
    with pytest.raises(SourceNotReadableError):
        planner.plan(1, 1)
    numbers.has_begun.clear()
    numbers.may_end.clear()
    assert planner.plan(1, 1) == Plan(state=1)
    assert numbers.has_begun.wait(SECONDS)
    assert numbers.runs == 2
    planner.close()


def test_too_many_have_to_wait_until_some_are_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.planned.pushed._MOST_WAITING", 2)
    inbox: Inbox[int] = Inbox()
    inbox.put(1, 2)
    thread = threading.Thread(target=inbox.put, args=(3,))
    thread.start()

    found = inbox.fetch()
    thread.join(SECONDS)

    assert (found, inbox.fetch()) == ([1, 2], [3])


def test_of_large_ones_fewer_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.exchange.record_size._HELD_BYTES", 2500)
    inbox: Inbox[str] = Inbox()
    large = "x" * 1000
    inbox.put(large)
    inbox.put(large)
    thread = threading.Thread(target=inbox.put, args=("last",))
    thread.start()

    found = inbox.fetch()
    thread.join(SECONDS)

    assert (found, inbox.fetch()) == ([large, large], ["last"])


def test_nobody_waits_for_an_inbox_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.runtime.planned.pushed._MOST_WAITING", 0)
    numbers = Numbers()
    planner = PushPlanner(numbers)
    planner.plan(None, 1)
    assert numbers.has_begun.wait(SECONDS)
    assert numbers.inbox is not None
    planner.close()
    numbers.inbox.put(1)
    numbers.inbox.rest(SECONDS)

    assert (numbers.inbox.fetch(), numbers.may_end.is_set()) == ([], True)
