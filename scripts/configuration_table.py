"""Writes the tables of all configuration keys into their page: `python -m scripts.configuration_table`."""

from __future__ import annotations

from collections.abc import Set
from typing import Any, Final

from scripts.generated_part import GeneratedPart

from penstock.common import ConfigOption, Duration
from penstock.common.configuration import options_without_effect
from penstock.common.configuration.options import OPTIONS

PLACE: Final = GeneratedPart("configuration.md", "configuration_table")


def tables() -> str:
    found = vars(options_without_effect).values()
    without_effect = {option.key for option in found if isinstance(option, ConfigOption)}
    return "\n\n".join(
        [
            table("Meaning", OPTIONS.keys() - without_effect),
            "## Keys without effect",
            "These are accepted and checked, so that a configuration for Flink need not be changed.",
            table("Why there is nothing to choose", without_effect),
        ]
    )


def table(head: str, keys: Set[str]) -> str:
    options = [OPTIONS[key] for key in sorted(keys)]
    rows = [
        f"| `{option.key}` | {shown(option.default)} | {option.description}{choices(option)}{older(option)} |"
        for option in options
    ]
    return "\n".join([f"| Key | Default | {head} |", "|---|---|---|", *rows])


def shown(default: Any) -> str:
    if isinstance(default, Duration):
        return f"`{default.to_millis()} ms`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return "" if default is None or default == {} else f"`{default}`"


def choices(option: ConfigOption[Any]) -> str:
    listed = ", ".join(f"`{choice}`" for choice in option.choices)
    return f" One of {listed}." if listed else ""


def older(option: ConfigOption[Any]) -> str:
    listed = ", ".join(f"`{key}`" for key in option.keys[1:])
    return f" Also: {listed}." if listed else ""


if __name__ == "__main__":
    PLACE.write(tables())
