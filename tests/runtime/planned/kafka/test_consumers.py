from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaException

from penstock.runtime.planned.kafka.consumers import Consumers


def test_a_consumer_that_cannot_be_given_back_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    def unassign() -> None:
        raise KafkaException("stuck")

    consumer = SimpleNamespace(unassign=unassign, close=lambda: closed.append("it"))
    module = "penstock.runtime.planned.kafka.consumers"
    monkeypatch.setattr(f"{module}.new_client", lambda *args, **more: consumer)
    consumers = Consumers()

    with pytest.raises(KafkaException), consumers.borrowed("job", {}):
        pass
    consumers.close("job")
    assert closed == ["it"]
