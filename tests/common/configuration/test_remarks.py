from __future__ import annotations

import pytest

from penstock.common import Configuration
from penstock.common.configuration import remarks
from penstock.common.configuration.remarks import check_key
from penstock.errors import UnknownConfigurationKeyError


@pytest.fixture(autouse=True)
def _nothing_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remarks, "_said", set())


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert all(record.name == "penstock" for record in caplog.records)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("taskmanager.memory.process.size", "4g", "`spark.executor.memory`"),
        ("execution.checkpointing.mode", "AT_LEAST_ONCE", "exactly once in either mode"),
        ("traces.reporter.mine.factory.class", "a.B", "an epoch listener"),
        ("akka.ask.timeout", "1 min", "`spark.driver.port`"),
    ],
)
def test_what_changes_nothing_is_said_once(
    key: str, text: str, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        assert Configuration().set_string(key, text).get_string(key, "") == text

    (message,) = said(caplog)
    assert message.startswith(f"The configuration key {key!r} changes nothing here. ")
    assert sentence in message


def test_nothing_is_said_of_defaults_effects_and_own_keys(caplog: pytest.LogCaptureFixture) -> None:
    for key, text in {
        "taskmanager.numberOfTaskSlots": "1",
        "execution.checkpointing.timeout": "600 s",
        "pekko.ask.timeout": "10000 ms",
        "parallelism.default": "4",
        "spark.sql.shuffle.partitions": "2",
        "pipeline.global-job-parameters.paralelism.default": "4",
        "shop.country": "CH",
        "k1": "v1",
        "": "",
    }.items():
        check_key(key, text, is_strict=True)

    assert said(caplog) == []


@pytest.mark.parametrize(
    ("key", "similar"),
    [
        ("paralelism.default", "parallelism.default"),
        ("execution.runtime.mode", "execution.runtime-mode"),
        ("execution.checkpoint.interval", "execution.checkpointing.interval"),
        ("jobmanager.rpc.adress", "jobmanager.rpc.address"),
        ("parallelism_default", "parallelism.default"),
    ],
)
def test_a_typing_mistake_is_said_once_or_refused(
    key: str, similar: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        assert Configuration().set_integer(key, 4).get_integer(key, 0) == 4

    (message,) = said(caplog)
    assert message.startswith(f"There is no configuration key {key!r}. Did you mean {similar!r}?")
    with pytest.raises(UnknownConfigurationKeyError) as raised:
        check_key(key, "4", is_strict=True)
    assert similar in (raised.value.hint or "")
