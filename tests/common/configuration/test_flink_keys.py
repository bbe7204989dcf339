from __future__ import annotations

import re

import pytest

from penstock.common import Configuration
from penstock.common.configuration.flink_keys import FlinkKey, flink_keys

KEYS = flink_keys().keys
TYPE = re.compile(r"bool|int|float|duration|memory|list|map|text|\w+(/\w+)*")


def test_they_are_read_when_the_first_is_asked_for() -> None:
    flink_keys.cache_clear()
    Configuration().set_integer("parallelism.default", 4).set_string("spark.app.name", "shop")
    assert flink_keys.cache_info().misses == 0

    Configuration().set_string("taskmanager.numberOfTaskSlots", "1")
    assert flink_keys.cache_info().misses == 1


def test_each_says_what_it_is_and_what_does_its_work() -> None:
    assert len(KEYS) > 900
    for key in KEYS:
        assert re.fullmatch(r"[\w.<>-]+", key.key), key
        assert TYPE.fullmatch(key.type), key
        assert key.heading, key
        assert key.instead.endswith("."), key


def test_each_default_can_be_read() -> None:
    for key in KEYS:
        assert key.is_default(key.default), key
        if key.type in ("int", "float", "bool", "duration", "memory") and key.default:
            assert not key.is_default("7 b" if key.type == "memory" else "surely not"), key


def test_no_name_stands_for_two() -> None:
    names = [name for key in KEYS for name in (key.key, *key.older)]

    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("taskmanager.memory.process.size", "taskmanager.memory.process.size"),
        ("akka.ask.timeout", "pekko.ask.timeout"),
        ("traces.reporter.otel.scope.delimiter", "traces.reporter.<name>.scope.delimiter"),
        ("traces.reporter.otel.port", "traces.reporter.<name>.<key>"),
        ("fs.s3a.connection.maximum", "fs.s3a.<key>"),
        ("s3.endpoint", "s3.endpoint"),
        ("s3.any", "s3.<key>"),
    ],
)
def test_are_found_by_every_name(name: str, key: str) -> None:
    found = flink_keys().find(name)

    assert found is not None
    assert found.key == key


@pytest.mark.parametrize("name", ["", "a", "s3.", "parallelism.default", "shop.s3.endpoint"])
def test_others_are_not_found(name: str) -> None:
    assert flink_keys().find(name) is None


@pytest.mark.parametrize(
    ("type", "default", "text", "is_default"),
    [
        ("duration", "1 min", "60 s", True),
        ("duration", "1 min", "61 s", False),
        ("memory", "64 mb", "65536k", True),
        ("bool", "true", "TRUE", True),
        ("list", "", "[]", True),
        ("list", "a;b", "[a, b]", True),
        ("map", "", "a:1", False),
        ("NONE/AUTO", "AUTO", "auto", True),
        ("int", "", "1", False),
        ("int", "5", "many", False),
    ],
)
def test_a_default_is_compared_as_its_type(
    type: str, default: str, text: str, is_default: bool
) -> None:
    assert FlinkKey("key", type, default, (), "", "").is_default(text) == is_default
