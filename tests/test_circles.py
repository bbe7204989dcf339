"""Circles of imports are few and small: who reads one file of a circle has to read them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1] / "src"


class When(IntEnum):
    """What an import is needed for."""

    LOADING = 1
    RUNNING = 2
    """A function that is called later."""
    CHECKING_TYPES = 3


Graph = dict[str, set[str]]


@pytest.fixture(scope="module")
def imports() -> dict[When, Graph]:
    return imports_in(SRC)


@pytest.mark.parametrize(
    ("until", "most"), [(When.LOADING, 0), (When.RUNNING, 2), (When.CHECKING_TYPES, 3)]
)
def test_circles_are_small(until: When, most: int, imports: dict[When, Graph]) -> None:
    assert [circle for circle in circles(imports, until) if len(circle) > most] == []


FILES = {
    "house/__init__.py": "from house.door import Door",
    "house/door.py": "import house.key\ndef lock():\n    from house import lock",
    "house/key.py": "import sys\nfrom house.door.handle import grip",
    "house/lock.py": "from house.bolt import Bolt",
    "house/bolt.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house import door",
    "house/roof/__init__.py": "class Roof:\n    import house.roof.tile",
    "house/roof/tile.py": "import typing\nif typing.TYPE_CHECKING:\n    pass\nelse:\n    import house.roof",
}


def test_a_circle_is_found(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = imports_in(tmp_path)
    loaded = [["house.door", "house.key"], ["house.roof", "house.roof.tile"]]
    assert circles(found, When.LOADING) == loaded
    assert circles(found, When.RUNNING) == loaded
    with_types = [["house.bolt", "house.door", "house.key", "house.lock"], loaded[1]]
    assert circles(found, When.CHECKING_TYPES) == with_types


def circles(imports: dict[When, Graph], until: When) -> list[list[str]]:
    """Return the modules that come back to themselves by imports for one purpose or those before it."""
    reached = {module: reachable(module, imports, until) for module in imports[until]}
    found = {
        tuple(sorted(other for other in others if module in reached[other]))
        for module, others in reached.items()
        if module in others
    }
    return sorted(map(list, found))


def reachable(module: str, imports: dict[When, Graph], until: When) -> set[str]:
    """Return the modules that one imports, and those that these import, and so on."""
    graphs = [imports[when] for when in When if when <= until]
    found: set[str] = set()
    left = [module]
    while left:
        one = left.pop()
        new = set().union(*(graph[one] for graph in graphs)) - found
        found |= new
        left += new
    return found


def imports_in(folder: Path) -> dict[When, Graph]:
    """Return which modules in a folder import which others there, by what for.

    What is imported from a package is the module of that name, if there is one, else the package.
    """
    paths = {module_of(path.relative_to(folder)): path for path in folder.rglob("*.py")}
    found: dict[When, Graph] = {when: {module: set() for module in paths} for when in When}
    for module, path in paths.items():
        # One tree at a time: many at once are looked through for garbage again and again.
        for when, name in names_in(ast.parse(path.read_text(encoding="utf-8")), When.LOADING):
            parts = name.split(".")
            beginnings = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
            target = next((one for one in beginnings if one in paths), module)
            if target != module:
                found[when][module].add(target)
    return found


def module_of(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def names_in(node: ast.AST, when: When) -> Iterator[tuple[When, str]]:
    """Yield what a piece of code imports, and what for."""
    if isinstance(node, ast.Import):
        yield from ((when, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, "a relative import"
        yield from ((when, f"{node.module}.{alias.name}") for alias in node.names)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        when = max(when, When.RUNNING)
    for_types = node.body if isinstance(node, ast.If) and is_for_types(node) else ()
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield from names_in(child, When.CHECKING_TYPES if child in for_types else when)


def is_for_types(node: ast.If) -> bool:
    return ast.unparse(node.test).removeprefix("typing.") == "TYPE_CHECKING"
