"""The pages of the API have every public name."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripts.parity_table import is_here, names

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r"^::: (?P<name>\S+)(?P<options>(?:\n +.*)*)", re.MULTILINE)
MEMBERS = re.compile(r"members: \[(.*?)\]", re.DOTALL)
LIKE_PYFLINK = {module for module in {name.module for name in names()} if is_here(module)}
OWN = {
    "penstock.common",
    "penstock.datastream",
    "penstock.datastream.aggregates",
    "penstock.datastream.connectors",
    "penstock.datastream.formats",
    "penstock.datastream.formats.avro",
    "penstock.datastream.formats.csv",
    "penstock.datastream.formats.json",
    "penstock.datastream.formats.protobuf",
    "penstock.datastream.formats.registry",
    "penstock.errors",
    "penstock.inspection",
    "penstock.spark",
    "penstock.testing",
}


@pytest.fixture(scope="module")
def described() -> list[Any]:
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    return [found for page in pages for found in described_on(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("module", sorted(LIKE_PYFLINK | OWN))
def test_public_names_have_a_page(module: str, described: list[Any]) -> None:
    known = set(map(id, described))
    public = public_in(importlib.import_module(module))
    assert [name for name, value in public if id(value) not in known] == []


def described_on(page: str) -> Iterator[Any]:
    """Yield the objects that a page describes."""
    for entry in ENTRY.finditer(page):
        members = MEMBERS.search(entry["options"])
        module, _, name = entry["name"].rpartition(".")
        if name[0].isupper():
            yield getattr(importlib.import_module(module), name)
        elif members is None:
            yield from (value for _, value in public_in(importlib.import_module(entry["name"])))
        else:
            found = importlib.import_module(entry["name"])
            yield from (getattr(found, member.strip()) for member in members[1].split(","))


def public_in(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a module, and what they are."""
    own = [name for name, value in vars(module).items() if is_defined_in(module, name, value)]
    for name in getattr(module, "__all__", own):
        yield name, getattr(module, name)


def is_defined_in(module: Any, name: str, value: Any) -> bool:
    return not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
