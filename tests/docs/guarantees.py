"""The sentences of the page of guarantees, and the tests that another page names for each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

_DOCS: Final = Path(__file__).parent.parent.parent / "docs"
PROMISES: Final = _DOCS / "guarantees.md"
PROOFS: Final = _DOCS / "guarantees-tests.md"
NOTHING: Final = "promises nothing"
_END_OF_SENTENCE: Final = re.compile(r"(?<=[.!?]) (?=[A-Z`])")
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_TEST: Final = re.compile(r"^`(tests/\S+\.py(?:::\w+)+)`$")


class Promise(NamedTuple):
    """A sentence of the page of guarantees.

    Attributes:
        section: The heading above it.
        sentence: Its text, without links.
    """

    section: str
    sentence: str


def promises() -> list[Promise]:
    """Return the sentences of the page of guarantees, in order."""
    found = []
    for section, text in _sections(PROMISES.read_text(encoding="utf-8")):
        for paragraph in re.split(r"\n(?=- )|\n\n", text):
            plain = _LINK.sub(r"\1", " ".join(paragraph.removeprefix("- ").split()))
            found += [Promise(section, part) for part in _END_OF_SENTENCE.split(plain) if part]
    return found


def proofs() -> dict[Promise, list[str]]:
    """Return the tests that are named for each sentence; `NOTHING` for one that promises nothing."""
    found: dict[Promise, list[str]] = {}
    for section, text in _sections(PROOFS.read_text(encoding="utf-8")):
        for item in re.split(r"\n(?=- )", text):
            sentence, *lines = re.split(r"\n {4}- ", item.removeprefix("- "))
            tests = []
            for line in lines:
                if (test := _TEST.fullmatch(line.strip())) is not None:
                    tests.append(test[1])
                else:
                    assert line.strip() == NOTHING, f"{line!r} names no test"
                    tests.append(NOTHING)
            found[Promise(section, " ".join(sentence.split()))] = tests
    return found


def _sections(page: str) -> list[tuple[str, str]]:
    """Return the sections of a page, with their headings; what stands above the first is left out."""
    pieces = re.split(r"^## (.+)$", page, flags=re.MULTILINE)[1:]
    return [(head, text.strip()) for head, text in zip(pieces[::2], pieces[1::2], strict=True)]
