from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest

from penstock.errors import StateClassNotFoundError
from penstock.runtime.job_pickle import classes_of_main, dumps, install, job_classes, loads

MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def _cleared() -> Iterator[None]:
    yield
    install({}, {})
    for name in ("Event", "Side"):
        vars(MAIN).pop(name, None)


class New:
    class Inner:
        pass


def defined(version: int) -> type:
    kind = type("Event", (), {"__module__": "__main__", "version": version})
    kind.Inner = type(  # type: ignore[attr-defined]
        "Inner", (), {"__module__": "__main__", "__qualname__": "Event.Inner"}
    )
    vars(MAIN)["Event"] = kind
    return kind


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_job_keeps_its_classes_when_they_are_defined_again(is_gone: bool) -> None:
    first: Any = defined(1)
    with job_classes(classes_of_main(), {}):
        before = dumps([first(), first.Inner(), first])
        if is_gone:
            del vars(MAIN)["Event"]
        else:
            defined(2)
        after = dumps([first(), first.Inner(), first])
        for pickled in (before, after):
            found = loads(pickled)
            assert [type(found[0]), type(found[1]), found[2]] == [first, first.Inner, first]
        if not is_gone:
            assert type(pickle.loads(after)[0]) is first
    if not is_gone:
        assert loads(after)[2].version == 2


def _side(members: list[str]) -> Any:
    make: Any = Enum
    kind = vars(MAIN)["Side"] = make("Side", members, module="__main__")
    return kind


def test_members_of_enums_stay_the_same() -> None:
    side: Any = _side(["BUY", "SELL"])
    with job_classes(classes_of_main(), {}):
        _side(["BUY"])
        assert loads(dumps({side.SELL: (side.BUY, side)})) == {side.SELL: (side.BUY, side)}


def test_another_thread_has_the_classes_of_its_own_job() -> None:
    first: Any = defined(1)
    found = []
    with job_classes(classes_of_main(), {}):
        pickled = dumps(first())
        second = defined(2)
        thread = threading.Thread(target=lambda: found.append(loads(pickled)))
        thread.start()
        thread.join()
        assert type(loads(pickled)) is first
    assert type(found[0]) is second


@pytest.mark.parametrize("new", [f"{__name__}.New", f"{__name__}.New.Inner", "__main__.Event"])
@pytest.mark.parametrize("for_good", [False, True])
def test_a_renamed_class_is_found_by_its_new_name(new: str, for_good: bool) -> None:
    defined(1)
    pickled = b"\x80\x05\x8c\x03old\x8c\x03Old\x93)\x81."  # an object of old.Old
    if for_good:
        install({}, {"old.Old": new})
        found = loads(pickled)
    else:
        with job_classes(classes_of_main(), {"old.Old": new}):
            found = loads(pickled)
    assert f"{type(found).__module__}.{type(found).__qualname__}" == new


@pytest.mark.parametrize("renamed", [{}, {"old.Old": "nowhere.New"}, {"old.Old": f"{__name__}.No"}])
def test_a_class_that_is_not_there_is_named(renamed: dict[str, str]) -> None:
    pickled = b"\x80\x05\x8c\x03old\x8c\x03Old\x93)\x81."
    with (
        job_classes({}, renamed),
        pytest.raises(StateClassNotFoundError, match=r"(?s)old\.Old.*state\.class-names"),
    ):
        loads(pickled)


def test_a_class_that_is_not_there_is_named_where_no_job_has_classes_of_its_own() -> None:
    with pytest.raises(StateClassNotFoundError, match=r"old\.Old"):
        loads(b"\x80\x05\x8c\x03old\x8c\x03Old\x93)\x81.")


class Sour:
    def __setstate__(self, state: Any) -> None:
        raise AttributeError("no such thing")

    def __getstate__(self) -> Any:
        return 1


def test_what_a_class_itself_raises_is_left_as_it_is() -> None:
    with pytest.raises(AttributeError, match="no such thing"):
        loads(dumps(Sour()))
