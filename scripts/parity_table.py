"""Writes the tables of PyFlink's names, and what of them is here, into their page: `python -m scripts.parity_table`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from scripts.generated_part import GeneratedPart

PLACE: Final = GeneratedPart("coming-from-pyflink.md", "parity_table")
NAMES = Path(__file__).with_name("pyflink_names.txt")


class Name(NamedTuple):
    """A public class or function of PyFlink's.

    Attributes:
        module: Where it is looked for: PyFlink's module with penstock in the place of pyflink.
        name: Its name; a function's ends with parentheses.
        members: The names of its public members.
    """

    module: str
    name: str
    members: tuple[str, ...]


def names() -> Iterator[Name]:
    module = ""
    for line in NAMES.read_text().splitlines():
        if line.startswith("["):
            module = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, members = line.partition(":")
            yield Name(module, name, tuple(members.split()))


def tables() -> str:
    lines: list[str] = []
    module = ""
    for name in names():
        if name.module != module:
            module = name.module
            lines += ["", f"### `{module}`", "", "| Name | Here | Missing |", "|---|---|---|"]
        lines.append(row(name))
    return "\n".join(lines).strip("\n")


def row(name: Name) -> str:
    found = here(name)
    if found is None:
        return f"| `{name.name}` | no | |"
    missing = [member for member in name.members if not hasattr(found, member)]
    listed = ", ".join(f"`{member}`" for member in missing)
    return f"| `{name.name}` | {'partly' if missing else 'yes'} | {listed} |"


def here(name: Name) -> Any:
    """Return what has that name here; None if nothing has."""
    try:
        found: Any = importlib.import_module(name.module)
    except ModuleNotFoundError:
        return None
    for part in name.name.removesuffix("()").split("."):
        found = getattr(found, part, None)
    return found


if __name__ == "__main__":
    PLACE.write(tables())
