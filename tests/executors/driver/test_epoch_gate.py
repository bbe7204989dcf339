from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.checkpoint.epoch_record import EpochRecord
from penstock.errors import JobCancelledError
from penstock.executors.driver.epoch_gate import EpochGate

SECONDS = 30


def test_a_guest_waits_for_the_epoch_that_is_running_and_the_next_epoch_for_the_guest() -> None:
    gate = EpochGate()
    order: list[str] = []
    inside, may_leave = threading.Event(), threading.Event()

    def visit() -> None:
        with gate.between():
            order.append("guest")
            inside.set()
            assert may_leave.wait(SECONDS)
            order.append("guest leaves")

    def run_epoch() -> None:
        with gate.epoch():
            order.append("next epoch")

    with ThreadPoolExecutor() as threads:
        with gate.epoch():
            guest = threads.submit(visit)
            order.append("epoch")
        assert inside.wait(SECONDS)
        epoch = threads.submit(run_epoch)
        may_leave.set()
        guest.result()
        epoch.result()
    assert order == ["epoch", "guest", "guest leaves", "next epoch"]


def test_guests_come_in_the_order_in_which_they_asked() -> None:
    gate = EpochGate()
    gate.passed(EpochRecord(0), None)
    turns = [gate.turn(after_first=number % 2 == 0) for number in range(4)]
    order: list[int] = []

    def visit(number: int) -> None:
        with gate.between(turns[number]):
            order.append(number)

    with ThreadPoolExecutor() as threads:
        late = [threads.submit(visit, number) for number in (3, 1, 2)]
        epoch = threads.submit(gate.epoch().__enter__)
        assert not epoch.done()
        for future in [threads.submit(visit, 0), *late]:
            future.result(SECONDS)
        epoch.result(SECONDS)
    assert order == [0, 1, 2, 3]


def test_a_guest_who_waits_for_the_first_epoch_holds_nobody_up() -> None:
    gate = EpochGate()
    patient = gate.turn(after_first=True)
    with gate.epoch():
        pass
    with gate.between():
        gate.close()
    with gate.between(patient):
        pass


def test_a_turn_that_is_given_up_holds_nobody_up() -> None:
    gate = EpochGate()
    gate.turn().close()
    with gate.epoch():
        pass


def test_guests_come_one_by_one() -> None:
    gate = EpochGate()
    inside = 0
    most = 0

    def visit() -> None:
        nonlocal inside, most
        for _ in range(100):
            with gate.between():
                inside += 1
                most = max(most, inside)
                inside -= 1

    with ThreadPoolExecutor() as threads:
        for future in [threads.submit(visit) for _ in range(4)]:
            future.result()
    assert most == 1


def test_a_guest_may_wait_for_the_first_epoch() -> None:
    gate = EpochGate()

    def visit() -> int:
        with gate.between(gate.turn(after_first=True)):
            assert gate.last is not None
            return gate.last.number

    with ThreadPoolExecutor() as threads:
        guest = threads.submit(visit)
        with gate.epoch():
            gate.passed(EpochRecord(7), None)
        assert guest.result(SECONDS) == 7


def test_nobody_waits_for_an_epoch_that_never_comes() -> None:
    gate = EpochGate()

    def visit() -> EpochRecord | None:
        with gate.between(gate.turn(after_first=True)):
            return gate.last

    with ThreadPoolExecutor() as threads:
        guest = threads.submit(visit)
        gate.close()
        assert guest.result(SECONDS) is None


def test_lets_no_epoch_through_once_it_is_closed_but_the_one_that_ends_event_time() -> None:
    gate = EpochGate()
    gate.close(wants_end=True)
    with pytest.raises(JobCancelledError), gate.epoch():
        raise AssertionError
    assert not gate.has_ended
    with gate.epoch(ends=True):
        pass
    assert gate.has_ended


def test_an_epoch_that_failed_lets_others_in() -> None:
    gate = EpochGate()
    with pytest.raises(ValueError, match="no"), gate.epoch():
        raise ValueError("no")
    with gate.between():
        pass
