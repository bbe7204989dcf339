from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.datastream.connectors.kafka.waiting import waited

AWAY = KafkaException(KafkaError(KafkaError._TIMED_OUT))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which stands but for what is slept."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(
        "penstock.datastream.connectors.kafka.waiting.time.monotonic", lambda: now[0]
    )
    monkeypatch.setattr("penstock.datastream.connectors.kafka.waiting.time.sleep", sleep)
    return now


def test_a_step_is_done_again_until_it_is_done(
    clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    given: list[float] = []

    def step(seconds: float) -> str:
        given.append(seconds)
        if len(given) < 3:
            clock[0] += seconds
            raise AWAY
        return "done"

    assert waited(step, 12, "an answer", "Kafka") == "done"
    assert given == pytest.approx([5, 5, 1.8])
    assert [record.getMessage() for record in caplog.records] == [
        "Kafka: waiting for an answer for 5 s: Local: Timed out",
        "Kafka: waiting for an answer for 10 s: Local: Timed out",
    ]


@pytest.mark.parametrize(
    ("error", "seconds"), [(AWAY, 12.0), (KafkaException(KafkaError(29)), 0.0)]
)
def test_what_does_not_pass_is_raised(
    clock: list[float], error: KafkaException, seconds: float
) -> None:
    def step(_: float) -> None:
        raise error

    with pytest.raises(KafkaException):
        waited(step, 12, "an answer", "Kafka")
    assert clock[0] == pytest.approx(seconds, abs=0.2)
