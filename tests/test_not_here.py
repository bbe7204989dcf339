from __future__ import annotations

import importlib
import pickle
import re
from collections import defaultdict
from typing import Any
from unittest.mock import MagicMock, create_autospec

import pytest

import penstock
from penstock import common, datastream
from penstock.datastream import DataStream, StreamExecutionEnvironment, connectors
from penstock.errors import NotInPenstockError, PenstockError
from penstock.not_here import INSTEAD


def is_here(place: str) -> bool:
    """Whether there is a module at a place in the package, or a name in one."""
    module, _, name = f"penstock.{place}".rpartition(".")
    try:
        exec(f"from {module} import {name}")
    except ImportError:
        return False
    return True


@pytest.mark.parametrize("place", [place for place in INSTEAD if not is_here(place)])
def test_an_import_says_what_does_the_work(place: str) -> None:
    module, _, name = f"penstock.{place}".rpartition(".")

    with pytest.raises(NotInPenstockError) as raised:
        exec(f"from {module} import {name}")
    assert raised.value.hint == INSTEAD[place]
    if name.islower():
        with pytest.raises(NotInPenstockError):
            importlib.import_module(f"{module}.{name}")


def test_what_is_below_a_module_is_not_here_either() -> None:
    with pytest.raises(NotInPenstockError, match=r"pyflink\.table is not in penstock"):
        exec("from penstock.table.udf import udf")
    with pytest.raises(NotInPenstockError, match="pulsar"):
        exec("from penstock.datastream.connectors.pulsar import PulsarSource")


def test_who_does_not_import_finds_nothing() -> None:
    assert not hasattr(penstock, "table")
    assert not hasattr(datastream, "CustomCheckpointStorage")


@pytest.mark.parametrize("name", ["penstock.tabel", "penstock.datastream.connectors.nothing"])
def test_names_that_pyflink_has_not_are_not_found_as_ever(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(name)


def test_the_error_comes_out_of_a_pickle() -> None:
    with pytest.raises(ImportError) as raised:
        exec("import penstock.table")
    found = pickle.loads(pickle.dumps(raised.value))
    assert isinstance(found, PenstockError)
    assert str(found) == str(raised.value)


class Known(defaultdict[str, Any]):
    """The names in a line of code: those of penstock as they are, and any other as a mock."""

    def __missing__(self, name: str) -> Any:
        for module in (datastream, connectors, common):
            if name[0].isupper() and hasattr(module, name):
                return getattr(module, name)
        return MagicMock()


def lines() -> list[str]:
    found = {code for hint in INSTEAD.values() for code in re.findall("`([^`]+)`", hint)}
    return sorted(code for code in found if "(" in code or " " in code)


@pytest.mark.parametrize("line", lines())
def test_what_does_the_work_can_be_done_so(line: str) -> None:
    known = Known(
        env=create_autospec(StreamExecutionEnvironment, instance=True),
        stream=create_autospec(DataStream, instance=True),
    )
    exec(line, {}, known)


def test_every_hint_has_a_line_to_copy() -> None:
    assert {hint for hint in INSTEAD.values() if "`" not in hint} == set()
