from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import penstock
from penstock.common.configuration import (
    metric_options,
    options,
    options_without_effect,
    rocksdb_options,
)
from penstock.common.configuration.config_option import ConfigOption
from penstock.common.configuration.options import OPEN_PREFIXES, OPTIONS
from penstock.common.time import Duration

IMPORT = re.compile(r"^ *from \S+ import (\([^)]*\)|.*)$", re.MULTILINE)
NAME = re.compile(r"(?<!^)\b[A-Z][A-Z_]+\b", re.MULTILINE)


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS.keys())
def test_every_option_is_described_and_can_have_its_default(option: ConfigOption[object]) -> None:
    assert option.description.endswith(".")
    assert not option.key.startswith(OPEN_PREFIXES)
    if option.default is not None:
        assert isinstance(option.default, option.type)
        text = str(option.default) if not issubclass(option.type, dict) else ""
        assert option.parse(text) == option.default


def test_no_option_is_forgotten_or_defined_twice() -> None:
    modules = metric_options, options, options_without_effect, rocksdb_options
    defined = [option for module in modules for option in options_in(module).values()]

    assert len(defined) == len(OPTIONS)
    assert {option.key for option in defined} == set(OPTIONS)


def test_an_option_with_effect_is_read_and_one_without_is_not() -> None:
    runs_jobs = names_read_below("executors") | names_read_below("runtime")
    asked_for = (
        names_read_below("common") | names_read_below("datastream") | names_read_below("cli")
    )

    for module in (metric_options, options, rocksdb_options):
        assert options_in(module).keys() <= runs_jobs | asked_for
    assert options_in(options_without_effect).keys().isdisjoint(runs_jobs)


def options_in(module: ModuleType) -> dict[str, ConfigOption[Any]]:
    return {name: value for name, value in vars(module).items() if isinstance(value, ConfigOption)}


def names_read_below(package: str) -> set[str]:
    """The names in capitals that the package's files use; one that is only imported, or begins a line, is not used."""
    names: set[str] = set()
    for path in Path(penstock.__file__).parent.joinpath(package).rglob("*.py"):
        names |= set(NAME.findall(IMPORT.sub("", path.read_text(encoding="utf-8"))))
    return names


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("pipeline.auto-watermark-interval", Duration.of_millis(200)),
        ("execution.buffer-timeout.interval", Duration.of_millis(100)),
        ("execution.runtime-mode", "STREAMING"),
        ("execution.target", "spark"),
        ("execution.epoch.interval", Duration.of_millis(0)),
        ("execution.trigger", "processing-time"),
        ("execution.epoch.available-now", False),
        ("execution.epoch.end-of-input", None),
        ("pipeline.operator-chaining.enabled", True),
        ("execution.checkpointing.mode", "EXACTLY_ONCE"),
        ("state.backend.type", "hashmap"),
        ("rest.async.store-duration", Duration.of_seconds(10)),
    ],
)
def test_has_the_defaults_that_programs_rely_on(key: str, default: object) -> None:
    assert OPTIONS[key].default == default
