from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.typeinfo.conversion import Conversion, conversion_to
from penstock.common.types import Row
from penstock.errors import TypeMismatchError

PAIR = [Types.STRING(), Types.INT()]
TYPES = [
    *(Types.STRING(), Types.BOOLEAN(), Types.INT(), Types.BIG_INT(), Types.DOUBLE(), Types.CHAR()),
    *(Types.FLOAT(), Types.BIG_DEC(), Types.SQL_DATE(), Types.INSTANT()),
    *(Types.TUPLE(PAIR), Types.ROW(PAIR), Types.ROW_NAMED(["name", "age"], PAIR)),
    *(Types.ROW([]), Types.TUPLE([Types.FLOAT(), Types.TUPLE(PAIR)])),
    *(Types.LIST(Types.INT()), Types.MAP(Types.STRING(), Types.INT())),
    *(Types.LIST(Types.ROW([Types.INT()])), Types.PRIMITIVE_ARRAY(Types.BYTE())),
    *(Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]), Types.ROW([Types.FLOAT(), Types.STRING()])),
    Types.ROW([Types.STRING(), Types.TUPLE(PAIR)]),
]
simple = st.sampled_from([None, True, 0, 1, 2**31, 1.0, 0.5, "a", "ab", 10**400, float("inf")])
fields = st.lists(simple, max_size=2)
values = (
    simple
    | fields
    | fields.map(tuple)
    | fields.map(lambda drawn: Row(*drawn))
    | st.lists(simple.map(lambda value: Row(f0=value)), max_size=2)
    | st.binary(max_size=2)
    | st.tuples(simple, st.just("a")).map(lambda pair: Row(age=pair[0], name=pair[1]))
    | st.tuples(st.just("a"), simple).map(lambda pair: Row(name=pair[0], age=pair[1]))
    | st.tuples(simple, st.just(("a", 1)))
    | st.dictionaries(st.just("a"), simple)
)


def to(type_info: TypeInformation) -> Conversion:
    conversion = conversion_to(type_info, "the result")
    assert conversion is not None
    return conversion


def converted(type_info: TypeInformation, value: Any) -> str | None:
    try:
        return repr(type_info.convert(value))
    except TypeMismatchError:
        return None


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(TYPES), st.lists(values, max_size=4))
@example(Types.DOUBLE(), [0.5, 1])
@example(Types.TUPLE(PAIR), [("a", 1), ["a", 1]])
def test_gives_for_many_values_what_the_type_gives_for_each(
    type_info: TypeInformation, drawn: list[Any]
) -> None:
    expected = [converted(type_info, value) for value in drawn]
    if None in expected:
        with pytest.raises(TypeMismatchError):
            to(type_info).all(drawn)
        return
    before = repr(drawn)
    found = to(type_info).all(drawn)

    assert list(map(repr, found)) == expected
    assert repr(drawn) == before
    # What is of the type already stays the very object, FLOAT aside, and so does what was converted.
    assert list(map(repr, to(type_info).all(found))) == expected
    if "Float" not in repr(type_info):
        assert to(type_info).all(found) is found


def test_pairs_are_made_rows_whose_first_fields_are_rounded_and_whose_others_stay() -> None:
    declared = Types.ROW_NAMED(["real", "text"], [Types.FLOAT(), Types.STRING()])
    found = to(declared).all([(0.1, "a"), (1, None), (None, "b")])
    assert repr(found) == (
        "[Row(real=0.10000000149011612, text='a'), Row(real=1.0, text=None), "
        "Row(real=None, text='b')]"
    )
    with pytest.raises(TypeMismatchError, match=r"^the result\.real is no Float: 1e\+39, a float"):
        to(declared).all([(0.1, "a"), (1e39, "b")])


def test_a_type_that_takes_all_as_it_is_needs_none() -> None:
    assert conversion_to(None, "the result") is None
    assert conversion_to(Types.PICKLED_BYTE_ARRAY(), "the result") is None


def test_says_which_value_does_not_fit() -> None:
    with pytest.raises(TypeMismatchError, match=r"^the result\.name is no String: 1, an int\."):
        to(Types.ROW_NAMED(["name", "age"], PAIR)).all([("Ann", 1), (1, 1)])
