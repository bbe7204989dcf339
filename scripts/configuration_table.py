"""Writes the tables of all configuration keys into their pages: `python -m scripts.configuration_table`."""

from __future__ import annotations

from collections.abc import Set
from typing import Any, Final

from scripts.generated_part import GeneratedPart

from penstock.common import ConfigOption, Duration
from penstock.common.configuration.flink_keys import FlinkKey, flink_keys
from penstock.common.configuration.options import OPTIONS, WITHOUT_EFFECT

PLACE: Final = GeneratedPart("configuration.md", "configuration_table")
OTHERS: Final = (
    "[All others of Flink's keys](flink-keys.md) that change nothing have a page of their own."
)
FLINK_KEYS: Final = GeneratedPart("flink-keys.md", "configuration_table")


def tables() -> str:
    return "\n\n".join(
        [
            table("Meaning", OPTIONS.keys() - WITHOUT_EFFECT),
            "## Keys without effect",
            f"These are accepted and checked. {OTHERS}",
            table("Why there is nothing to choose", WITHOUT_EFFECT),
        ]
    )


def flink_tables() -> str:
    sections: dict[str, list[FlinkKey]] = {}
    for key in flink_keys().keys:
        sections.setdefault(key.heading, []).append(key)
    return "\n\n".join(
        f"## {heading}\n\n{keys[0].instead}\n\n{flink_table(keys)}"
        for heading, keys in sections.items()
    )


def flink_table(keys: list[FlinkKey]) -> str:
    rows = [
        f"| {code(key.key)} | {key.type.replace('/', ', ')} | {code(key.default)} | "
        f"{', '.join(map(code, key.older))} |"
        for key in keys
    ]
    head = ["| Key | Type | Flink's default | Older names |", "|---|---|---|---|"]
    return "\n".join([*head, *rows])


def code(text: str) -> str:
    return f"`{text}`" if text else ""


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
    return "" if default in (None, {}, []) else f"`{default}`"


def choices(option: ConfigOption[Any]) -> str:
    listed = ", ".join(f"`{choice}`" for choice in option.choices)
    others = ", ".join(f"`{text}` for `{choice}`" for text, choice in option.synonyms.items())
    return f"{f' One of {listed}.' if listed else ''}{f' Read too: {others}.' if others else ''}"


def older(option: ConfigOption[Any]) -> str:
    listed = ", ".join(f"`{key}`" for key in option.keys[1:])
    return f" Also: {listed}." if listed else ""


if __name__ == "__main__":
    PLACE.write(tables())
    FLINK_KEYS.write(flink_tables())
