"""What the pages for contributors name is there: files and folders, and the functions in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from scripts import house_map

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "penstock"
PAGES = ["contributing.md", "house.md", "how-it-works.md"]
MADE = ("dist", "site")
"""What only commands make."""

FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"\w[\w.-]*(?:/[\w.-]+)*(?:/|\.(?:py|md|txt|toml|svg))|\w[\w.-]*(?:/[\w.-]+)+")
NAME = re.compile(r"[A-Za-z_][\w.]*")
ROW = re.compile(r"^\| `(?P<file>[\w/]+\.py)` \| (?P<names>`[^|]+`) \|", re.MULTILINE)


def text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def paths_in(page: str) -> Iterator[str]:
    for code in CODE.findall(FENCED.sub("", text_of(page))):
        yield from (word for word in code.split() if PATH.fullmatch(word))


def names_in(page: str) -> Iterator[str]:
    for code in CODE.findall(FENCED.sub("", text_of(page))):
        if NAME.fullmatch(code) and not PATH.fullmatch(code):
            yield code.rpartition(".")[2]


@cache
def words_of(path: str) -> frozenset[str]:
    files = (file for file in (ROOT / path, PACKAGE / path) if file.is_file())
    return frozenset(
        word for file in files for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))
    )


def is_there(path: str) -> bool:
    if path.partition("/")[0] in MADE or any((top / path).exists() for top in (ROOT, PACKAGE)):
        return True
    return "/" not in path and path in names_of_files()


@cache
def names_of_files() -> frozenset[str]:
    return frozenset(path.name for top in ("src", "tests") for path in (ROOT / top).rglob("*.py"))


def rows_of(page: str) -> list[tuple[str, str]]:
    return [
        (row["file"], name)
        for row in ROW.finditer(text_of(page))
        for name in CODE.findall(row["names"])
    ]


@cache
def definitions_in(file: str) -> frozenset[str]:
    """The classes and functions of a file, methods with their class before them."""
    found = set()
    for node in ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (one for one in node.body if isinstance(one, ast.FunctionDef))
            found |= {f"{node.name}.{method.name}" for method in methods}
    return frozenset(found)


@pytest.mark.parametrize("page", PAGES)
def test_files_and_folders_are_there(page: str) -> None:
    paths = set(paths_in(page))
    assert paths, f"{page} names none"
    assert sorted(path for path in paths if not is_there(path)) == []


@pytest.mark.parametrize("page", ["contributing.md", "house.md"])
def test_names_are_in_the_files_that_the_page_names(page: str) -> None:
    known = frozenset[str]().union(*map(words_of, set(paths_in(page))))
    assert sorted(set(names_in(page)) - known) == []


def test_functions_are_in_their_files() -> None:
    rows = rows_of("house.md")
    assert len(rows) > 40
    assert [row for row in rows if row[1] not in definitions_in(row[0])] == []


def test_the_house_is_drawn_as_it_is() -> None:
    drawn = house_map.PICTURE.read_text(encoding="utf-8")
    assert drawn == house_map.picture(), "run `python -m scripts.house_map`, and commit the picture"


def test_the_rooms_of_the_house_have_space_for_their_parts() -> None:
    drawn = house_map.PICTURE.read_text(encoding="utf-8")
    room = re.compile(
        r'<rect class="room" .* width="(\d+)".*\n<text .*\n<text class="small" .*>(.+)</text>'
    )
    found = room.findall(drawn)
    assert found
    assert [parts for width, parts in found if len(parts) * 6 > int(width) - 16] == []
