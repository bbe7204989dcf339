"""For each sentence of the page of guarantees another page names tests that fail if it is not so."""

from __future__ import annotations

import ast
from functools import cache

import pytest
from tests.docs.guarantees import NOTHING, PROOFS, Promise, promises, proofs

ROOT = PROOFS.parent.parent


def test_each_sentence_has_its_tests() -> None:
    missing = [promise for promise in promises() if promise not in proofs()]
    assert not missing, (
        f"{PROOFS.name} lacks these sentences of guarantees.md, or has them otherwise"
    )


def test_they_are_in_the_order_of_the_sentences() -> None:
    assert list(proofs()) == promises(), f"{PROOFS.name} has sentences that guarantees.md has not"


@pytest.mark.parametrize(
    ("promise", "tests"),
    [pytest.param(promise, tests, id=promise.sentence[:40]) for promise, tests in proofs().items()],
)
def test_they_are_there(promise: Promise, tests: list[str]) -> None:
    assert tests, f"{promise.sentence!r} has no test; what promises nothing has to say so"
    for test in tests if tests != [NOTHING] else []:
        path, *names = test.split("::")
        assert "::".join(names) in names_in(path), f"there is no {test}"


@cache
def names_in(path: str) -> set[str]:
    """Return the tests of a file, those of a class with its name before them."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}::{member.name}"
                for member in node.body
                if isinstance(member, ast.FunctionDef)
            }
    return {name for name in found if name.rpartition("::")[2].startswith("test_")}
