"""An operator that looks for its state under another name than its checkpoint has is warned of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.executors.rescaling import input_of, new_environment, run

from penstock.common import Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import UnclaimedStateWarning

CUTS = [[("a", number), ("b", number)] for number in range(6)]


class Counts(KeyedProcessFunction):
    """Counts in each of some states.

    Args:
        names: The names of the states.
        late: One that it asks for when the first record comes.
    """

    def __init__(self, names: str, late: str = "") -> None:
        self.names = names
        self.late = late

    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context
        self.states = [runtime_context.get_state(_descriptor(name)) for name in self.names]

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        late = [self.context.get_state(_descriptor(name)) for name in self.late]
        for state in (*self.states, *late):
            state.update((state.value() or 0) + 1)
        yield value[0], *[state.value() for state in (*self.states, *late)]


def _descriptor(name: str) -> ValueStateDescriptor:
    return ValueStateDescriptor(name, Types.LONG())


def _run(
    location: Path,
    names: str,
    until: int | None,
    late: str = "",
    *,
    parallelism: int = 2,
    **more: str,
) -> tuple[list[Any], list[str]]:
    """Return what came out, and the texts of the warnings."""
    environment = new_environment(parallelism, location, **more)
    keyed = input_of(environment, CUTS, until).key_by(lambda record: record[0])
    counts = keyed.process(Counts(names, late)).uid("counts")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnclaimedStateWarning)
        found = run(environment, counts)
    return found, [
        str(one.message) for one in caught if issubclass(one.category, UnclaimedStateWarning)
    ]


@pytest.fixture(params=["hashmap", "rocksdb"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("late", [False, True], ids=["when opened", "asked for later"])
@pytest.mark.parametrize("parallelism", [2, 5])
def test_a_renamed_state(late: bool, parallelism: int, backend: str, tmp_path: Path) -> None:
    new: Any = {"names": "", "late": "c"} if late else {"names": "c"}
    _run(tmp_path, "a", 2, state__backend__type=backend)

    found, texts = _run(
        tmp_path, until=4, parallelism=parallelism, state__backend__type=backend, **new
    )

    assert sorted(found) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    (text,) = texts
    assert (
        "'KEYED PROCESS' (uid 'counts') has asked for the state 'c', which its checkpoint does not"
        in text
    )
    assert "and not for the state 'a', which the checkpoint knows" in text
    assert "Hint: " in text


def test_is_warned_of_once_and_found_again_under_its_old_name(backend: str, tmp_path: Path) -> None:
    _run(tmp_path, "a", 2, state__backend__type=backend)
    assert len(_run(tmp_path, "c", 3)[1]) == 1
    assert _run(tmp_path, "c", 4)[1] == []

    found, texts = _run(tmp_path, "a", 5, parallelism=3)

    assert sorted(found) == [("a", 3), ("b", 3)]
    assert texts == []


@pytest.mark.parametrize(
    ("before", "after"), [("a", "ab"), ("ab", "a"), ("a", "a"), ("", "a"), ("a", "")]
)
def test_what_is_no_rename(before: str, after: str, tmp_path: Path) -> None:
    _run(tmp_path, before, 2)
    assert _run(tmp_path, after, None)[1] == []


def test_another_operator_has_states_of_its_own(tmp_path: Path) -> None:
    _run(tmp_path, "a", 2)
    environment = new_environment(2, tmp_path)
    keyed = input_of(environment, CUTS, None).key_by(lambda record: record[0])
    counts = keyed.process(Counts("a")).uid("counts")
    more = counts.key_by(lambda record: record[0]).process(Counts("x")).uid("more")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(environment, more)
