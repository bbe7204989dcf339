from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidArgumentError
from penstock.runtime.output_tag import OutputTag


@given(st.text(min_size=1), st.text(min_size=1))
def test_tags_are_equal_if_their_ids_are(one: str, other: str) -> None:
    assert (OutputTag(one) == OutputTag(other, "some type")) == (one == other)
    assert (len({OutputTag(one), OutputTag(other)}) == 1) == (one == other)
    assert OutputTag(one) != one


def test_a_tag_travels_to_workers() -> None:
    copy = pickle.loads(pickle.dumps(OutputTag("late", "a type")))

    assert copy == OutputTag("late")
    assert (copy.tag_id, copy.type_info, repr(copy)) == ("late", "a type", "OutputTag('late')")


@pytest.mark.parametrize("tag_id", ["", None, 5, b"late"])
def test_an_id_is_a_string_that_is_not_empty(tag_id: Any) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        OutputTag(tag_id)

    assert repr(tag_id) in raised.value.message
    assert raised.value.hint
