"""What an answer looks like, whatever it says: which fields it has, and what kind of thing is in each."""

from __future__ import annotations

import re
from typing import Any

_ID = re.compile(r"[0-9a-f]{32}")


def shape(value: Any) -> Any:
    """Return what a value from JSON looks like: of a list, its first item; ids are one key, whatever they are."""
    if isinstance(value, dict):
        return {
            "<id>" if _ID.fullmatch(key) else key: shape(item)
            for key, item in sorted(value.items())
        }
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float) or value == "NaN":
        return "number"
    return "null" if value is None else "text"


def differences(wanted: Any, found: Any, place: str = "") -> list[str]:
    """Return where a shape is not the one that is wanted; nothing stands for anything."""
    if "null" in (wanted, found) or not wanted or not found:
        return []
    if isinstance(wanted, dict) and isinstance(found, dict):
        lost = [f"{place}: no {key}" for key in wanted.keys() - found.keys()]
        new = [f"{place}: {key} is not Flink's" for key in found.keys() - wanted.keys()]
        below = [
            text
            for key in wanted.keys() & found.keys()
            for text in differences(wanted[key], found[key], f"{place}.{key}")
        ]
        return sorted([*lost, *new, *below])
    if isinstance(wanted, list) and isinstance(found, list):
        return differences(wanted[0], found[0], f"{place}[]")
    return [] if wanted == found else [f"{place}: {found}, not {wanted}"]
