from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import penstock
from penstock.common import options, options_without_effect
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
    defined = [*options_in(options).values(), *options_in(options_without_effect).values()]

    assert len(defined) == len(OPTIONS)
    assert {option.key for option in defined} == set(OPTIONS)


def test_an_option_with_effect_is_read_and_one_without_is_not() -> None:
    read = names_read_in("**/*.py")
    asked_for_by_programs = names_read_in("datastream/**/*.py")
    runs_on = names_read_in("executors/**/*.py") | names_read_in("runtime/**/*.py")

    assert options_in(options).keys() <= read
    assert options_in(options_without_effect).keys() & read <= asked_for_by_programs
    assert options_in(options_without_effect).keys().isdisjoint(runs_on)


def options_in(module: ModuleType) -> dict[str, ConfigOption[Any]]:
    return {name: value for name, value in vars(module).items() if isinstance(value, ConfigOption)}


def names_read_in(pattern: str) -> set[str]:
    """The names that the package's files use; one that stands on the left of `=` or in an import is not used."""
    paths = Path(penstock.__file__).parent.glob(pattern)
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)} | {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


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
