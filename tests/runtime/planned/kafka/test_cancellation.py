from __future__ import annotations

import pickle
import threading
import time
from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.errors import JobCancelledError
from penstock.runtime.planned.kafka.cancellation import Cancellation

LATE = KafkaException(KafkaError(KafkaError._TIMED_OUT))
UNCONNECTED = KafkaException(KafkaError(KafkaError._TRANSPORT))
ALL_DOWN = KafkaException(KafkaError(KafkaError._ALL_BROKERS_DOWN))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(
        "penstock.runtime.planned.kafka.cancellation.time.monotonic", lambda: now[0]
    )
    return now


@pytest.mark.parametrize(
    ("error", "goes_on", "shares"),
    [
        (LATE, False, [0.1, 0.2, 0.4, 0.3]),
        (LATE, True, [0.1] * 10),
        (UNCONNECTED, False, [0.1] * 10),
        (ALL_DOWN, False, [0.1] * 10),
    ],
)
def test_a_call_is_made_in_short_ones_until_its_time_is_up(
    clock: list[float], error: KafkaException, goes_on: bool, shares: list[float]
) -> None:
    given: list[float] = []

    def ask(seconds: float) -> None:
        given.append(seconds)
        clock[0] += seconds
        raise error

    with pytest.raises(KafkaException):
        Cancellation().asked(ask, 1, goes_on=goes_on)
    assert [share for share in given if share > 1e-9] == pytest.approx(shares)


@pytest.mark.parametrize("error", [UNCONNECTED, KafkaException(KafkaError(29))])
def test_what_comes_before_the_time_is_up_is_final(
    clock: list[float], error: KafkaException
) -> None:
    given: list[float] = []

    def ask(seconds: float) -> None:
        given.append(seconds)
        raise error

    with pytest.raises(KafkaException):
        Cancellation().asked(ask, 5)
    assert given == [0.1]


def test_what_waits_ends_when_the_job_is_cancelled() -> None:
    cancellation = Cancellation()
    answer: Future[str] = Future()
    begun = time.monotonic()
    timer = threading.Timer(0.05, cancellation.cancel)
    timer.start()
    with pytest.raises(JobCancelledError):
        cancellation.answer(answer)
    timer.join()
    with pytest.raises(JobCancelledError):
        cancellation.rest(60)
    with pytest.raises(JobCancelledError):
        cancellation.asked(lambda seconds: pytest.fail("was asked"), 60)
    assert time.monotonic() - begun < 10


def test_an_answer_that_is_there_is_returned() -> None:
    answer: Future[str] = Future()
    answer.set_result("here")
    assert Cancellation().answer(answer) == "here"


def test_a_copy_is_one_of_its_own() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    assert not pickle.loads(pickle.dumps(cancellation)).is_cancelled
