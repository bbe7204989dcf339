from __future__ import annotations

import copy
import pickle
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidKeyError
from penstock.runtime.keys.key_types import key_bytes, stable_hash
from penstock.runtime.keys.list_key import ListKey, with_lists
from penstock.runtime.objects.mutability import is_immutable

items = st.recursive(
    st.integers(-1, 1) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


class Pair(NamedTuple):
    one: object
    other: object


@given(items, items)
def test_keys_are_equal_if_their_lists_are(one: object, other: object) -> None:
    keys = with_lists(one), with_lists(other)
    assert keys == (one, other)
    assert (keys[0] == keys[1]) == (one == other) == (key_bytes(keys[0]) == key_bytes(keys[1]))
    if one == other:
        assert hash(keys[0]) == hash(keys[1])
        assert stable_hash(keys[0]) == stable_hash(keys[1])
    for again in (pickle.loads(pickle.dumps(keys[0])), copy.deepcopy(keys[0])):
        assert again == keys[0]
        assert type(again) is type(keys[0])
    assert is_immutable(keys[0])


def test_what_holds_no_list_is_the_same_object() -> None:
    for key in (("a", (1, 2)), Pair(1, "b"), "a", frozenset({1})):
        assert with_lists(key) is key
    assert with_lists(Pair([1], 2)) == Pair([1], 2)
    assert type(with_lists(Pair([1], 2))) is Pair


def test_a_key_cannot_be_changed_and_its_copy_can() -> None:
    key = ListKey([2, 1])
    with pytest.raises(InvalidKeyError, match=r"\[2, 1\] cannot be changed(.|\n)*list\(key\)"):
        key.append(3)
    with pytest.raises(InvalidKeyError):
        key[0] = 3
    with pytest.raises(InvalidKeyError):
        key += [3]
    with pytest.raises(InvalidKeyError):
        key.sort(reverse=True)
    assert [*key, 3] == [2, 1, 3]
