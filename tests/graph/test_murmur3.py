from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.graph.murmur3 import murmur3_128

# What Flink printed for these uids.
UIDS = {
    "source": "e5a72f353fc1e6bbf3bd96a41384998c",
    "map": "23ab3a59b17e9c45f95cff4c728611fc",
    "uid1": "56669276f6f08c868fc17f16b2a5b825",
    "hello": "029bbd41b3a7d8cb191dae486a901e5b",
    "": "00000000000000000000000000000000",
}


@pytest.mark.parametrize(("uid", "expected"), UIDS.items())
def test_hash_of_a_uid(uid: str, expected: str) -> None:
    assert murmur3_128(uid.encode()).hex() == expected


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        (
            "The quick brown fox jumps over the lazy dog",
            0xE34BBC7BBC071B6C,
            0x7A433CA9C49A9347,
        ),
        (
            "The quick brown fox jumps over the lazy cog",
            0x658CA970FF85269A,
            0x43FEE3EAA68E5C3E,
        ),
    ],
)
def test_hash_of_a_text_of_several_blocks(text: str, first: int, second: int) -> None:
    assert murmur3_128(text.encode()) == struct.pack("<QQ", first, second)


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_different_data_has_different_hashes(one: bytes, other: bytes) -> None:
    assert (murmur3_128(one) == murmur3_128(other)) == (one == other)


@given(st.binary(max_size=100))
def test_a_hash_has_16_bytes(data: bytes) -> None:
    assert len(murmur3_128(data)) == 16
