from __future__ import annotations

import importlib

import pytest
from benchmarks.curves import sweeps as growth_sweeps
from benchmarks.kit.entries import (
    CURVES,
    ENTRIES,
    IN_QUICK_FORM,
    NEXMARK_QUERIES,
    QUICK_ENTRIES,
    TITLES,
    Entry,
)
from benchmarks.kit.machine import ROOT
from benchmarks.nexmark import queries

SCRIPTS = [
    "chain",
    "keyed_state",
    "timers",
    "checkpoints",
    "windows",
    "async_io",
    "latency",
    "watching",
    "kafka",
]
"""Those with numbered parts."""


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
@pytest.mark.parametrize("more", [(), ("--quick", "--json", "found.json")])
def test_a_script_takes_what_its_entry_tells_it(entry: Entry, more: tuple[str, ...]) -> None:
    _, path, *arguments = entry.command(*more)
    assert (ROOT / path).exists()
    importlib.import_module(f"benchmarks.{entry.script}").parser().parse_args(arguments)


@pytest.mark.parametrize("script", SCRIPTS)
def test_there_is_an_entry_for_each_part(script: str) -> None:
    module = importlib.import_module(f"benchmarks.{script}")
    assert sum(entry.script == script for entry in ENTRIES) == len(module.PARTS)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_full_form_has_five_rounds(script: str) -> None:
    assert importlib.import_module(f"benchmarks.{script}").Scale().rounds >= 5


def test_there_is_an_entry_for_each_curve() -> None:
    assert [sweep.name for sweep in growth_sweeps.SWEEPS] == list(CURVES)


def test_there_is_an_entry_for_each_query() -> None:
    assert list(queries.QUERIES) == list(NEXMARK_QUERIES)


def test_names_are_different_and_every_script_has_a_title() -> None:
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    assert {entry.script for entry in ENTRIES} == set(TITLES)


def test_the_quick_form_has_something_of_each_script() -> None:
    assert [entry.name for entry in QUICK_ENTRIES] == list(IN_QUICK_FORM)
    assert {entry.script for entry in QUICK_ENTRIES} == set(TITLES)
