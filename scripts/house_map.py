"""Draws the house, and writes what each room is for into its page: `python -m scripts.house_map`.

Bands and rows are those of the import rules in pyproject.toml, rooms are the folders, and what a room is for is the first
sentence of its docstring.
"""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

from scripts.generated_part import DOCS, GeneratedPart

PLACE: Final = GeneratedPart("house.md", "house_map")
PICTURE: Final = DOCS / "house.svg"

ROOT: Final = DOCS.parent
PACKAGE: Final = ROOT / "src" / "penstock"

_WIDTH, _LABEL, _GAP, _PADDING, _ROOM, _LINE = 880, 110, 8, 10, 42, 20
_LETTERS: Final = 16
"""Rooms whose parts have no more letters than that are of one width."""

_STYLE: Final = """
text { font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328; }
.name { font-weight: 600; }
.small { font-size: 11px; fill: #57606a; }
.band { fill: #f3f5f8; stroke: #c8d0da; }
.room { fill: #ffffff; stroke: #8b949e; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.small { fill: #9198a1; }
.band { fill: #161b22; stroke: #3d444d; }
.room { fill: #21262d; stroke: #768390; }
}
"""


class Band(NamedTuple):
    """A layer of the house.

    Attributes:
        names: The packages in it, which know nothing of each other.
        rows: The rooms of the only one, from above; none if it has no folders.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def height(self) -> int:
        """How many units it takes in the picture."""
        if len(self.names) == 1 and not self.rows:
            return _LINE + _PADDING
        return max(len(self.rows), 1) * (_ROOM + _GAP) - _GAP + 2 * _PADDING


def contracts() -> list[dict[str, Any]]:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return list(found["tool"]["importlinter"]["contracts"])


def bands() -> list[Band]:
    return [
        Band(names, rows_of(names[0]) if len(names) == 1 else ())
        for names in layers_of("penstock")
        if names != ("__main__",)
    ]


def layers_of(container: str) -> list[tuple[str, ...]]:
    """Return the layers of a package as its import rule has them; none if there is no such rule.

    Only of a rule that names all there is, modules are of interest beside packages.
    """
    folder = PACKAGE.parent.joinpath(*container.split("."))
    for rule in contracts():
        if container in rule.get("containers", ()):
            return [
                tuple(
                    name
                    for name in _names_in(layer)
                    if rule.get("exhaustive") or (folder / name).is_dir()
                )
                for layer in rule["layers"]
            ]
    return []


def rows_of(package: str) -> tuple[tuple[str, ...], ...]:
    """Return the rooms of a package by rows: its layers, or who must not know whom."""
    rooms = folders(PACKAGE / package)
    rows = layers_of(f"penstock.{package}")
    if not rows:
        ranks = ranks_of(package, rooms)
        rows = [
            tuple(room for room in rooms if ranks[room] == rank)
            for rank in sorted(set(ranks.values()))
        ]
    missing = set(rooms).difference(*rows)
    assert not missing, f"the import rules of {package} do not name {missing}"
    return tuple(rows)


def ranks_of(package: str, rooms: Iterable[str]) -> dict[str, int]:
    """Return how many rows lie over each room: it lies below those that it must not know."""
    above: dict[str, set[str]] = {room: set() for room in rooms}
    for lower, upper in _forbidden_imports(f"penstock.{package}."):
        # What is said of a part of a room says nothing of the rest.
        if lower in above and upper.partition(".")[0] != lower:
            above[lower].add(upper.partition(".")[0])

    def rank(room: str) -> int:
        return max((rank(other) + 1 for other in above[room]), default=0)

    return {room: rank(room) for room in above}


def _forbidden_imports(beginning: str) -> Iterator[tuple[str, str]]:
    """Yield what must not import, and what it must not import, by their names behind a beginning."""
    for rule in contracts():
        if rule["type"] == "forbidden":
            pairs = list(itertools.product(rule["source_modules"], rule["forbidden_modules"]))
        else:
            layers = [_names_in(layer) for layer in rule.get("layers", ())]
            pairs = [
                pair
                for upper, lower in itertools.combinations(layers, 2)
                for pair in itertools.product(lower, upper)
            ]
        for lower, upper in pairs:
            if lower.startswith(beginning) and upper.startswith(beginning):
                yield lower.removeprefix(beginning), upper.removeprefix(beginning)


def _names_in(layer: str) -> list[str]:
    return re.split(r"\s*[|:]\s*", layer)


def folders(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/__init__.py"))


def table() -> str:
    lines = ["| Package or module | What is in it |", "|---|---|"]
    for band in bands():
        for name in band.names:
            lines += [f"| `{room}` | {purpose_of(room)} |" for room in _with_rooms(name)]
    return "\n".join(lines)


def _with_rooms(name: str) -> Iterator[str]:
    """Yield a module, or a package with the folders below it."""
    if (PACKAGE / f"{name}.py").exists():
        yield f"{name}.py"
        return
    for path in sorted((PACKAGE / name).rglob("__init__.py")):
        yield f"{path.parent.relative_to(PACKAGE).as_posix()}/"


def purpose_of(room: str) -> str:
    path = PACKAGE / room
    file = path / "__init__.py" if path.is_dir() else path
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert docstring, f"{file} does not say what it is for"
    return docstring.splitlines()[0]


def picture() -> str:
    found = bands()
    height = sum(band.height + _GAP for band in found) + _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {height}">',
        "<title>The packages of penstock and the rooms in them; imports run from top to bottom</title>",
        f"<style>{_STYLE}</style>",
    ]
    y = _GAP
    for band in found:
        parts += _band(band, y)
        y += band.height + _GAP
    return "\n".join([*parts, "</svg>", ""])


def _band(band: Band, y: int) -> Iterator[str]:
    width = _WIDTH - 2 * _GAP
    yield f'<rect class="band" x="{_GAP}" y="{y}" width="{width}" height="{band.height}" rx="6"/>'
    y += _PADDING
    left = _GAP + _PADDING
    if len(band.names) > 1:
        yield from _row([(name, ()) for name in band.names], left, y)
        return
    [name] = band.names
    yield _text(left, y + (18 if band.rows else 10), name, "name")
    if not band.rows:
        (whole,) = (
            room for room in _with_rooms(name) if room.rstrip("/").removesuffix(".py") == name
        )
        yield _text(left + _LABEL, y + 10, purpose_of(whole).replace("`", ""), "small")
    for row in band.rows:
        yield from _row([(room, folders(PACKAGE / name / room)) for room in row], left + _LABEL, y)
        y += _ROOM + _GAP


def _row(rooms: list[tuple[str, Iterable[str]]], left: int, y: int) -> Iterator[str]:
    smalls = [", ".join(inner) for _, inner in rooms]
    shares = [max(len(small), _LETTERS) for small in smalls]
    whole = _WIDTH - _GAP - _PADDING - left - (len(rooms) - 1) * _GAP
    x: float = left
    for (name, _), small, share in zip(rooms, smalls, shares, strict=True):
        width = whole * share / sum(shares)
        yield f'<rect class="room" x="{x:.0f}" y="{y}" width="{width:.0f}" height="{_ROOM}" rx="4"/>'
        yield _text(x + 8, y + (18 if small else 26), name, "name")
        if small:
            yield _text(x + 8, y + 34, small, "small")
        x += width + _GAP


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'


if __name__ == "__main__":
    PLACE.write(table())
    PICTURE.write_text(picture(), encoding="utf-8")
