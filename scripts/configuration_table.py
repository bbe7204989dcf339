"""Writes the table of all configuration keys into its page: `python -m scripts.configuration_table`."""

from __future__ import annotations

from typing import Any, Final

from scripts.generated_part import GeneratedPart

from penstock.common import ConfigOption, Duration
from penstock.common.options import OPTIONS

PLACE: Final = GeneratedPart("configuration.md", "configuration_table")


def table() -> str:
    rows = [
        f"| `{key}` | {shown(option.default)} | {option.description}{choices(option)}{older(option)} |"
        for key, option in sorted(OPTIONS.items())
    ]
    return "\n".join(["| Key | Default | Meaning |", "|---|---|---|", *rows])


def shown(default: Any) -> str:
    if isinstance(default, Duration):
        return f"`{default.to_millis()} ms`"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`" if default else ""


def choices(option: ConfigOption[Any]) -> str:
    listed = ", ".join(f"`{choice}`" for choice in option.choices)
    return f" One of {listed}." if listed else ""


def older(option: ConfigOption[Any]) -> str:
    listed = ", ".join(f"`{key}`" for key in option.keys[1:])
    return f" Also: {listed}." if listed else ""


if __name__ == "__main__":
    PLACE.write(table())
