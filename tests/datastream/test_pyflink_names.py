"""A PyFlink program finds modules, names, parameters and defaults where it expects them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from enum import EnumMeta
from typing import Any

import pytest
from scripts.parity_table import (
    OTHERWISE,
    WHY,
    brings,
    differences,
    here,
    is_here,
    names,
    reason,
)
from scripts.pyflink_facts import bare

from penstock.datastream import StreamExecutionEnvironment, TimeDomain
from penstock.not_here import INSTEAD

DEFINED = [name for name in names() if name.name != "brings"]
"""What PyFlink's modules define themselves."""


def test_names_are_where_pyflink_has_them() -> None:
    found = {name: here(name) for name in DEFINED}
    missing = [
        f"{name.place}.{bare(member)}"
        for name, value in found.items()
        for member in name.members
        if value is not None and not hasattr(value, bare(member))
    ]
    assert [name.place for name in found if found[name] is None and not reason(name.place)] == []
    assert [place for place in missing if place not in WHY] == []


def test_modules_list_their_names() -> None:
    for name in DEFINED:
        if "." not in name.name and name.place not in WHY and here(name) is not None:
            assert name.name in importlib.import_module(name.module).__all__


def test_packages_bring_what_is_here_of_what_pyflinks_bring() -> None:
    absent = {name.name for name in DEFINED if here(name) is None}
    for package in names():
        if package.name == "brings" and is_here(package.module):
            missing = {name for name in package.members if not brings(package, name)}
            place = package.module.removeprefix("penstock.")
            assert {name for name in missing - absent if f"{place}.{name}" not in INSTEAD} == set()


def test_parameters_and_defaults_are_pyflinks() -> None:
    assert set(differences()) - OTHERWISE.keys() == set()


def described() -> Iterator[Any]:
    """Yield functions of PyFlink's names with parameters that PyFlink's lack, and what describes them."""
    for name in names():
        thing = here(name)
        functions = [thing, *vars(thing).values()] if isinstance(thing, type) else [thing]
        for function in functions:
            plain = function.__func__ if isinstance(function, staticmethod) else function
            # Classes describe what makes them.
            is_named = not getattr(plain, "__name__", "_").startswith("_")
            if is_named and not isinstance(plain, EnumMeta) and (added := added_parameters(plain)):
                yield pytest.param(plain, added, id=f"{name.place}.{plain.__name__}")


def added_parameters(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]


@pytest.mark.parametrize(("function", "added"), list(described()))
def test_docstrings_describe_what_is_added(function: Any, added: list[str]) -> None:
    text = inspect.getdoc(function) or ""
    assert [name for name in added if f"    {name}: " not in text] == []


def test_time_domains_have_pyflinks_numbers() -> None:
    assert (TimeDomain.EVENT_TIME.value, TimeDomain.PROCESSING_TIME.value) == (0, 1)


def test_the_environment_is_got_as_in_pyflink() -> None:
    parameters = inspect.signature(StreamExecutionEnvironment.get_execution_environment).parameters
    assert [*parameters] == ["configuration", "spark"]
    assert parameters["spark"].kind is inspect.Parameter.KEYWORD_ONLY
