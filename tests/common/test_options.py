from __future__ import annotations

import pytest

from penstock.common import options
from penstock.common.config_option import ConfigOption
from penstock.common.options import OPEN_PREFIXES, OPTIONS
from penstock.common.time import Duration


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS.keys())
def test_every_option_is_described_and_can_have_its_default(option: ConfigOption[object]) -> None:
    assert option.description.endswith(".")
    assert not option.key.startswith(OPEN_PREFIXES)
    if option.default is not None:
        assert isinstance(option.default, option.type)
        text = str(option.default) if not issubclass(option.type, dict) else ""
        assert option.parse(text) == option.default


def test_no_option_is_forgotten_or_defined_twice() -> None:
    defined = [value for value in vars(options).values() if isinstance(value, ConfigOption)]

    assert len(defined) == len(OPTIONS)
    assert {option.key for option in defined} == set(OPTIONS)


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("pipeline.auto-watermark-interval", Duration.of_millis(200)),
        ("execution.buffer-timeout.interval", Duration.of_millis(100)),
        ("execution.runtime-mode", "STREAMING"),
        ("execution.target", "spark"),
        ("execution.epoch.interval", Duration.of_millis(0)),
        ("execution.epoch.available-now", False),
        ("execution.epoch.end-of-input", True),
        ("pipeline.operator-chaining.enabled", True),
        ("execution.checkpointing.mode", "EXACTLY_ONCE"),
        ("state.backend.type", "hashmap"),
    ],
)
def test_has_the_defaults_that_programs_rely_on(key: str, default: object) -> None:
    assert OPTIONS[key].default == default
