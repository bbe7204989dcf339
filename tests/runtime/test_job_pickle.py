from __future__ import annotations

import io
import pickle
import sys
import threading
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest

from penstock.errors import StateClassNotFoundError
from penstock.inspection.opaque import without_classes
from penstock.runtime.job_pickle import (
    UNPICKLER,
    classes_of_main,
    dump_code,
    dumps,
    install,
    job_classes,
    load_code,
    loads,
)

MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def _cleared() -> Iterator[None]:
    install({}, {})
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


def _function(limit: int) -> Any:
    """Return the class of a function of the script, which uses a variable and a class of the script."""
    script: dict[str, Any] = {"__name__": "__main__", "LIMIT": limit, "Enum": Enum}
    exec(
        "class Size(Enum):\n    BIG = 1\n    SMALL = 2\n\n"
        "class Made:\n    def size(self, n):\n        return Size.BIG if n > LIMIT else Size.SMALL\n",
        script,
    )
    return script


def test_what_a_job_keeps_is_read_by_the_names_of_the_script() -> None:
    kind: Any = defined(1)
    with job_classes({"Event": kind}, {}):
        defined(2)
        kept = dumps((kind(), kind.Inner))

    assert loads(kept)[1].__qualname__ == "Event.Inner"
    assert type(loads(kept)[0]).version == 2
    renamed = {"__main__.Event": f"{__name__}.New", "__main__.Event.Inner": f"{__name__}.New.Inner"}
    with job_classes({}, renamed):
        found = loads(kept)
        assert [type(found[0]), found[1]] == [New, New.Inner]
    del vars(MAIN)["Event"]
    with pytest.raises(StateClassNotFoundError, match=r"__main__\.Event"):
        loads(kept)
    with without_classes(import_classes=False):
        assert repr(UNPICKLER.get()(io.BytesIO(kept)).load()[0]) == "Event()"
    with without_classes():
        assert repr(UNPICKLER.get()(io.BytesIO(kept)).load()[0]) == "Event()"


def _in_file(name: str) -> Any:
    """Return a function of a file that is nowhere, with a function in it."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile("def outer():\n    return lambda: 1 / 0\n", name, "exec"), space)
    return space["outer"]


def test_code_keeps_the_name_of_its_file() -> None:
    outer = load_code(dump_code(_in_file("/somewhere/program.py")))

    with pytest.raises(ZeroDivisionError) as raised:
        outer()()

    assert outer.__code__.co_filename == "/somewhere/program.py"
    assert raised.traceback[-1].path == outer.__code__.co_filename


class TestLoadingCode:
    def test_leaves_the_classes_of_the_script_as_they_are(self) -> None:
        script = _function(1)
        size = script["Made"].size
        code = dump_code(script["Made"]())
        script["LIMIT"] = 5

        made = load_code(code)

        assert type(made) is script["Made"]
        assert script["Made"].size is size
        assert made.size(3) is script["Size"].SMALL

    def test_gives_each_job_classes_of_its_own_as_they_were(self) -> None:
        script = _function(1)
        first = dump_code(script["Made"]())
        script["LIMIT"] = 5
        second = dump_code((script["Made"](), script["Made"]))
        jobs: list[dict[str, type]] = [{}, {}]

        one = load_code(first, jobs[0])
        two, kind = load_code(second, jobs[1])

        assert [one.size(3).name, two.size(3).name] == ["BIG", "SMALL"]
        assert type(two) is kind is not script["Made"]
        assert type(one) is type(load_code(first, jobs[0])) is not kind
        assert one.size(3) is load_code(first, jobs[0]).size(3)

    def test_is_of_the_job_of_the_thread(self) -> None:
        script = _function(1)
        code = dump_code(script["Made"]())
        own: dict[str, type] = {}

        with job_classes({}, {}, own):
            made = load_code(code)

        assert type(made) in own.values()
        assert type(made) is not script["Made"]

    def test_makes_a_class_anew_that_it_could_not_complete(self) -> None:
        script = _function(1)
        script["Made"].part = Sour()
        own: dict[str, type] = {}
        code = dump_code(script["Made"])
        with pytest.raises(AttributeError, match="no such thing"):
            load_code(code, own)
        assert own == {}
